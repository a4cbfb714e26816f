// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/sources.h"

#include <algorithm>
#include <set>

#include "libtrace/query/tables.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::query {
namespace {

std::unique_ptr<model::Model> Empty(const std::string& probe, bool attached,
                                    const std::string& reason) {
  test::TraceBuilder builder;
  auto model = builder.Model();
  proto::Probe* added = model->info.add_probes();
  added->set_name(probe), added->set_attached(attached), added->set_reason(reason);
  return model;
}

TEST_CASE("An empty table says which source was not recorded, and how it is") {
  const auto model = Empty("other", true, "");
  const auto absent = AbsentSources(*model);
  CHECK(WhyEmpty(absent, "thread_states") ==
        "states of threads were not recorded: record with --sources sched");
  CHECK(WhyEmpty(absent, "call_stacks").find("--stacks") != std::string::npos);
  CHECK(WhyEmpty(absent, "commands").find("records of devices") != std::string::npos);
  // The driver's tracepoints were recorded, so that there really were no jobs.
  CHECK(WhyEmpty(absent, "host_events").empty());
  CHECK(WhyEmpty(absent, "jobs").empty());
  CHECK(WhyEmpty(absent, "losses").empty());
}

TEST_CASE("A source that was recorded is not absent, one that could not be says why") {
  for (const char* probe : {"sched", "sched:waking-interrupts"}) {
    const auto model = Empty(probe, true, "");
    CHECK(WhyEmpty(AbsentSources(*model), "thread_states").empty());
  }
  // Only tracepoints of processes.
  const auto other = Empty("tp:sched_process_exec", true, "");
  CHECK_FALSE(WhyEmpty(AbsentSources(*other), "thread_states").empty());
  const auto refused = Empty("irq", false, "the kernel has no BPF");
  CHECK(WhyEmpty(AbsentSources(*refused), "interrupts") ==
        "interrupts could not be recorded: the kernel has no BPF");
}

TEST_CASE("Each table that a source fills is one") {
  test::TraceBuilder builder;
  const auto model = builder.Model();
  std::set<std::string> names;
  for (auto* make : {PlainTables, SystemTables, StackTables, AnswerTables}) {
    for (const PlainTable& table : make(*model)) names.insert(table.name);
  }
  model->info.clear_probes();
  for (const AbsentSource& source : AbsentSources(*model)) {
    for (const std::string_view table : source.tables) {
      INFO(table);
      CHECK(names.count(std::string(table)) == 1);
    }
  }
}

}  // namespace
}  // namespace acceltrace::query
