// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/compare.h"

#include <utility>

#include "libtrace/cli/command.h"

namespace acceltrace::cli {

Result<std::unique_ptr<Compared>> Compare(const std::string& a, const std::string& b,
                                          const Part& selection, analysis::Predictions predictions,
                                          int* status) {
  auto compared = std::make_unique<Compared>();
  compared->name_a = a, compared->name_b = b;
  for (const std::string* file : {&a, &b}) {
    auto loaded = LoadSelected(*file, selection, Laws::kAlways, status);
    if (!loaded.ok()) return loaded.status();
    (file == &a ? compared->a : compared->b) = std::move(loaded).value();
  }
  compared->report_a = compared->a.Report(predictions);
  compared->report_b = compared->b.Report(predictions);
  compared->diff = analysis::ComputeDiff(compared->report_a, compared->report_b);
  return compared;
}

int ComparedStatus(const Compared& compared) {
  if (!compared.diff.comparable) {
    return Fail(kFailed, compared.name_a + " and " + compared.name_b +
                             " cannot be compared: " + compared.diff.why_not);
  }
  const int whole = FaultStatus(compared.name_a, *compared.a.model, "the comparison");
  return whole != kOk ? whole : FaultStatus(compared.name_b, *compared.b.model, "the comparison");
}

}  // namespace acceltrace::cli
