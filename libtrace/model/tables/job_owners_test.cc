// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/tables/job_owners.h"

#include <string>
#include <vector>

#include "libtrace/model/part/partial.h"
#include "libtrace/model/part/select.h"
#include "tests/catch.h"
#include "tests/golden/temporary_file.h"
#include "tests/golden/trace_builder.h"
#include "tests/golden/trace_builder_split.h"

namespace acceltrace::model {
namespace {

using namespace acceltrace::test;
using Kind = proto::ProcessEvents;
using Pids = std::vector<uint32_t>;

constexpr int64_t kBase = 20'000'000, kEach = 20'000;

uint64_t Id(uint32_t client, uint32_t count) { return uint64_t{client} << 32 | count; }

JobSpec Seen(uint32_t number, uint64_t id) {
  const int64_t at_ns = kBase + number * kEach;
  JobSpec job = JobOfCall(at_ns, number, at_ns + 12'000);
  job.sequence = number, job.correlation = id;
  CommandSpec command;
  command.fetched_ns = at_ns + 3'000, command.head_ns = at_ns + 4'000;
  command.start_ns = at_ns + 4'500, command.end_ns = at_ns + 9'000;
  job.commands.push_back(command);
  return job;
}

// A job whose driver side was not recorded.
JobSpec Unseen(uint32_t number, uint64_t id) {
  JobSpec job = Seen(number, id);
  job.submit_ns = job.doorbell_ns = job.submit_end_ns = job.irq_ns = job.complete_ns = 0;
  return job;
}

void AddCall(TraceBuilder* builder, uint32_t pid, uint64_t id, int64_t begin_ns = kBase) {
  builder->AddApi("Launch", pid, id, begin_ns, begin_ns + 2'800);
}

// Returns the owners of jobs with these ids of which only the device's side was recorded.
Pids OwnersOf(TraceBuilder builder, const std::vector<uint64_t>& ids) {
  builder.AddDevice();
  constexpr uint32_t kFirst = 50;
  for (uint32_t i = 0; i < ids.size(); ++i) builder.AddJob(Unseen(kFirst + i, ids[i]));
  const auto model = builder.Model();
  JobOwners owners(*model);
  Pids found;
  for (size_t j = 0; j < model->jobs.size(); ++j) {
    if (model->jobs.job[j] < kFirst) continue;
    CHECK(model->jobs.pid[j] == 0);
    found.push_back(owners.Of(j));
  }
  return found;
}

TEST_CASE("A job that nobody saw being submitted is its client's, as calls tell whose that is") {
  TraceBuilder builder;
  AddCall(&builder, 100, Id(7, 1));
  AddCall(&builder, 200, Id(8, 1));
  AddCall(&builder, 100, Id(7, 2));
  // The last one has no client, and nothing is known about the one before it.
  CHECK(OwnersOf(std::move(builder), {Id(8, 9), Id(7, 9), Id(7, 8), Id(9, 1), Id(0, 7)}) ==
        Pids{200, 100, 100, 0, 0});
}

TEST_CASE("A process has several clients: two copies of a library, or programs one by one") {
  TraceBuilder builder;
  builder.AddProcess(100, 100, "program");
  AddCall(&builder, 100, Id(7, 1));
  builder.AddProcessEvent(Kind::KIND_ENDED, kBase + 3'000, 100, 100);
  builder.AddProcessEvent(Kind::KIND_BEGUN, kBase + 4'000, 100, 100, 50);
  AddCall(&builder, 100, Id(11, 1), kBase + 5'000);
  CHECK(OwnersOf(std::move(builder), {Id(7, 2), Id(11, 2), Id(7, 3)}) == Pids{100, 100, 100});
}

TEST_CASE("A client that two processes have is nobody's, whoever comes last") {
  const bool call = GENERATE(true, false), first = GENERATE(true, false);
  TraceBuilder builder;
  AddCall(&builder, first ? 100 : 200, Id(7, 1));
  JobSpec job = Seen(1, Id(7, 2));
  job.pid = job.tid = 200;
  if (call) {
    AddCall(&builder, first ? 200 : 100, Id(7, 2));
  } else {
    builder.AddJob(job);
  }
  const uint32_t owner = call || first ? 0 : 200;
  CHECK(OwnersOf(std::move(builder), {Id(7, 3)}) == Pids{owner});
}

TEST_CASE("Jobs whose process is known tell whose a client is as calls do") {
  TraceBuilder builder;
  builder.AddJob(Seen(1, Id(7, 1)));
  CHECK(OwnersOf(std::move(builder), {Id(7, 2), Id(8, 2)}) == Pids{100, 0});
}

TEST_CASE("A client that has a process's number is that process in traces of before alone") {
  TraceBuilder builder;
  builder.AddProcess(300, 300, "by its name");
  builder.AddProcessEvent(Kind::KIND_ATTACHED, kBase, 301, 301);
  // This process has a client with another number.
  builder.AddProcess(302, 302, "of today");
  AddCall(&builder, 302, Id(7, 1));
  AddCall(&builder, 303, Id(303, 1));
  CHECK(OwnersOf(std::move(builder), {Id(300, 1), Id(301, 1), Id(302, 1), Id(303, 9), Id(304, 1),
                                      Id(0x80000000 | 300, 1)}) == Pids{300, 301, 0, 303, 0, 0});
}

TEST_CASE("What a process's clients did is chosen with it") {
  TraceBuilder builder;
  builder.AddDevice();
  AddCall(&builder, 100, Id(7, 1));
  AddCall(&builder, 200, Id(100, 1));
  builder.AddJob(Unseen(1, Id(7, 9)));
  builder.AddJob(Unseen(2, Id(100, 9)));
  builder.AddJob(Unseen(3, Id(7, 10)));
  const auto model = builder.Model();
  Selection selection;
  selection.processes = {"100"};
  REQUIRE(Select(selection, model.get()).ok());
  REQUIRE(model->jobs.size() == 2);
  CHECK(model->jobs.job[0] == 1);
  CHECK(model->jobs.job[1] == 3);
}

TEST_CASE("Whose a job is that a part of a trace cannot tell, the whole is asked for") {
  constexpr uint32_t kJobs = 2'000, kUnseen = 700;
  TraceBuilder builder;
  builder.AddDevice();
  for (uint32_t n = 1; n <= kJobs; ++n) {
    builder.AddJob(n == kUnseen ? Unseen(n, Id(8, 2)) : Seen(n, Id(7, n)));
    if (n != kUnseen) AddCall(&builder, 100, Id(7, n), kBase + n * kEach);
  }
  AddCall(&builder, 200, Id(8, 1), kBase + (kJobs + 1) * kEach);
  const TemporaryFile file(Encode(Split(builder.Packets(), 128)));
  const auto trace = PartialTrace::Open(file.path());
  REQUIRE(trace != nullptr);
  const auto load = [&](uint32_t from, uint32_t to, const std::string& process) {
    Selection selection;
    if (!process.empty()) selection.processes = {process};
    return trace->Load({kBase + from * kEach, kBase + to * kEach}, selection);
  };
  CHECK(load(kUnseen - 20, kUnseen + 20, "").ok());
  CHECK(load(kUnseen + 20, kUnseen + 60, "100").ok());
  const auto unsure = load(kUnseen - 20, kUnseen + 20, "100");
  REQUIRE_FALSE(unsure.ok());
  CHECK(unsure.status().message().find("whose job 700 is") != std::string::npos);
}

}  // namespace
}  // namespace acceltrace::model
