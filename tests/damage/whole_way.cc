// SPDX-License-Identifier: Apache-2.0
#include "tests/damage/whole_way.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "libtrace/analysis/report/report.h"
#include "libtrace/analysis/report/stretches.h"
#include "libtrace/analysis/report/summary.h"
#include "libtrace/base/output.h"
#include "libtrace/model/tables/wanted.h"
#include "libtrace/query/sqlite_file.h"
#include "libtrace/query/tables.h"
#include "libtrace/view/common/csv.h"
#include "libtrace/view/common/export.h"
#include "libtrace/view/html/html.h"
#include "libtrace/view/json/json.h"
#include "libtrace/view/text/stretches.h"
#include "libtrace/view/text/summary.h"
#include "libtrace/view/text/text.h"
#include "libtrace/view/timeline/chrome.h"
#include "tests/golden/temporary_file.h"

namespace acceltrace::test {
namespace {

// Reads like a query of one table: the needed columns, of a part and of the whole.
void ReadTables(const model::PartialTrace& trace) {
  using Batch = proto::CommandBatch;
  const std::vector<uint32_t> fields = {Batch::kStartTicksAfterFieldNumber, Batch::kTagFieldNumber,
                                        Batch::kBytesFieldNumber};
  const int64_t fourth_ns = (trace.end_ns() - trace.begin_ns()) / 4;
  const model::Stretch part = {trace.begin_ns() + fourth_ns, trace.end_ns() - fourth_ns};
  (void)trace.LoadCommands(part, fields);
  (void)trace.LoadCommands(fields);
  (void)trace.LoadCalls(part);
  const std::vector<uint32_t> ticks = {
      Batch::kHeadTicksAfterFieldNumber, Batch::kStartTicksAfterFieldNumber,
      Batch::kEndTicksAfterFieldNumber, Batch::kTagFieldNumber, Batch::kStallTicksFieldNumber};
  (void)trace.LoadCommands(ticks);
  model::Wanted wanted;
  wanted.api = wanted.ranges = wanted.jobs = wanted.device_times = false;
  wanted.commands = ticks;
  (void)trace.Load(part, {}, &wanted);
  wanted.AddDeviceTimes(), wanted.placed = ticks;
  (void)trace.Load(part, {}, &wanted);
}

// Reads it like a long trace, though this one is short.
void ReadStretches(std::string_view bytes) {
  const auto trace = model::PartialTrace::Of(stream::FileIndex::FromMemory(bytes));
  if (trace == nullptr) return;
  ReadTables(*trace);
  const auto stretches = analysis::ComputeStretches(*trace, 3, trace->events() / 8 + 1);
  if (!stretches.ok()) return;
  view::Style style;
  (void)view::TextStretches(*stretches, {}, style);
  (void)view::JsonStretches(*stretches, {});
}

// Reads part of the trace like `verify`; its output must be that for the whole.
void ReadForVerify(std::string_view bytes, const std::string& said) {
  auto reader = stream::Reader::FromMemory(bytes);
  if (!reader.ok()) return;
  model::LoadOptions options;
  options.checks_only = true;
  const auto model = model::Load(reader->get(), options);
  if (!model.ok()) return;
  const analysis::Report report = analysis::ComputeVerification(**model);
  if (view::JsonVerify(report, analysis::FindProblems(report)) == said) return;
  std::fprintf(stderr, "verify says something else than a report\n");
  std::abort();
}

// Reads like all other commands. Returns the output of `verify`; nothing if it is refused.
std::optional<std::string> ReadWhole(std::string_view bytes) {
  auto reader = stream::Reader::FromMemory(bytes);
  if (!reader.ok()) return std::nullopt;
  const auto model = model::Load(reader->get());
  if (!model.ok()) return std::nullopt;
  const view::Sink nowhere = [](std::string_view) { return Status(); };
  std::string verified;
  {
    const analysis::Report report = analysis::ComputeReport(**model);
    const auto findings = analysis::FindProblems(report);
    view::Style style;
    style.width = 120;
    (void)view::TextReport(report, style);
    (void)view::JsonReport(report);
    (void)view::TextVerify(report, findings, style);
    verified = view::JsonVerify(report, findings);
    const analysis::Summary summary = analysis::SummariseReport(report);
    (void)view::TextAnswer(report, style);
    (void)view::TextSummary(summary, style);
    (void)view::JsonSummary(summary);
    (void)view::ExportHtml(report, nowhere);
  }
  for (const query::PlainTable& table : query::PlainTables(**model)) {
    (void)view::WriteCsv(table, nowhere);
  }
  (void)view::ExportPerfetto(**model, nowhere);
  (void)view::ExportChrome(**model, nowhere);
  const TemporaryFile file("");
  if (auto output = Output::Create(file.path()); output.ok()) {
    (void)query::WriteSqliteFile(**model, &output.value());
  }
  return verified;
}

}  // namespace

bool GoTheWholeWay(std::string_view bytes) {
  ReadStretches(bytes);
  const auto verified = ReadWhole(bytes);
  if (!verified) return false;
  ReadForVerify(bytes, *verified);
  return true;
}

}  // namespace acceltrace::test
