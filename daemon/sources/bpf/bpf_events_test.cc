// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/bpf_events.h"

#include <unistd.h>

#include <cstring>

#include "daemon/testing/collecting.h"
#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/file/test_batches.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kPid = 4'000'000;  // above all real pids

act_head Head(uint16_t type, uint32_t extra = 0, uint32_t pid = kPid) {
  return {1000, pid, pid, type, 0, extra};
}

act_name Name(uint64_t address, const char* text) {
  act_name record = {};
  record.h = Head(ACT_NAME);
  record.address = address;
  strncpy(record.text, text, sizeof(record.text) - 1);
  return record;
}

template <typename T>
void Handle(BpfEvents* events, const T& record) {
  events->Handle(&record, sizeof(record));
}

TEST_CASE("names come from their records, by process and address") {
  CollectingHandler handler;
  BpfEvents events(&handler);
  Handle(&events, Name(0x1000, "axlLaunch"));
  act_api_begin begin = {};
  begin.h = Head(ACT_API_BEGIN, 3);
  begin.name = 0x1000;
  begin.correlation = 9;
  begin.bytes = 64;
  Handle(&events, begin);
  REQUIRE(handler.begins.size() == 1);
  CHECK(handler.begins[0].name == handler.ids["axlLaunch"]);
  CHECK(handler.begins[0].stream == 3);
  CHECK(handler.begins[0].correlation == 9);

  SECTION("a child knows its parent's names") {
    act_process fork = {};
    fork.h = Head(ACT_PROCESS, ACT_PROCESS_FORK, kPid + 1);
    fork.parent = kPid;
    Handle(&events, fork);
    begin.h = Head(ACT_API_BEGIN, 0, kPid + 1);
    Handle(&events, begin);
    CHECK(handler.begins[1].name == handler.ids["axlLaunch"]);
  }
  SECTION("after exec the same address is another string") {
    act_process exec = {};
    exec.h = Head(ACT_PROCESS, ACT_PROCESS_EXEC);
    Handle(&events, exec);
    Handle(&events, begin);
    CHECK(handler.begins[1].name == handler.ids["?@0x1000"]);
  }
}

TEST_CASE("a text that BPF could not read comes from the process' memory") {
  CollectingHandler handler;
  BpfEvents events(&handler);
  static const char kText[] = "range in my own memory";
  act_range push = {};
  push.h = Head(ACT_RANGE_PUSH, 0, static_cast<uint32_t>(getpid()));
  push.address = reinterpret_cast<uintptr_t>(kText);
  Handle(&events, push);
  CHECK(handler.pushes.at(0).name == handler.ids[kText]);
}

TEST_CASE("texts without an end are cut") {
  CollectingHandler handler;
  BpfEvents events(&handler);
  act_name record = Name(1, "");
  record.h.type = ACT_OP_NAME;
  record.h.extra = 5;
  memset(record.text, 'x', sizeof(record.text));
  Handle(&events, record);
  CHECK(handler.op_names[5] == handler.ids[std::string(ACT_NAME_BYTES, 'x')]);
}

TEST_CASE("records are counted by hop, short and unknown ones as bad") {
  CollectingHandler handler;
  BpfEvents events(&handler);
  act_host host = {};
  host.h = Head(ACT_HOST, 1);
  host.kind = 1;
  Handle(&events, host);
  events.Handle(&host, sizeof(host) - 1);
  events.Handle(&host, 3);
  host.h.type = 77;
  Handle(&events, host);
  CHECK(handler.hosts.size() == 1);
  CHECK(handler.hosts[0].device == 1);
  CHECK(events.out(ACT_HOP_DRIVER) == 1);
  CHECK(events.bad(ACT_HOP_DRIVER) == 1);
  CHECK(events.bad(ACT_HOP_API) == 2);
}

