// SPDX-License-Identifier: Apache-2.0
//
// Small traces that are designed to be expensive: no command may use more memory than 64 MB plus
// eight times the file, or take longer than 5 s of CPU time.
//
//   tap-bombs [BYTES [FIRST SEED [COUNT [NAME]]]]
//     default: 120000 1 24, for the test suite; NAME: all seeds of one bomb
//   tap-bombs write NAME BYTES SEED FILE        for the programs themselves
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "libtrace/cli/allocator.h"
#include "libtrace/stream/columns/batches.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/validate.h"
#include "tests/damage/mutator.h"
#include "tests/damage/whole_way.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::test {
namespace {

using google::protobuf::FieldDescriptor;
using proto::Packet;

constexpr size_t kProgramBytes = size_t{16} << 20;  // what the program itself is
constexpr double kMaxSeconds = 5;
constexpr int kRefused = 3;  // exit status

// A valid trace of one job, to which rows are added.
std::vector<Packet> Base() {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddApi("call", 100, 1, 10'000'000, 10'090'000);
  JobSpec job;
  job.submit_ns = 10'001'000, job.doorbell_ns = 10'002'000, job.submit_end_ns = 10'003'000;
  job.device_doorbell_ns = 10'002'500, job.fetched_ns = 10'003'000;
  job.completion_ns = 10'060'000, job.device_irq_ns = 10'060'100;
  job.irq_ns = 10'062'000, job.complete_ns = 10'063'000;
  CommandSpec command;
  command.fetched_ns = command.head_ns = 10'003'500;
  command.start_ns = 10'004'000, command.end_ns = 10'059'000;
  job.commands = {command};
  builder.AddJob(job);
  return builder.Packets();
}

void SetNumber(google::protobuf::Message* batch, const FieldDescriptor* field, uint64_t value) {
  const auto& r = *batch->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return r.AddInt64(batch, field, static_cast<int64_t>(value));
    case FieldDescriptor::CPPTYPE_UINT64:
      return r.AddUInt64(batch, field, value);
    case FieldDescriptor::CPPTYPE_INT32:
      return r.AddInt32(batch, field, static_cast<int32_t>(value));
    case FieldDescriptor::CPPTYPE_UINT32:
      return r.AddUInt32(batch, field, static_cast<uint32_t>(value));
    default:
      return;
  }
}

// The columns of a batch that have a number for each row: the first one, and others until there are
// as many as the minimum number of bytes per row.
std::vector<const FieldDescriptor*> ColumnsOf(const google::protobuf::Descriptor& batch,
                                              size_t least, Random* random) {
  std::vector<const FieldDescriptor*> columns, others;
  for (int i = 0; i < batch.field_count(); ++i) {
    const FieldDescriptor* field = batch.field(i);
    if (!field->is_repeated() || field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) continue;
    if (stream::IsRowMajor(*field)) continue;
    (columns.empty() ? columns : others).push_back(field);
  }
  while (columns.size() < least && !others.empty()) {
    const size_t at = random->Below(others.size());
    columns.push_back(others[at]);
    others.erase(others.begin() + static_cast<ptrdiff_t>(at));
  }
  return columns;
}

