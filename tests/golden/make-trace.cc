// SPDX-License-Identifier: Apache-2.0
//
// Writes the synthetic golden traces: make-trace NAME OUT.
//
// step: two decoding steps of a small model on one device, with transfers,
//   semaphore stalls, ranges and counters; every law holds.
// broken: the same with a completion before its doorbell, a command that was
//   never recorded, a loss and a hop whose account does not balance.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/golden/trace_builder.h"

namespace {

using acceltrace::test::CommandSpec;
using acceltrace::test::JobSpec;
using acceltrace::test::TraceBuilder;
using acceltrace::test::Unit;

constexpr uint32_t kPid = 4100;
constexpr uint64_t kFirstCorrelation = uint64_t{kPid} << 32;

struct State {
  TraceBuilder* builder;
  int64_t now_ns = 50'000'000;
  uint64_t call = 1;
  uint32_t job = 1;
  uint64_t sequence = 1;
};

CommandSpec Command(Unit unit, int64_t at_ns, int64_t wait_ns, int64_t run_ns, uint64_t bytes) {
  using namespace acceltrace::test;
  CommandSpec command;
  command.unit = unit;
  command.fetched_ns = at_ns - 150;
  command.head_ns = at_ns;
  command.start_ns = at_ns + wait_ns;
  command.end_ns = command.start_ns + run_ns;
  command.bytes = bytes;
  command.limiter = 0;
  command.stall_ns[kStallMemory] = unit == kMatrix || unit == kVector ? run_ns / 5 : 0;
  command.stall_ns[kStallLink] = unit == kIn || unit == kOut ? run_ns / 10 : 0;
  command.memory_bytes = bytes + bytes / 8;
  command.row_hits = static_cast<uint32_t>(bytes / 64 * 7 / 8);
  command.row_misses = static_cast<uint32_t>(bytes / 64 / 8);
  command.work = unit == kMatrix ? bytes * 64 : bytes / 4;
  command.opcode = unit == kIn ? 0x10 : unit == kOut ? 0x11 : unit == kMatrix ? 0x20 : 0x40;
  command.tag = unit + 1;
  return command;
}

// Adds an asynchronous launch of `commands`, and a wait for it if `wait`.
void Launch(State* state, const std::string& name, std::vector<CommandSpec> commands, bool wait,
            bool break_order = false) {
  TraceBuilder& builder = *state->builder;
  const int64_t begin_ns = state->now_ns;
  JobSpec job;
  job.pid = job.tid = kPid;
  job.job = state->job++;
  job.sequence = state->sequence++;
  job.correlation = kFirstCorrelation + state->call++;
  job.submit_ns = begin_ns + 900;
  job.doorbell_ns = begin_ns + 2'300;
  job.submit_end_ns = begin_ns + 2'800;
  job.device_doorbell_ns = begin_ns + 2'550;
  if (break_order) job.device_doorbell_ns -= 5'000;
  job.fetched_ns = begin_ns + 2'900;
  int64_t end_ns = 0;
  for (CommandSpec& command : commands) {
    command.fetched_ns += begin_ns + 3'200, command.head_ns += begin_ns + 3'200;
    command.start_ns += begin_ns + 3'200, command.end_ns += begin_ns + 3'200;
    end_ns = std::max(end_ns, command.end_ns);
  }
  job.commands = std::move(commands);
  job.completion_ns = end_ns + 200;
  job.device_irq_ns = end_ns + 250;
  job.irq_ns = end_ns + 1'900;
  job.complete_ns = end_ns + 2'400;
  builder.AddApi(name, kPid, job.correlation, begin_ns, begin_ns + 3'000);
  state->now_ns = begin_ns + 3'600;
  if (wait) {
    const int64_t wait_begin_ns = state->now_ns;
    job.wait_correlation = kFirstCorrelation + state->call++;
    job.wait_ns = wait_begin_ns + 500;
    job.wake_ns = job.complete_ns + 3'100;
    builder.AddApi("StreamSynchronize", kPid, job.wait_correlation, wait_begin_ns,
                   job.wake_ns + 700);
    state->now_ns = job.wake_ns + 5'000;
  }
  builder.AddJob(job);
}

void Step(State* state, int step, bool break_order) {
  using namespace acceltrace::test;
  TraceBuilder& builder = *state->builder;
  const int64_t begin_ns = state->now_ns;
  state->now_ns += 1'000;
  Launch(state, "MemcpyAsync", {Command(kIn, 0, 0, 21'000, 65'536)}, true);
  const int64_t layer_ns = state->now_ns;
  state->now_ns += 400;
  Launch(state, "Launch",
         {Command(kMatrix, 0, 0, 40'000, 262'144), Command(kVector, 10, 40'100, 9'000, 16'384),
          Command(kMatrix, 40'000, 9'200, 30'000, 131'072)},
         true, break_order);
  builder.AddRange("layer", kPid, layer_ns, state->now_ns, 1);
  state->now_ns += 2'000;
  Launch(state, "MemcpyAsync", {Command(kOut, 0, 0, 3'000, 4'096)}, true);
  builder.AddRange("step " + std::to_string(step), kPid, begin_ns, state->now_ns, 0);
  builder.AddMark("token", kPid, state->now_ns);
  state->now_ns += 4'000;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make-trace step|broken OUT\n");
    return 2;
  }
  const std::string name = argv[1];
  const bool broken = name == "broken";
  if (!broken && name != "step") {
    std::fprintf(stderr, "make-trace: no trace is called %s: step or broken\n", argv[1]);
    return 2;
  }
  using namespace acceltrace::test;
  TraceBuilder builder;
  ClockSpec clock;
  clock.hz = 250'000'000;
  clock.ppm = 17;
  clock.sample_period_ns = 50'000;
  builder.AddDevice(clock);
  builder.info()->add_command("decode");
  builder.info()->set_realtime_offset_ns(1'767'225'600'000'000'000);
  builder.AddProcess(kPid, kPid, "decode");
  const char* ops[] = {"weights", "logits", "qkv_proj", "softmax"};
  for (uint32_t op = 0; op < 4; ++op) builder.AddOpName(kPid, op + 1, ops[op]);
  State state{&builder};
  builder.AddTrueCounters(0, state.now_ns - 10'000);
  for (int step = 0; step < 2; ++step) {
    Step(&state, step, broken && step == 1);
    builder.AddTrueCounters(0, state.now_ns);
  }
  builder.AddHop("device-ring", 30, 30, 0, 0);
  builder.AddHop("probe-ring", 60, broken ? 57 : 60, broken ? 2 : 0, 0);
  if (broken) builder.AddLoss("probe-ring", 2, 50'010'000, 50'020'000);
  builder.accounts()->set_cpu_ns(3'100'000);
  builder.accounts()->set_bpf_ns(42'000);
  builder.accounts()->set_bpf_runs(60);
  builder.accounts()->set_bytes_written(4'096);
  builder.accounts()->set_command_status(0);
  std::ofstream out(argv[2], std::ios::binary);
  out << builder.Bytes();
  out.close();
  if (!out) {
    std::fprintf(stderr, "make-trace: cannot write %s\n", argv[2]);
    return 1;
  }
  return 0;
}
