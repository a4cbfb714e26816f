// SPDX-License-Identifier: Apache-2.0
//
// Makes traces to view in a browser.
//
//   make-page-trace hostile OUT    names that would be markup, terminal commands, or invisible
//   make-page-trace large N OUT    N jobs: a call, a submission and four commands each
//   make-page-trace huge N OUT     the same with little memory, without counters
//   make-page-trace stacks OUT     50 jobs, whose calls but the last one have stacks
//   make-page-trace noclock OUT    50 jobs, of a device whose clock is not related to the host's
//   make-page-trace slower OUT     50 jobs, each half as long again as those of the others
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/file/writer.h"
#include "tests/golden/trace_builder.h"
#include "tests/golden/trace_builder_split.h"

namespace {

using namespace acceltrace::test;

constexpr uint32_t kPid = 4100;
constexpr int64_t kBase = 50'000'000;
constexpr uint32_t kSeed = 12345;

// Adds jobs [first, end), with commands that take `longer_ns` more.
void AddJobs(TraceBuilder* builder, uint32_t first, uint32_t end, uint32_t* seed,
             int64_t longer_ns = 0) {
  for (uint32_t i = first; i < end; ++i) {
    const uint32_t random = *seed = *seed * 1664525 + 1013904223;
    const int64_t at = kBase + int64_t{i} * 12'000, more = random >> 20;
    JobSpec job;
    job.pid = job.tid = kPid;
    job.job = i + 1, job.sequence = i + 1, job.correlation = (uint64_t{kPid} << 32) + i + 1;
    job.submit_ns = at + 400, job.doorbell_ns = at + 900, job.submit_end_ns = at + 1'000;
    job.device_doorbell_ns = at + 1'100, job.fetched_ns = at + 1'300;
    for (Unit unit : {kIn, kMatrix, kVector, kOut}) {
      CommandSpec command;
      command.unit = unit, command.tag = unit + 1;
      command.fetched_ns = job.fetched_ns;
      command.head_ns = at + 1'500 + unit * 1'500;
      command.start_ns = command.head_ns + 200,
      command.end_ns = command.start_ns + 800 + more / 8 + longer_ns;
      command.bytes = 4096, command.work = 100'000, command.memory_bytes = 4096;
      job.commands.push_back(command);
    }
    job.completion_ns = at + 9'000, job.device_irq_ns = at + 9'100;
    job.irq_ns = at + 9'800, job.complete_ns = at + 10'200;
    builder->AddApi(i % 3 == 0 ? "Launch" : "MemcpyAsync", kPid, job.correlation, at, at + 1'200);
    builder->AddJob(job);
    if (i % 1000 == 0) builder->AddLoss("device-ring", 1 + i / 1000, at + 5'000, at + 5'100 + more);
  }
}

void AddHostileNames(TraceBuilder* builder) {
  const std::string names[] = {"</script><script>window.hostile = 1</script>",
                               "<img src=x onerror='window.hostile = 1'>",
                               "\" onfocus=\"window.hostile = 1\" autofocus=\"",
                               "<!--<script>",
                               "\x1b[2J\x1b]0;title\x07",
                               "\xe2\x80\xaegnp.exe",
                               "\xff\xfe\x80\xc3",
                               std::string(64 * 1024, 'W'),
                               "javascript:window.hostile=1",
                               "a\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
                               "{{constructor}}${window.hostile=1}",
                               "line\nbreak\ttab\r"};
  int64_t at = kBase + 5'000'000;
  uint32_t i = 0;
  for (const std::string& name : names) {
    builder->AddRange(name, kPid, at, at + 4'000);
    builder->AddApi(name, kPid, 900'000 + i, at + 100, at + 3'000);
    builder->AddCallStack(
        900'000 + i, at + 100,
        builder->AddStack({{"/lib/libcalls.so", 16}, {name, 32 + i}, {name, 64}}));
    builder->AddProcess(kPid, kPid + ++i, name);
    builder->AddRange(name, kPid, at + 4'500, at + 4'600);
    at += 5'000;
  }
  for (const size_t name : {0, 4, 5}) {
    builder->AddGroup(kPid, kBase + static_cast<int64_t>(name), "/lxc.payload." + names[name]);
  }
  for (uint32_t tag = 1; tag <= 4; ++tag) builder->AddOpName(kPid, tag, names[tag - 1]);
  builder->info()->add_command(names[0]);
  builder->info()->add_command(names[5]);
  builder->info()->set_host(names[1]);
  builder->info()->set_kernel(names[4]);
  acceltrace::proto::Device* device = builder->device(0);
  device->set_name(names[2]), device->set_model(names[0]);
  device->mutable_units(2)->set_name(names[1]);
  device->mutable_units(0)->set_work_unit(names[0]);
  device->set_stalls(0, names[0]), device->set_limiters(0, names[1]);
  device->mutable_opcodes(0)->set_name(names[0]);
}

// Three stacks of two sites, one of them deep.
void AddStacks(TraceBuilder* builder, uint32_t jobs) {
  const std::string library = "/opt/vendor/lib/libcalls.so.2", program = "/opt/shop/bin/till";
  std::vector<std::pair<std::string, uint64_t>> deep = {{library, 0x40}, {program, 0x2000}};
  for (uint64_t i = 0; i < 30; ++i) deep.emplace_back(program, 0x3000 + 0x10 * i);
  const uint32_t stacks[] = {
      builder->AddStack({{library, 0x10}, {library, 0x20}, {program, 0x1000}, {program, 0x500}}),
      builder->AddStack({{library, 0x30}, {program, 0x1000}, {program, 0x500}}),
      builder->AddStack(deep)};
  for (uint32_t i = 0; i + 1 < jobs; ++i) {
    builder->AddCallStack((uint64_t{kPid} << 32) + i + 1, kBase + int64_t{i} * 12'000,
                          stacks[i % 5 == 0 ? 2 : i % 2]);
  }
}

// Rows per batch; all rows in one batch would exceed a reader's limit.
constexpr int kMostRows = 20'000;

std::string BytesOf(TraceBuilder* builder) { return Encode(Split(builder->Packets(), kMostRows)); }

// Jobs per part. Names come in the same order in each part, so they have the same numbers.
constexpr uint32_t kPartJobs = 120'000;
constexpr int64_t kRecordsEach = 5;  // of a job: its own and those of its commands

bool OnceOnly(const acceltrace::proto::Packet& packet) {
  return packet.has_info() || packet.has_device() || packet.has_strings() ||
         packet.has_processes() || packet.has_op_names();
}

void WriteHuge(uint32_t jobs, const ClockSpec& clock, std::ofstream* out) {
  acceltrace::stream::PacketEncoder encoder;
  acceltrace::proto::Packet accounts;
  std::string bytes;
  uint32_t seed = kSeed;
  const auto write = [&](acceltrace::proto::Packet* packet) {
    bytes.clear();
    const size_t rows = acceltrace::stream::Rows(*packet);
    encoder.Append(packet, 0, static_cast<uint32_t>(rows), &bytes);
    *out << bytes;
  };
  for (uint32_t first = 0; first < jobs; first += kPartJobs) {
    TraceBuilder builder;
    builder.AddDevice(clock);
    builder.AddProcess(kPid, kPid, "app");
    AddJobs(&builder, first, std::min(jobs, first + kPartJobs), &seed);
    for (acceltrace::proto::Packet& packet : Split(builder.Packets(), kMostRows)) {
      if (packet.has_accounts()) {
        accounts = packet;
        continue;
      }
      if (first > 0 && OnceOnly(packet)) continue;
      auto* records = packet.has_commands() ? packet.mutable_commands()->mutable_record_delta()
                      : packet.has_jobs()   ? packet.mutable_jobs()->mutable_record_delta()
                                            : nullptr;
      if (records != nullptr) records->Set(0, records->Get(0) + kRecordsEach * first);
      write(&packet);
    }
  }
  write(&accounts);
  bytes.clear();
  encoder.AppendFooter(&bytes);
  *out << bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  const bool hostile = kind == "hostile" && argc == 3, large = kind == "large" && argc == 4;
  const bool stacks = kind == "stacks" && argc == 3, huge = kind == "huge" && argc == 4;
  const bool noclock = kind == "noclock" && argc == 3, slower = kind == "slower" && argc == 3;
  if (!hostile && !large && !stacks && !huge && !noclock && !slower) {
    std::fprintf(stderr,
                 "usage: make-page-trace hostile|stacks|noclock|slower OUT | large|huge N OUT\n");
    return 2;
  }
  ClockSpec clock;
  clock.ppm = 17, clock.sample_period_ns = 10'000'000;
  const uint32_t jobs =
      large || huge ? static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)) : 50;
  std::ofstream out(argv[argc - 1], std::ios::binary);
  TraceBuilder builder;
  builder.AddDevice(clock);
  builder.AddProcess(kPid, kPid, "app");
  builder.AddTrueCounters(0, kBase - 1'000);
  uint32_t seed = kSeed;
  if (!huge) AddJobs(&builder, 0, jobs, &seed, slower ? 400 : 0);
  if (hostile) AddHostileNames(&builder);
  if (stacks) AddStacks(&builder, jobs);
  builder.AddTrueCounters(0, kBase + int64_t{jobs} * 12'000 + 10'000'000);
  if (huge) {
    WriteHuge(jobs, clock, &out);
  } else if (noclock) {
    acceltrace::stream::PacketEncoder encoder;
    std::string bytes;
    for (acceltrace::proto::Packet& packet : builder.Packets()) {
      if (!packet.has_clocks()) encoder.Append(&packet, 0, 1, &bytes);
    }
    encoder.AppendFooter(&bytes);
    out << bytes;
  } else {
    out << BytesOf(&builder);
  }
  out.close();
  if (!out) {
    std::fprintf(stderr, "make-page-trace: cannot write %s\n", argv[argc - 1]);
    return 1;
  }
  return 0;
}