TEST_CASE("a job becomes the events that it stands for, one in flight has no end") {
  CollectingHandler handler;
  BpfEvents events(&handler);
  act_job job = {};
  job.h = Head(ACT_JOB, 0, 77);
  job.h.time_ns = 9000;
  job.where = 2 | 1ULL << 16 | 3ULL << 32;  // device 2, context 1, queue 3, status 0
  job.job_cmds = 41 | 8ULL << 32 | 5ULL << 48;
  job.sequence = 6;
  job.correlation = 77ULL << 32 | 4;
  job.copy_bytes = 640;
  job.device_ticks = 123456;
  job.submit_ns = 1000;
  job.doorbell_ns = 1500;
  job.submit_end_ns = 1600;
  job.irq_ns = 8500;
  Handle(&events, job);
  job.where |= 0xffffULL << 48;
  job.job_cmds += 1;
  job.h.time_ns = job.irq_ns = 0;
  Handle(&events, job);
  act_wake wake = {};
  wake.h = Head(ACT_WAKE, 2, 77);
  wake.h.time_ns = 9500;
  wake.wait_ns = 2000;
  wake.job = 41;
  wake.wait_correlation = 99;
  Handle(&events, wake);
  CHECK(handler.blocks.empty());
  events.Flush();
  REQUIRE(handler.blocks.size() == 2);
  CHECK(events.out(ACT_HOP_DRIVER) == 3);

  proto::Packet jobs, waits;
  REQUIRE(stream::UnpackBlock(handler.blocks[0].block(), &jobs).ok());
  REQUIRE(stream::UnpackBlock(handler.blocks[1].block(), &waits).ok());
  const proto::HostBatch& host = jobs.host();
  REQUIRE(host.kind_size() == 5 + 3);
  const std::vector<int64_t> times = stream::DecodeDeltas<int64_t>(host.time_ns_delta(), 8);
  CHECK(times == std::vector<int64_t>{1000, 1500, 1600, 8500, 9000, 1000, 1500, 1600});
  CHECK(host.kind(0) == proto::HostBatch::KIND_SUBMIT);
  CHECK(host.cpu(0) == 5);
  CHECK(host.pid(0) == 77);
  CHECK(host.device(0) == 2);
  CHECK(host.context(0) == 1);
  CHECK(host.queue(0) == 3);
  CHECK(host.job(0) == 41);
  CHECK(host.arg0(0) == 8);
  CHECK(host.arg1(0) == 640);
  CHECK(host.kind(3) == proto::HostBatch::KIND_IRQ);
  CHECK(host.kind(4) == proto::HostBatch::KIND_COMPLETE);
  CHECK(host.arg1(4) == 123456);
  CHECK(host.job(7) == 42);
  REQUIRE(waits.host().kind_size() == 2);
  CHECK(waits.host().kind(0) == proto::HostBatch::KIND_WAIT);
  CHECK(waits.host().arg1(1) == 99);
  CHECK(waits.host().job(0) == 0);
  CHECK(waits.host().job(1) == 41);
}

TEST_CASE("a thread that submits to a provider's device has a name, and calls no library") {
  CollectingHandler handler;
  BpfEvents events(&handler);
  const auto self = static_cast<uint32_t>(getpid());
  events.NoteSubmitter(self, self);
  CHECK(handler.threads.count(self) == 1);
  CHECK_FALSE(events.SawCalls(self));
}

TEST_CASE("a submitter whose jobs come after its end keeps the name that it had") {
  CollectingHandler handler;
  BpfEvents events(&handler);
  act_process record = {};
  record.h = Head(ACT_PROCESS, ACT_PROCESS_EXEC);
  strncpy(record.comm, "dd", sizeof(record.comm) - 1);
  Handle(&events, record);
  record.h = Head(ACT_PROCESS, ACT_PROCESS_EXIT);
  Handle(&events, record);
  events.NoteSubmitter(kPid, kPid);
  CHECK(handler.threads.at(kPid) == handler.ids.at("dd"));
}

TEST_CASE("a process that becomes another user's is reported with the time") {
  struct Watcher : ProcessWatcher {
    void OnLeft(uint32_t pid, int64_t time_ns) override { left = pid, at_ns = time_ns; }
    uint32_t left = 0;
    int64_t at_ns = 0;
  } watcher;
  CollectingHandler handler;
  BpfEvents events(&handler);
  events.AddWatcher(&watcher);
  act_process record = {};
  record.h = Head(ACT_PROCESS, ACT_PROCESS_LEFT, kPid);
  Handle(&events, record);
  CHECK(watcher.left == kPid);
  CHECK(watcher.at_ns == 1000);
}

TEST_CASE("a call whose stack did not come is counted, and so is what is no stack") {
  CollectingHandler handler;
  BpfEvents events(&handler);
  CallStacks stacks(&handler, std::nullopt);
  events.UseStacks(&stacks);
  act_stack frames = {};
  frames.h = {.time_ns = 100, .pid = 7, .tid = 7, .type = ACT_STACK, .cpu = 0, .extra = 1};
  frames.id = 5;
  act_call_stack call = {};
  call.h = {.time_ns = 200, .pid = 7, .tid = 7, .type = ACT_CALL_STACK, .cpu = 0, .extra = 0};
  call.stack = 5;
  Handle(&events, call);
  call.h.time_ns = 300;
  Handle(&events, call);
  CHECK(events.unknown_stacks() == 2);
  CHECK(events.TakeUnknownSpan() == std::pair(int64_t{200}, int64_t{300}));
  CHECK(events.TakeUnknownSpan() == std::pair(int64_t{0}, int64_t{0}));
  CHECK(events.out(ACT_HOP_STACK) == 0);
  Handle(&events, frames);
  Handle(&events, call);
  CHECK((events.unknown_stacks() == 2 && events.out(ACT_HOP_STACK) == 1));
  frames.h.extra = 0;
  Handle(&events, frames);
  CHECK((events.out(ACT_HOP_PROCESS) == 1 && events.bad(ACT_HOP_PROCESS) == 1));
  events.Flush();
  CHECK(handler.blocks.back().call_stacks().stack_size() == 1);
}

}  // namespace
}  // namespace acceltrace::daemon
