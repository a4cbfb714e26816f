// SPDX-License-Identifier: Apache-2.0
//
// Parses any text into rules or a one-line error, and evaluates the rules on a trace.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "libtrace/analysis/report/report.h"
#include "libtrace/check/evaluate.h"
#include "libtrace/check/rules.h"
#include "tests/golden/trace_builder.h"

namespace {

using namespace acceltrace;

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Subject {
  Subject() {
    test::TraceBuilder builder;
    builder.AddDevice();
    builder.AddOpName(100, 7, "matmul");
    test::JobSpec job;
    job.submit_ns = 1000, job.doorbell_ns = 2000, job.submit_end_ns = 2500;
    job.device_doorbell_ns = 3000, job.fetched_ns = 4000, job.completion_ns = 20'000;
    job.device_irq_ns = 20'100, job.irq_ns = 21'000, job.complete_ns = 22'000;
    test::CommandSpec command;
    command.fetched_ns = 4000, command.head_ns = 5000, command.start_ns = 6000;
    command.end_ns = 19'000, command.tag = 7;
    job.commands = {command};
    builder.AddApi("Launch", 100, 1, 500, 23'000, 4096);
    builder.AddJob(job);
    model = builder.Model();
    report = analysis::ComputeReport(*model);
    trace = std::make_unique<check::Trace>(report);
  }
  std::unique_ptr<model::Model> model;
  analysis::Report report;
  std::unique_ptr<check::Trace> trace;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Subject subject;
  const auto rules = check::ParseRules(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!rules.ok()) {
    Require(rules.message().rfind("line ", 0) == 0);
    Require(rules.message().find(", column ") != std::string::npos);
    return 0;
  }
  for (const check::Trace* baseline : {subject.trace.get(), static_cast<check::Trace*>(nullptr)}) {
    const auto outcomes = check::CheckRules(*rules, *subject.trace, baseline);
    Require(outcomes.size() == rules->size());
    for (const check::Outcome& outcome : outcomes) {
      const bool unknown = outcome.state == check::Outcome::State::kUnknown;
      Require(unknown != outcome.why.empty());
      for (const check::Value* value : {&outcome.left, &outcome.right}) {
        Require(!value->unknown.empty() || value->lo <= value->hi);
      }
    }
  }
  return 0;
}