// Values that make rows most expensive: few are equal, and jobs are as many as allowed.
uint64_t ValueOf(const FieldDescriptor& field, Packet::BodyCase kind, size_t row, size_t bytes,
                 bool counts, Random* random) {
  const std::string& name = field.name();
  constexpr uint64_t kIndexes = 128;
  if (name == "kind" && kind >= Packet::kThreadRuns) return 1 + row % 2;
  if (name == "away" || name == "left") return 1 + row % 5;
  if (name == "away_ns" || name == "ready_ns") return 0;  // no longer than there was time
  if (name == "waker_irq") return row % 2;
  if (name == "kind") return 1 + random->Below(kind == Packet::kDeviceEvents ? 7 : 6);
  if (name == "unit" || name == "device") return 0;
  if (name == "open" || name == "mark" || name == "began_before") return row % 2;
  if (name == "in_ticks" || name == "in_flight" || name.starts_with("has_")) return row % 2;
  if (name == "job" && kind == Packet::kCommands) return 1 + row / kIndexes;
  if (name == "job") return 1 + row % (30'000 + bytes / 25);
  if (name == "place") return row % 16;
  if (name == "index") return row % kIndexes;
  if (name.ends_with("_delta")) return 1;
  return 1 + (counts ? row : random->Below(100));
}

// Rows of a kind, as many as its bytes may hold: some columns with small numbers, the others
// absent.
void AddBatch(Packet::BodyCase kind, size_t bytes, Random* random, std::vector<Packet>* packets) {
  const auto* body = Packet::descriptor()->FindFieldByNumber(static_cast<int>(kind));
  const size_t least = stream::LeastRowBytes(kind);
  const auto columns = ColumnsOf(*body->message_type(), least, random);
  const bool counts = random->OneIn(2);
  // The limits of a packet, with a margin.
  const size_t most = std::min(stream::kMaxRows, stream::kMaxValues / columns.size()) / 2;
  for (size_t row = 0, used = 0; used < bytes;) {
    Packet packet;
    google::protobuf::Message* batch = packet.GetReflection()->MutableMessage(&packet, body);
    size_t rows = 0;
    for (; rows < most && rows * least < bytes - used; ++rows, ++row) {
      for (const FieldDescriptor* field : columns) {
        SetNumber(batch, field, ValueOf(*field, kind, row, bytes, counts, random));
      }
    }
    // Values that take more than a byte reduce the number of rows.
    used += std::max(packet.ByteSizeLong(), rows * least);
    packets->push_back(std::move(packet));
  }
}

void AddStrings(size_t count, size_t length, std::vector<Packet>* packets) {
  constexpr size_t kEach = stream::kMaxParts / 2;
  for (size_t i = 0; i < count; ++i) {
    if (i % kEach == 0) packets->emplace_back().mutable_strings();
    proto::Strings* strings = packets->back().mutable_strings();
    strings->add_id(static_cast<uint32_t>(1000 + i));
    std::string name = std::to_string(i);
    name.resize(std::max(length, name.size()), 'n');
    strings->add_value(name);
  }
}

using Bomb = std::function<void(size_t bytes, Random*, std::vector<Packet>*)>;

void CountersOf4096(bool values, size_t bytes, std::vector<Packet>* packets) {
  for (Packet& packet : *packets) {
    if (!packet.has_device()) continue;
    auto* device = packet.mutable_device();
    while (device->counters_size() < 4096) device->add_counters()->set_unit_index(-1);
  }
  const size_t each = 4000;
  for (size_t done = 0; done < bytes; done += each) {
    auto* batch = packets->emplace_back().mutable_counters();
    for (uint32_t c = 0; c < (values ? 1u : 8u); ++c) batch->add_counter(4095 - c);
    for (size_t row = 0; row < each / (values ? 2 : 1); ++row) {
      batch->add_time_ticks_delta(1);
      if (values) batch->add_value_delta(1);
    }
  }
}

void LongNames(size_t bytes, Random* random, std::vector<Packet>* packets) {
  AddStrings(1, std::min<size_t>(bytes / 4, 60'000), packets);
  AddBatch(Packet::kApi, bytes * 3 / 4, random, packets);
  for (Packet& packet : *packets) {
    if (!packet.has_api()) continue;
    for (uint32_t& name : *packet.mutable_api()->mutable_name()) name = 1000;
  }
}

void ManyNames(size_t bytes, Random*, std::vector<Packet>* packets) {
  const size_t count = bytes / 14;
  AddStrings(count, 0, packets);
  auto* api = packets->emplace_back().mutable_api();
  auto* ranges = packets->emplace_back().mutable_ranges();
  for (size_t i = 0; i < count / 2; ++i) {
    api->add_begin_ns_delta(i == 0 ? 10'000'000 : 1), api->add_duration_ns(1);
    api->add_name(static_cast<uint32_t>(1000 + 2 * i)), api->add_pid(1), api->add_tid(1);
    ranges->add_begin_ns_delta(i == 0 ? 10'000'000 : 1), ranges->add_duration_ns(1);
    ranges->add_name(static_cast<uint32_t>(1001 + 2 * i)), ranges->add_pid(1);
  }
}

void NestedRanges(size_t bytes, Random*, std::vector<Packet>* packets) {
  const size_t count = bytes / 40;
  auto* api = packets->emplace_back().mutable_api();
  auto* ranges = packets->emplace_back().mutable_ranges();
  auto* host = packets->emplace_back().mutable_host();
  for (size_t i = 0; i < count; ++i) {
    ranges->add_begin_ns_delta(i == 0 ? 5'000'000 : 1), ranges->add_duration_ns(100'000'000);
    ranges->add_pid(1), ranges->add_tid(1), ranges->add_name(static_cast<uint32_t>(i));
    api->add_begin_ns_delta(i == 0 ? 10'000'000 : 2), api->add_duration_ns(1);
    api->add_pid(1), api->add_tid(1), api->add_correlation_delta(1), api->add_name(1);
    host->add_kind(proto::HostBatch::KIND_SUBMIT), host->add_time_ns_delta(i == 0 ? 10'000'001 : 2);
    host->add_pid(1), host->add_tid(1), host->add_job(static_cast<uint32_t>(i + 10));
    host->add_correlation_delta(1);
  }
}

void FullDevices(size_t bytes, Random*, std::vector<Packet>* packets) {
  std::vector<Packet> devices;
  size_t used = 0;
  for (uint32_t number = 1; number < 256 && used < bytes * 3 / 4; ++number) {
    auto* device = devices.emplace_back().mutable_device();
    device->set_device(number);
    for (int u = 0; u < 64; ++u) device->add_units()->set_kind(proto::Unit::KIND_DMA_TO_DEVICE);
    for (int s = 0; s < 32; ++s) device->add_stalls(std::to_string(s));
    for (uint32_t o = 0; o < 100; ++o) device->add_opcodes()->set_code(o);
    used += devices.back().ByteSizeLong();
    auto* jobs = devices.emplace_back().mutable_jobs();
    jobs->set_device(number);
    jobs->add_doorbell_ticks_delta(5), jobs->add_job(1), jobs->add_completion_ticks_after(9);
  }
  packets->insert(packets->end(), devices.begin(), devices.end());
  Random random(1);
  AddBatch(Packet::kCommands, bytes / 4, &random, packets);
}

void ManyOpcodesAndLimiters(size_t bytes, Random* random, std::vector<Packet>* packets) {
  for (Packet& packet : *packets) {
    if (!packet.has_device()) continue;
    for (uint32_t o = 0; o < 4000; ++o) packet.mutable_device()->add_opcodes()->set_code(o);
    for (uint32_t l = 0; l < 4000; ++l) packet.mutable_device()->add_limiters(std::to_string(l));
    while (packet.device().units_size() > 4) packet.mutable_device()->mutable_units()->RemoveLast();
  }
  AddBatch(Packet::kCommands, bytes, random, packets);
  for (Packet& packet : *packets) {
    if (!packet.has_commands()) continue;
    auto* commands = packet.mutable_commands();
    commands->clear_opcode(), commands->clear_limiter(), commands->clear_job();
    const auto rows = static_cast<uint32_t>(stream::Rows(packet));
    for (uint32_t i = 0; i < rows; ++i) {
      commands->add_opcode(3999 - i % 4000), commands->add_limiter(i % 4000);
      commands->add_job(2);
    }
  }
}

void SlowClock(size_t bytes, Random*, std::vector<Packet>* packets) {
  auto* clocks = packets->emplace_back().mutable_clocks();
  for (size_t i = 0; i < std::clamp<size_t>(bytes / 20, 16, 1'000); ++i) {
    clocks->add_host_before_ns_delta(10'000'000'000'000), clocks->add_host_width_ns(400);
    clocks->add_device_ticks_delta(10'000'000'000);
  }
}

// Threads, interrupts, control groups, counters of the host: no two rows have the same object.
void NoTwoAlike(size_t bytes, Random*, std::vector<Packet>* packets) {
  constexpr uint32_t kMost = 60'000;  // of a packet, and counters of a trace
  const auto count = static_cast<uint32_t>(bytes / 32);
  for (uint32_t i = 0; i < count; ++i) {
    if (i % kMost == 0) {
      for (int part = 0; part < 3; ++part) packets->emplace_back();
    }
    auto* runs = packets->end()[-3].mutable_thread_runs();
    runs->add_begin_ns_delta(i % kMost == 0 ? 10'000'000 : 1), runs->add_run_ns(1);
    runs->add_pid(1), runs->add_tid(i), runs->add_left(1), runs->add_wait(i);
    runs->add_waker_tid(i);
    auto* interrupts = packets->end()[-2].mutable_interrupts();
    interrupts->add_end_ns_delta(i % kMost == 0 ? 10'000'000 : 1), interrupts->add_number(i);
    interrupts->add_kind(1), interrupts->add_count(1), interrupts->add_name(i);
    auto* groups = packets->end()[-1].mutable_process_groups();
    groups->add_time_ns_delta(i % kMost == 0 ? 10'000'000 : 1), groups->add_pid(i);
    groups->add_group(i);
  }
  auto* counters = packets->emplace_back().mutable_system_counters();
  auto* samples = packets->emplace_back().mutable_system_samples();
  for (uint32_t i = 0; i < std::min(count / 4, kMost); ++i) {
    counters->add_counter(i), counters->add_name(i);
    samples->add_time_ns_delta(i == 0 ? 10'000'000 : 1), samples->add_counter(i);
    samples->add_value(i);
  }
}

void ManyProbes(size_t bytes, Random*, std::vector<Packet>* packets) {
  for (size_t i = 0; i < std::min<size_t>(bytes / 4, 4096); ++i)
    (*packets)[0].mutable_info()->add_probes()->set_name("x");
}

std::map<std::string, Bomb> Bombs() {
  std::map<std::string, Bomb> bombs = {
      {"counters of 4096, values of one",
       [](size_t bytes, Random*, auto* packets) { CountersOf4096(true, bytes, packets); }},
      {"counters without values",
       [](size_t bytes, Random*, auto* packets) { CountersOf4096(false, bytes, packets); }},
      {"a long name in each row", LongNames},
      {"names without end", ManyNames},
      {"ranges within ranges", NestedRanges},
      {"devices full of names", FullDevices},
      {"opcodes and limiters by the thousand", ManyOpcodesAndLimiters},
      {"a clock a thousand times too slow", SlowClock},
      {"a head full of probes", ManyProbes},
      {"threads, interrupts and groups without end", NoTwoAlike},
  };
  for (const auto kind : {Packet::kProcesses,      Packet::kOpNames,       Packet::kApi,
                          Packet::kRanges,         Packet::kHost,          Packet::kCommands,
                          Packet::kJobs,           Packet::kCounters,      Packet::kClocks,
                          Packet::kDeviceEvents,   Packet::kLosses,        Packet::kProcessEvents,
                          Packet::kOthers,         Packet::kThreadRuns,    Packet::kInterrupts,
                          Packet::kSystemCounters, Packet::kSystemSamples, Packet::kProcessGroups,
                          Packet::kStackFrames,    Packet::kCallStacks}) {
    const auto* field = Packet::descriptor()->FindFieldByNumber(kind);
    bombs["rows of " + field->name()] = [kind](size_t bytes, Random* random, auto* packets) {
      AddBatch(kind, bytes, random, packets);
    };
  }
  return bombs;
}

struct Cost {
  bool ended = false, refused = false;
  size_t bytes = 0;
  double seconds = 0;
};

// Measured in a separate process.
Cost Measure(const std::string& trace) {
  const pid_t child = fork();
  if (child == 0) {
    google::protobuf::SetLogHandler(nullptr);
    cli::ExpectTrace(trace.size());
    _exit(GoTheWholeWay(trace) ? 0 : kRefused);
  }
  rusage usage{};
  int status = 0;
  if (child < 0 || wait4(child, &status, 0, &usage) != child) return {};
  const bool refused = WIFEXITED(status) && WEXITSTATUS(status) == kRefused;
  return {WIFEXITED(status) && (WEXITSTATUS(status) == 0 || refused), refused,
          static_cast<size_t>(usage.ru_maxrss) * 1024,
          static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
              static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6};
}

std::string Make(const Bomb& bomb, size_t bytes, uint64_t seed) {
  std::vector<Packet> packets = Base();
  Random random(seed);
  bomb(bytes, &random, &packets);
  return Encode(std::move(packets), Footer::kWritten);
}

int Run(size_t bytes, uint64_t first, uint64_t count, const std::string& only) {
  auto bombs = Bombs();
  if (!only.empty()) {
    std::erase_if(bombs, [&](const auto& bomb) { return bomb.first != only; });
    if (bombs.empty()) return std::fprintf(stderr, "tap-bombs: no bomb %s\n", only.c_str()), 2;
  }
  std::printf("1..%zu\n", bombs.size());
  size_t number = 0;
  int failed = 0;
  double worst_share = 0, worst_s = 0;
  std::string shares;
  // A child starts with the parent's memory.
  const size_t before = Measure("").bytes;
  for (const auto& [name, bomb] : bombs) {
    bool good = true;
    double most_share = 0, most_s = 0;
    unsigned refused = 0;
    // A test run divides its seeds among the bombs.
    for (uint64_t seed = first + number; seed < first + std::max<uint64_t>(count, number + 1);
         seed += bombs.size()) {
      const std::string trace = Make(bomb, bytes, seed);
      const Cost cost = Measure(trace);
      const size_t took = kProgramBytes + (cost.bytes > before ? cost.bytes - before : 0);
      const double share =
          static_cast<double>(took) / static_cast<double>(AllowedBytes(trace.size()));
      most_share = std::max(most_share, share), most_s = std::max(most_s, cost.seconds);
      refused += cost.refused;
      if (cost.ended && share <= 1 && cost.seconds <= kMaxSeconds) continue;
      good = false;
      std::printf("# seed %llu: a trace of %zu bytes took %zu bytes and %.1f s%s\n",
                  static_cast<unsigned long long>(seed), trace.size(), took, cost.seconds,
                  cost.ended ? "" : " and did not end well");
    }
    failed += !good;
    std::printf("%sok %zu - %s\n", good ? "" : "not ", ++number, name.c_str());
    std::printf("# %s: %.0f %% of the memory, %.2f s, %u refused\n", name.c_str(), 100 * most_share,
                most_s, refused);
    char figures[128];
    std::snprintf(figures, sizeof figures, "%s[\"%s\", %.3f]", shares.empty() ? "" : ", ",
                  name.c_str(), most_share);
    shares += figures;
    worst_share = std::max(worst_share, most_share), worst_s = std::max(worst_s, most_s);
  }
  std::printf(
      "# {\"bombs\": %zu, \"failed\": %d, \"memory_share\": %.3f, \"seconds\": %.2f, "
      "\"shares\": [%s]}\n",
      bombs.size(), failed, worst_share, worst_s, shares.c_str());
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace acceltrace::test

int main(int argc, char** argv) {
  using namespace acceltrace::test;
  google::protobuf::SetLogHandler(nullptr);
  const auto number = [&](int at, uint64_t otherwise) {
    return argc > at ? std::strtoull(argv[at], nullptr, 0) : otherwise;
  };
  if (argc == 6 && std::string(argv[1]) == "write") {
    const auto bombs = Bombs();
    const auto bomb = bombs.find(argv[2]);
    if (bomb == bombs.end()) return 2;
    const std::string trace = Make(bomb->second, number(3, 0), number(4, 1));
    std::ofstream(argv[5], std::ios::binary)
        .write(trace.data(), static_cast<std::streamsize>(trace.size()));
    return 0;
  }
  return Run(number(1, 120'000), number(2, 1), number(3, 24), argc > 4 ? argv[4] : "");
}
