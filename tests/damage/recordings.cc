// SPDX-License-Identifier: Apache-2.0
#include "tests/damage/recordings.h"

#include <fstream>
#include <iterator>

#include "libtrace/stream/columns/columns.h"
#include "tests/damage/mutator.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::test {
namespace {

constexpr uint32_t kPid = 300;
constexpr uint64_t kFirstCorrelation = uint64_t{kPid} << 32;

// One job: a copy in, a product, a copy out, and a wait for it.
int64_t AddStep(TraceBuilder* builder, uint32_t number, int64_t at_ns, int64_t copy_ns,
                int64_t run_ns) {
  JobSpec job;
  job.pid = job.tid = kPid;
  job.job = number, job.sequence = number;
  job.correlation = kFirstCorrelation + 2 * number;
  job.wait_correlation = job.correlation + 1;
  job.submit_ns = at_ns + 400, job.doorbell_ns = at_ns + 900, job.submit_end_ns = at_ns + 1'200;
  job.device_doorbell_ns = at_ns + 1'150, job.fetched_ns = at_ns + 1'500;
  int64_t now_ns = at_ns + 2'000;
  const auto add = [&](Unit unit, int64_t length_ns, uint64_t bytes) {
    CommandSpec command;
    command.unit = unit;
    command.fetched_ns = at_ns + 1'600;
    command.head_ns = command.start_ns = now_ns;
    now_ns = command.end_ns = now_ns + length_ns;
    command.bytes = unit == kMatrix ? 0 : bytes;
    command.memory_bytes = bytes;
    command.work = unit == kMatrix ? bytes * 64 : bytes;
    command.opcode = unit == kIn ? 0x10 : unit == kOut ? 0x11 : 0x20;
    command.tag = unit + 1;
    command.row_hits = 7, command.row_misses = 1;
    job.commands.push_back(command);
  };
  add(kIn, copy_ns, 65'536);
  add(kMatrix, run_ns, 262'144);
  add(kOut, copy_ns / 4, 4'096);
  job.completion_ns = now_ns + 200, job.device_irq_ns = now_ns + 250;
  job.irq_ns = now_ns + 900, job.complete_ns = now_ns + 1'300;
  job.wait_ns = at_ns + 1'900, job.wake_ns = now_ns + 2'600;
  builder->AddApi("Launch", kPid, job.correlation, at_ns, at_ns + 1'400);
  builder->AddApi("Synchronize", kPid, job.wait_correlation, at_ns + 1'700, now_ns + 3'000);
  builder->AddJob(job);
  return now_ns + 3'500;
}

std::string Built(int64_t copy_ns, int64_t run_ns) {
  constexpr uint32_t kJobs = 60;
  TraceBuilder builder;
  ClockSpec clock;
  clock.ppm = 23;
  clock.sample_period_ns = 200'000;
  builder.AddDevice(clock);
  builder.AddProcess(kPid, kPid, "known");
  const char* ops[] = {"weights", "logits", "product"};
  for (uint32_t op = 0; op < 3; ++op) builder.AddOpName(kPid, op + 1, ops[op]);
  for (const char* probe : {"device:acc0", "tp:submit", "usdt:lib:api_begin", "clock:acc0"}) {
    proto::Probe* added = builder.info()->add_probes();
    added->set_name(probe);
    added->set_attached(true);
  }
  int64_t now_ns = 10'000'000;
  builder.AddTrueCounters(0, now_ns - 5'000);
  for (uint32_t job = 1; job <= kJobs; ++job) {
    now_ns = AddStep(&builder, job, now_ns, copy_ns, run_ns + 100 * (job % 7));
    if (job % 16 == 0) builder.AddTrueCounters(0, now_ns - 200);
  }
  builder.AddTrueCounters(0, now_ns + 5'000);
  builder.AddHop("device-ring/acc0", 4 * kJobs, 4 * kJobs, 0, 0);
  builder.AddHop("bpf-api", 4 * kJobs, 4 * kJobs, 0, 0);
  builder.AddHop("bpf-driver", 6 * kJobs, 6 * kJobs, 0, 0);
  uint64_t rows = 0;
  for (const proto::Packet& packet : builder.Packets()) rows += stream::Rows(packet);
  builder.AddHop("output", rows, rows, 0, 0);
  constexpr size_t kRows = 24;
  return Encode(Divided(builder.Packets(), kRows), Footer::kWritten);
}

}  // namespace

std::vector<Recording> Recordings() {
  std::ifstream file("tests/golden/demo.atrace", std::ios::binary);
  std::string golden{std::istreambuf_iterator<char>(file), {}};
  return {{"host", std::move(golden), analysis::kRuntime},
          {"compute", Built(3'000, 40'000), analysis::kComputing},
          {"transfer", Built(30'000, 6'000), analysis::kTransferring}};
}

}  // namespace acceltrace::test
