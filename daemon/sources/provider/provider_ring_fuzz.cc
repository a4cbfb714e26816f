// SPDX-License-Identifier: Apache-2.0
//
// Any perf ring and any tracepoint records: the reader must stay inside the memory, terminate, and
// account for what it reads.
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "daemon/sources/provider/provider_events.h"

namespace {

using namespace acceltrace;
using daemon::FieldPlace;
using daemon::RoleConfig;

struct Sink : daemon::PerfRing::Sink, daemon::ProviderSink {
  void OnSample(const daemon::PerfSample& sample) override {
    matcher->Take(sample, 0) ? ++taken : ++bad;
  }
  void OnLost(uint64_t, int64_t) override {}
  void OnBad() override { ++bad; }
  bool IsTracked(uint32_t pid) override { return pid % 2 == 0; }
  bool IsKernelThread(uint32_t pid) override { return pid % 3 == 0; }
  bool WasTracked(uint32_t, int64_t, bool now) override { return now; }
  void OnProviderEvent(const daemon::HostEvent& event) override {
    const auto [job, fresh] = jobs.try_emplace(event.job, Job{event.time_ns, false});
    if (fresh != (event.kind == proto::HostBatch::KIND_SUBMIT)) abort();
    if (event.kind == proto::HostBatch::KIND_DEPENDENCY &&
        jobs.count(static_cast<uint32_t>(event.arg0)) == 0)
      abort();
    if (job->second.over || event.time_ns < job->second.submit_ns) abort();
    job->second.over = event.kind == proto::HostBatch::KIND_COMPLETE;
    if (!late && event.time_ns < last_ns) abort();
    last_ns = event.time_ns;
    ++rows;
  }
  void OnProviderLoss(uint64_t, int64_t, int64_t) override {}
  daemon::ProviderMatcher* matcher = nullptr;
  struct Job {
    int64_t submit_ns;
    bool over;
  };
  std::map<uint32_t, Job> jobs;
  bool late = false;  // some may be late
  uint64_t taken = 0, bad = 0, rows = 0;
  int64_t last_ns = 0;
};

FieldPlace Number(uint32_t offset, uint64_t mask) { return {mask, offset, FieldPlace::kNumber}; }

void AddRoles(daemon::ProviderMatcher* matcher) {
  for (const auto kind :
       {RoleConfig::kSubmit, RoleConfig::kDependency, RoleConfig::kStart, RoleConfig::kComplete}) {
    RoleConfig role;
    role.role = kind;
    role.queue = Number(2, 0xff);
    role.job = Number(3, 0xff);
    role.waits_for = Number(9, 0xff);
    role.waits_for_queue = Number(10, 0xff);
    role.opcode = role.status = Number(8, 0xff);
    role.bytes = Number(8, ~uint64_t{0});
    role.bytes_times = 512;
    role.bytes_opcodes[0] = ~uint64_t{0};
    role.where.resize(1);
    role.where[0].place = {0, 4, FieldPlace::kTextElsewhere};
    role.where[0].text = "x";
    role.where[0].unequal = true;
    matcher->AddRole(7 + kind, role);
  }
}

}  // namespace

// The input is a byte for the ring's size (with the highest bit, what is read is matched at once),
// two for its tail, two for its fill level, and then its contents.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  if (bytes < 5) return 0;
  const uint64_t ring_bytes = uint64_t{64} << data[0] % 8;
  const bool come_late = data[0] >> 7 != 0;
  uint16_t tail = 0, used = 0;
  std::memcpy(&tail, data + 1, sizeof(tail));
  std::memcpy(&used, data + 3, sizeof(used));
  data += 5;
  bytes -= 5;
  // Allocated with exactly this size, so that the address sanitizer detects accesses past the end.
  const std::unique_ptr<char[]> memory(new char[ring_bytes]());
  for (size_t i = 0; i < bytes && i < ring_bytes; ++i) {
    memory[(tail + i) % ring_bytes] = static_cast<char>(data[i]);
  }
  Sink sink;
  daemon::ProviderMatcher matcher(false, true, &sink);
  sink.matcher = &matcher;
  sink.late = come_late;
  AddRoles(&matcher);
  daemon::PerfRing ring(memory.get(), ring_bytes);
  uint64_t at = tail, head = tail + used;
  for (int rounds = 0; at != head; ++rounds) {
    if (rounds > 10'000) abort();
    at = ring.Read(at, head, 3, &sink);
    matcher.AskSubmitters();
    if (come_late) matcher.Match(INT64_MAX);
  }
  matcher.Match(INT64_MAX);
  if (sink.taken != matcher.taken() || sink.rows != matcher.rows()) abort();
  if (matcher.rows() > matcher.taken() || matcher.pending() != 0) abort();
  return 0;
}
