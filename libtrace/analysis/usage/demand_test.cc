// SPDX-License-Identifier: Apache-2.0
//
// What commands demand of resources when they run beside each other.
#include "libtrace/analysis/usage/demand.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr int64_t kBase = 20'000'000, kCopy = 20'000;
constexpr uint64_t kBytes = 64 << 10;

CommandSpec Command(Unit unit, int64_t at_ns, int64_t memory_stall_ns, int64_t link_stall_ns) {
  CommandSpec command;
  command.unit = unit;
  command.fetched_ns = at_ns - 100;
  command.head_ns = command.start_ns = at_ns, command.end_ns = at_ns + kCopy;
  command.stall_ns[kStallMemory] = memory_stall_ns, command.stall_ns[kStallLink] = link_stall_ns;
  command.work = 512, command.bytes = unit == kVector ? 0 : kBytes, command.memory_bytes = kBytes;
  return command;
}

void AddDevice(TraceBuilder* builder) {
  const uint32_t device = builder->AddDevice();
  for (const auto kind :
       {proto::Device::STALL_WAIT, proto::Device::STALL_MEMORY, proto::Device::STALL_LINK}) {
    builder->device(device)->add_stall_kinds(kind);
  }
}

std::vector<Demand> DemandsOfSix(TraceBuilder* builder, std::vector<DeviceRates>* rates) {
  const auto model = builder->Model();
  std::vector<Demand> demands = ComputeDemands(*model, {600}, rates);
  REQUIRE(demands.size() == 6);
  return demands;
}

// Copies to the host that are delayed by the link. One of them is mostly delayed by the memory
// instead, which another command uses that opens a row for each burst.
TEST_CASE("a memory that was shared for once is not taken to be slow") {
  TraceBuilder builder;
  AddDevice(&builder);
  // Whether only the memory delayed it, of which the other command then has half.
  const bool memory_only = GENERATE(false, true);
  for (uint32_t number = 1; number <= 6; ++number) {
    const int64_t call_ns = kBase + number * 30'000, at_ns = call_ns + 3'100;
    JobSpec job = JobOfCall(call_ns, number, at_ns + kCopy + 300);
    const bool beside = number == 3;
    CommandSpec copy =
        Command(kOut, at_ns, beside ? 15'000 : 60, beside ? (memory_only ? 0 : 4'000) : 19'000);
    copy.row_hits = 992, copy.row_misses = 32;
    job.commands = {copy};
    if (beside) {
      CommandSpec rows = Command(kVector, at_ns, 15'000, 0);
      rows.row_misses = 1'024;
      job.commands.push_back(rows);
    }
    builder.AddJob(job);
  }
  const auto model = builder.Model();
  const double stated = 1e9 / static_cast<double>(model->devices[0].about.memory_bytes_per_s());
  std::vector<DeviceRates> rates;
  ComputeDemands(*model, {600}, &rates);
  REQUIRE(rates.size() == 1);
  const double shared = static_cast<double>(kCopy) / 2 / static_cast<double>(kBytes);
  CHECK(rates[0].memory_ns_per_byte <= (memory_only ? shared : stated) * 1.001);
}

// Small commands with stalls of a microsecond each, beside long ones that may be stalled by
// anything.
TEST_CASE("a stall that nothing of a small command explains is a first access, however long") {
  const bool small = GENERATE(true, false);
  TraceBuilder builder;
  AddDevice(&builder);
  for (uint32_t number = 1; number <= 6; ++number) {
    const int64_t call_ns = kBase + number * 30'000, at_ns = call_ns + 3'100;
    JobSpec job = JobOfCall(call_ns, number, at_ns + kCopy + 300);
    CommandSpec command = Command(kVector, at_ns, 1'000, 0);
    if (small && number % 2 == 0) {
      command.end_ns = at_ns + 1'020, command.memory_bytes = 128, command.work = 16;
      command.row_misses = 2;
    } else {
      command.stall_ns[kStallMemory] = 18'000, command.row_misses = 500;
    }
    job.commands = {command};
    builder.AddJob(job);
  }
  std::vector<DeviceRates> rates;
  const std::vector<Demand> demands = DemandsOfSix(&builder, &rates);
  const double tick = 4 * rates[0].ns_per_tick;
  CHECK(std::abs(rates[0].memory_latency_ns - (small ? 1'000 : 500)) <= tick);
  if (small) CHECK(demands[1].scratch + demands[1].rows <= tick);
}

struct OnChip {
  int64_t computes_ns, stalled_ns;
  double latency_ns, scratch_ns;  // the expected results
};

// Similar commands that do not use the device's memory.
TEST_CASE("a stall of the on-chip memory is its bandwidth unless it is a first access for sure") {
  const OnChip of = GENERATE(OnChip{512, 316, 0, 828},      // computes while it is stalled
                             OnChip{512, 2'620, 0, 3'132},  // longer than any first access
                             OnChip{6'600, 60, 60, 0},      // hardly stalled: it computes
                             OnChip{10, 60, 60, 0});        // hardly does anything else
  TraceBuilder builder;
  AddDevice(&builder);
  for (uint32_t number = 1; number <= 6; ++number) {
    const int64_t call_ns = kBase + number * 30'000, at_ns = call_ns + 3'100;
    const int64_t took_ns = of.computes_ns + of.stalled_ns;
    JobSpec job = JobOfCall(call_ns, number, at_ns + took_ns + 300);
    CommandSpec command = Command(kVector, at_ns, of.stalled_ns, 0);
    command.end_ns = at_ns + took_ns, command.memory_bytes = 0;
    job.commands = {command};
    builder.AddJob(job);
  }
  std::vector<DeviceRates> rates;
  const std::vector<Demand> demands = DemandsOfSix(&builder, &rates);
  const double tick = 4 * rates[0].ns_per_tick;
  for (const Demand& demand : demands) {
    CHECK(std::abs(demand.memory_latency - of.latency_ns) <= tick);
    CHECK(std::abs(demand.scratch - of.scratch_ns) <= tick);
  }
}

}  // namespace
}  // namespace acceltrace::analysis
