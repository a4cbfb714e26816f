// SPDX-License-Identifier: Apache-2.0
//
// Laws of jobs and calls whose ids have client numbers that are no process ids.
#include <algorithm>

#include "libtrace/analysis/report/report.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;
using Kind = proto::ProcessEvents;

constexpr int64_t kBase = 20'000'000, kEach = 20'000;

uint64_t Id(uint32_t client, uint32_t count) { return uint64_t{client} << 32 | count; }

// A job of process 100.
JobSpec Job(uint32_t number, uint64_t id) {
  const int64_t at_ns = kBase + number * kEach;
  JobSpec job = JobOfCall(at_ns, number, at_ns + 12'000);
  job.correlation = id;
  CommandSpec command;
  command.fetched_ns = at_ns + 3'000, command.head_ns = at_ns + 4'000;
  command.start_ns = at_ns + 4'500, command.end_ns = at_ns + 9'000;
  job.commands.push_back(command);
  return job;
}

void AddCall(TraceBuilder* builder, uint32_t number, uint64_t id) {
  const int64_t at_ns = kBase + number * kEach;
  builder->AddApi("Launch", 100, id, at_ns, at_ns + 2'800);
}

void AddWithCall(TraceBuilder* builder, uint32_t number, uint64_t id) {
  AddCall(builder, number, id);
  builder->AddJob(Job(number, id));
}

// The process is recorded from before its first job, or from `attached_ns` on.
TraceBuilder Recorded(int64_t attached_ns = 0) {
  TraceBuilder builder;
  builder.AddDevice();
  proto::Probe* probe = builder.info()->add_probes();
  probe->set_name("usdt:libaxl:api_begin");
  probe->set_attached(true);
  if (attached_ns != 0) {
    builder.AddProcessEvent(Kind::KIND_ATTACHED, attached_ns, 100, 100);
  } else {
    builder.AddProcessEvent(Kind::KIND_BEGUN, kBase, 100, 100, 50);
  }
  return builder;
}

Law LawOf(TraceBuilder builder, const std::string& name) {
  const auto model = builder.Model();
  const Report report = ComputeReport(*model);
  const auto found = std::find_if(report.laws.begin(), report.laws.end(),
                                  [&](const Law& law) { return law.name == name; });
  REQUIRE(found != report.laws.end());
  return *found;
}

TEST_CASE("A job without its call is a finding where calls of its client are there") {
  const uint32_t client = GENERATE(7, 100);
  TraceBuilder builder = Recorded();
  AddWithCall(&builder, 1, Id(client, 1));
  builder.AddJob(Job(2, Id(client, 2)));
  // The calls of another copy of the library are not recorded, so these ids may belong to anything.
  builder.AddJob(Job(3, Id(9, 1)));
  AddWithCall(&builder, 4, Id(client, 3));
  const Law law = LawOf(std::move(builder), "calls_of_jobs");
  CHECK(law.state == Law::State::kBroken);
  CHECK(law.checked == 3);
  CHECK(law.broken == 1);
  CHECK(law.note.find("job 2") != std::string::npos);
}

TEST_CASE("Of a process without any call its own number alone is taken for calls' ids") {
  const uint32_t client = GENERATE(7, 100);
  TraceBuilder builder = Recorded();
  builder.AddJob(Job(1, Id(client, 1)));
  CHECK(LawOf(std::move(builder), "calls_of_jobs").checked == (client == 100 ? 1 : 0));
}

TEST_CASE("A process's own number is no call's where its calls have another client") {
  TraceBuilder builder = Recorded();
  AddWithCall(&builder, 1, Id(7, 1));
  builder.AddJob(Job(2, Id(100, 1)));
  const Law law = LawOf(std::move(builder), "calls_of_jobs");
  CHECK(law.state == Law::State::kHolds);
  CHECK(law.checked == 1);
}

TEST_CASE("Calls that were under way when a process was attached to are each client's own") {
  TraceBuilder builder = Recorded(kBase + kEach);
  // The call of the second client began before the recording; that of the first client is its
  // fifth.
  AddWithCall(&builder, 1, Id(7, 5));
  builder.AddJob(Job(2, Id(8, 3)));
  AddWithCall(&builder, 3, Id(8, 4));
  const bool lost = GENERATE(false, true);
  if (lost) builder.AddJob(Job(4, Id(8, 5)));
  const Law law = LawOf(std::move(builder), "calls_of_jobs");
  CHECK(law.state == (lost ? Law::State::kBroken : Law::State::kHolds));
  CHECK(law.checked == (lost ? 3 : 2));
}

TEST_CASE("A job that was never submitted is a finding, whatever number its client has") {
  const uint32_t client = GENERATE(7, 100);
  TraceBuilder builder = Recorded();
  AddWithCall(&builder, 1, Id(client, 1));
  JobSpec unseen = Job(2, Id(client, 2));
  unseen.submit_ns = unseen.doorbell_ns = unseen.submit_end_ns = 0;
  builder.AddJob(unseen);
  AddWithCall(&builder, 3, Id(client, 3));
  const Law law = LawOf(std::move(builder), "jobs_on_both_sides");
  CHECK(law.state == Law::State::kBroken);
  CHECK(law.broken == 1);
  CHECK(law.note.find("job 2") != std::string::npos);
}

TEST_CASE("A queue that goes from one client of a process to another begins anew") {
  // The process is attached to after the first client has submitted a job and before the second one
  // does.
  TraceBuilder builder = Recorded(kBase + 2 * kEach);
  const bool same = GENERATE(true, false);
  AddWithCall(&builder, 1, Id(7, 1));
  JobSpec unseen = Job(2, Id(same ? 7 : 8, 2));
  unseen.submit_ns = unseen.doorbell_ns = unseen.submit_end_ns = 0;
  builder.AddJob(unseen);
  AddWithCall(&builder, 3, Id(same ? 7 : 8, 3));
  const Law law = LawOf(std::move(builder), "jobs_on_both_sides");
  CHECK(law.broken == (same ? 1 : 0));
}

TEST_CASE("What a process did in one program excuses nothing that another one did in it") {
  // The process is attached to within the call of its first job, then executes another program.
  TraceBuilder builder = Recorded(kBase + kEach);
  builder.AddProcessEvent(Kind::KIND_EXECUTED, kBase + 3 * kEach, 100, 100);
  builder.AddJob(Job(1, Id(7, 3)));
  AddWithCall(&builder, 2, Id(7, 4));
  AddWithCall(&builder, 3, Id(8, 1));
  const bool lost = GENERATE(false, true);
  if (lost) builder.AddJob(Job(4, Id(8, 2)));
  AddWithCall(&builder, 5, Id(8, 3));
  const Law law = LawOf(std::move(builder), "calls_of_jobs");
  CHECK(law.checked == (lost ? 4 : 3));
  CHECK(law.broken == (lost ? 1 : 0));
}

TEST_CASE("A process whose number was another's before is recorded for as long as it runs") {
  TraceBuilder builder = Recorded();
  AddWithCall(&builder, 1, Id(7, 1));
  builder.AddProcessEvent(Kind::KIND_LEFT, kBase + 2 * kEach, 100, 100);
  const bool again = GENERATE(false, true);
  if (again) builder.AddProcessEvent(Kind::KIND_BEGUN, kBase + 3 * kEach, 100, 100, 50);
  JobSpec missing = Job(4, Id(8, 1));
  missing.completion_ns = missing.irq_ns = missing.complete_ns = 0;
  missing.commands.clear();
  builder.AddJob(missing);
  AddCall(&builder, 4, Id(8, 1));
  AddWithCall(&builder, 5, Id(8, 2));
  CHECK(LawOf(std::move(builder), "jobs_on_both_sides").broken == (again ? 1 : 0));
}

}  // namespace
}  // namespace acceltrace::analysis
