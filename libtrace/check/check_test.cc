// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "libtrace/check/evaluate.h"
#include "libtrace/check/rules.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::check {
namespace {

using namespace acceltrace::test;
using State = Outcome::State;

// Ten jobs with one matmul each, which take 1, 2, ... 10 µs (times `stretch`), with stalls on the
// link.
TraceBuilder TenJobs(int64_t stretch = 1) {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddOpName(100, 7, "mat.mul");
  for (uint32_t i = 0; i < 10; ++i) {
    const int64_t at = 1'000'000 + 100'000 * i, ran = 1'000 * (i + 1) * stretch;
    JobSpec job;
    job.job = job.sequence = i + 1;
    job.correlation = i + 1;
    job.submit_ns = at + 1'000, job.doorbell_ns = at + 2'000, job.submit_end_ns = at + 2'500;
    job.device_doorbell_ns = at + 3'000, job.fetched_ns = at + 4'000;
    job.completion_ns = at + 6'000 + ran, job.device_irq_ns = at + 6'100 + ran;
    job.irq_ns = at + 7'000 + ran, job.complete_ns = at + 8'000 + ran;
    CommandSpec command;
    command.fetched_ns = at + 4'000, command.head_ns = at + 5'000;
    command.start_ns = at + 5'000, command.end_ns = at + 5'000 + ran;
    command.tag = 7, command.bytes = 1'000 * (i + 1);
    job.commands = {command};
    builder.AddApi(i < 3 ? "Copy" : "Launch", 100, job.correlation, at, at + 9'000 + ran, 100 * i);
    builder.AddJob(job);
  }
  return builder;
}

struct Subject {
  explicit Subject(TraceBuilder builder = TenJobs())
      : model(builder.Model()), report(analysis::ComputeReport(*model)), trace(report) {}
  std::unique_ptr<model::Model> model;
  analysis::Report report;
  Trace trace;
};

Outcome Ask(const std::string& text, const Subject& subject, const Subject* baseline = nullptr) {
  static std::vector<std::vector<Rule>> kept;  // outcomes refer to its rules
  auto rules = ParseRules(text);
  INFO(text << ": " << rules.message());
  REQUIRE(rules.ok());
  REQUIRE(rules->size() == 1);
  kept.push_back(std::move(rules).value());
  return CheckRules(kept.back(), subject.trace, baseline ? &baseline->trace : nullptr)[0];
}

std::string Wrong(const std::string& text) {
  const auto rules = ParseRules(text);
  INFO(text);
  CHECK_FALSE(rules.ok());
  return rules.message();
}

TEST_CASE("Rules hold, are broken, or cannot be decided") {
  const Subject subject;
  const auto is = [&](State state, const char* rule) {
    const Outcome outcome = Ask(rule, subject);
    INFO(rule << " is " << outcome.left.lo << " " << outcome.left.mid << " " << outcome.left.hi
              << " against " << outcome.right.mid << " " << outcome.why);
    CHECK(outcome.state == state);
    CHECK(outcome.why.empty() == (state != State::kUnknown));
  };
  // A job's latency reaches from its call to its completion and is 8 µs longer than the matmul.
  // Host times are exact.
  is(State::kPass, "p99(job.latency) < 18.1us");
  is(State::kFail, "p99(job.latency) < 18us");
  is(State::kPass, "p99(job.latency) <= 18us");
  is(State::kPass, "p50(job.latency) == 13us");
  is(State::kPass, "min(job.latency) == 9us");
  is(State::kPass, "mean(job.latency) == 13.5us");
  is(State::kPass, "max(job.submit_to_doorbell) == 1us");
  // Times of the device's clock are exact within a few ticks.
  is(State::kPass, "p90(op.mat.mul) < 9.1us");
  is(State::kFail, "p90(op.mat.mul) < 8.9us");
  is(State::kUnknown, "p90(op.mat.mul) < 9us");
  is(State::kUnknown, "p90(op.mat.mul) == 9us");
  is(State::kPass, "p90(op.\"mat*\") != 10us");
  is(State::kPass, "total(op.mat.mul) > 54us");
  is(State::kPass, "max(unit.matrix) > 9us");
  is(State::kPass, "count(op.mat.mul) == 10");
  is(State::kPass, "count(op.nothing) == 0");
  is(State::kUnknown, "p50(op.nothing) < 1s");
  is(State::kPass, "p50(api.Launch) == 16us");
  is(State::kPass, "count(api.name == \"Copy\") <= 3");
  is(State::kFail, "count(api.name == \"Copy\") < 3");
  is(State::kPass, "count(api.name == \"*\" and api.bytes >= 300) == 7");
  is(State::kPass, "count(api.name != \"Copy\" and api.bytes >= 800 and api.bytes < 900) == 1");
  is(State::kPass, "count(commands) == 10");
  is(State::kUnknown, "count(commands.nosuch == 1) == 0");
  is(State::kUnknown, "count(nosuch.column == 1) == 0");
  is(State::kUnknown, "count(api.name == 5) == 0");
  is(State::kPass, "max(commands.bytes) == 10kB");
  is(State::kPass, "total(commands.bytes) / run < 1GB / 1us");
  is(State::kPass, "losses == 0");
  is(State::kPass, "losses + damage + faults + violations + broken_laws == 0");
  is(State::kPass, "jobs == 10");
  is(State::kPass, "jobs + 2 * commands - calls == 2 * (5 + 5)");
  is(State::kPass, "-jobs < -9");
  is(State::kUnknown, "1 / (jobs - 10) > 0");
  is(State::kPass, "share(computing) > 5%");
  is(State::kPass, "share(class.computing) < 10 %");
  is(State::kPass, "share(unit.matrix) <= 100%");
  is(State::kPass, "share(stall.semaphore) >= 0");
  is(State::kUnknown, "share(nothing) < 5%");
  is(State::kPass, "clock_error < 1us");
}

TEST_CASE("A baseline is the other trace") {
  const Subject subject, fast, slow(TenJobs(3));
  const auto state = [&](const char* rule, const Subject& base) {
    return Ask(rule, subject, &base).state;
  };
  CHECK(state("p50(op.mat.mul) <= 1.05 * baseline", fast) == State::kPass);
  CHECK(state("p50(op.mat.mul) <= 0.5 * baseline", slow) == State::kPass);
  CHECK(state("p50(op.mat.mul) > 0.5 * baseline", slow) == State::kFail);
  CHECK(state("baseline / 2 > p50(op.mat.mul)", slow) == State::kPass);
  CHECK(state("p50(op.mat.mul) / baseline(p50(op.mat.mul)) < 0.4", slow) == State::kPass);
  CHECK(state("run < baseline(run) + 1s", slow) == State::kPass);
  // The bounds of both values overlap, so neither is known to be larger.
  CHECK(state("p50(op.mat.mul) <= baseline", fast) == State::kUnknown);
  CHECK(Ask("p50(op.mat.mul) <= baseline", subject, &fast).likely);
  CHECK(Ask("run < baseline", subject).state == State::kUnknown);
}

TEST_CASE("What is missing could change what is counted, in one direction") {
  TraceBuilder builder = TenJobs();
  builder.AddLoss("device-ring", 5, 1'000'000, 1'100'000);
  const Subject lossy(std::move(builder));
  REQUIRE(lossy.trace.lossy());
  const auto is = [&](State state, const char* rule) {
    INFO(rule);
    CHECK(Ask(rule, lossy).state == state);
  };
  is(State::kFail, "losses == 0");
  is(State::kFail, "faults == 0");
  is(State::kFail, "jobs < 5");
  is(State::kPass, "jobs >= 10");
  is(State::kUnknown, "jobs == 10");
  is(State::kFail, "count(api.name == \"Copy\") <= 2");
  is(State::kUnknown, "count(api.name == \"Copy\") <= 5");
  is(State::kUnknown, "p99(job.latency) < 1s");
  is(State::kPass, "max(job.latency) > 17us");
  is(State::kUnknown, "share(computing) < 90%");
  is(State::kPass, "damage == 0");
}

TEST_CASE("What is wrong with a rule is said where it is") {
  CHECK(Wrong("losses = 0") == "line 1, column 8: = is no comparison: write ==");
  CHECK(Wrong("\n\np99(job.latency) < 80") ==
        "line 3, column 18: a time is compared with a plain number: write a unit, as in 80us");
  CHECK(Wrong("p99(job.latency) < 80lightyears").rfind("line 1, column 22: no unit: ns,", 0) == 0);
  CHECK(Wrong("p99(job.latency < 80us") == "line 1, column 17: a ) is missing");
  CHECK(Wrong("losses == 0 0") ==
        "line 1, column 13: the rule ends before this: one comparison a line");
  CHECK(Wrong("losses == 0 == 0").rfind("line 1, column 13", 0) == 0);
  CHECK(Wrong("losses") == "line 1, column 7: a comparison is missing: <, <=, >, >=, == or !=");
  CHECK(Wrong("nosuch < 1").rfind("line 1, column 1: no such value: nosuch; values are run, ", 0) ==
        0);
  CHECK(Wrong("p100(job.latency) < 1s").find("no such function: p100") != std::string::npos);
  CHECK(Wrong("p0(job.latency) < 1s").find("no such function: p0") != std::string::npos);
  CHECK(Wrong("p50(job.laten) < 1s").find("it has latency, return, api_to_submit") !=
        std::string::npos);
  CHECK(Wrong("p50(job) < 1s").find("column 5: a name is missing") != std::string::npos);
  CHECK(Wrong("run + jobs < 1s") == "line 1, column 5: a time and a plain number are no sum");
  CHECK(Wrong("count(api.name < \"x\") < 1").find("text is compared with ==") != std::string::npos);
  CHECK(Wrong("count(api.name == \"x\" and jobs.job == 1) < 1").find("of one table: api") !=
        std::string::npos);
  CHECK(Wrong("count(api.name == \"x) < 1").find("a text without its end") != std::string::npos);
  CHECK(Wrong("baseline < baseline").find("both sides") != std::string::npos);
  CHECK(Wrong("run < baseline + 1s").find("write baseline(what)") != std::string::npos);
  CHECK(Wrong("run < baseline(baseline(run))").find("none of its own") != std::string::npos);
  CHECK(Wrong("run < 2ns * baseline").find("plain numbers only") != std::string::npos);
  CHECK(Wrong("run < 5\x01").find("column 8") != std::string::npos);
  CHECK(Wrong("run < " + std::string(60, '(')).find("too many parentheses") != std::string::npos);
  CHECK(Wrong("run < " + std::string(60, '-') + "1s").find("too many signs") != std::string::npos);
  CHECK(Wrong("run < " + std::string(5000, '1')).find("column 4097: a line is too long") !=
        std::string::npos);
  CHECK(Wrong("run < 1e999s").find("too large") != std::string::npos);
  CHECK(ParseRules("# only a remark\n\n  \t\r\n")->empty());
  const auto rules = ParseRules("losses == 0  # none\r\n\njobs > 1");
  REQUIRE(rules->size() == 2);
  CHECK((*rules)[0].text == "losses == 0");
  CHECK((*rules)[1].line == 3);
}

}  // namespace
}  // namespace acceltrace::check
