// SPDX-License-Identifier: Apache-2.0
//
// Columns of a part's commands that are loaded on their own are the same as those of the whole
// trace.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "libtrace/model/part/partial.h"
#include "libtrace/stream/file/pack_trace.h"
#include "libtrace/stream/file/reader.h"
#include "tests/catch.h"
#include "tests/golden/temporary_file.h"
#include "tests/golden/trace_builder.h"
#include "tests/golden/trace_builder_split.h"

namespace acceltrace::model {
namespace {

using proto::CommandBatch;

constexpr uint32_t kJobs = 3'000;
constexpr int64_t kBegin = 50'000'000, kEach = 20'000;

// Overlapping jobs of one or two devices whose commands end in a different order.
test::TraceBuilder Random(uint32_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  test::TraceBuilder builder;
  const uint32_t devices = seed % 2 + 1;
  for (uint32_t d = 0; d < devices; ++d) {
    test::ClockSpec clock;
    clock.ppm = seed % 3 * 20, clock.hz = seed % 2 == 0 ? 1'000'000'000 : 24'576'000;
    builder.AddDevice(clock);
  }
  for (const uint32_t pid : {100u, 200u}) {
    builder.AddOpName(pid, 1, pid == 100 ? "gemm" : "copy");
    builder.AddOpName(pid, 2, "add");
  }
  for (uint32_t n = 1; n <= kJobs; ++n) {
    const int64_t at = kBegin + n * kEach + below(kEach);
    const int64_t length = random() % 50 == 0 ? 2'000'000 : 10'000 + below(60'000);
    test::JobSpec job = test::JobOfCall(at, n, at + length);
    job.device = n % devices, job.pid = job.tid = random() % 2 == 0 ? 100 : 200;
    job.sequence = n;
    for (int64_t i = below(5); i >= 0; --i) {
      test::CommandSpec command;
      command.unit = static_cast<test::Unit>(random() % 4);
      command.fetched_ns = at + 3'000, command.head_ns = at + 4'000 + below(1'000);
      command.start_ns = command.head_ns + below(500);
      command.end_ns = std::min(command.start_ns + 100 + below(6'000), at + length);
      command.tag = static_cast<uint32_t>(random() % 3), command.opcode = 0x20;
      command.bytes = random() % 100'000, command.work = random() % 3;
      command.row_hits = static_cast<uint32_t>(random() % 300);
      job.commands.push_back(command);
    }
    if (random() % 3 == 0) {
      job.wait_ns = at + 9'000, job.wake_ns = job.complete_ns + 1'500;
      job.wait_correlation = 1'000'000 + n;
    }
    builder.AddJob(job);
    const uint32_t tid = job.pid;
    if (random() % 5 != 0) builder.AddApi("launch", tid, job.correlation, at, at + below(3'000));
    if (job.wait_ns != 0) {
      builder.AddApi("wait", tid, job.wait_correlation, at + 8'000, job.wake_ns + below(9'000'000));
    }
    if (random() % 7 == 0) builder.AddApi("other", tid, 0, at, at + below(500), 7);
  }
  builder.AddLoss("ring", 7, kBegin, kBegin + kEach);
  return builder;
}

const std::vector<uint32_t> kAll = {
    CommandBatch::kUnitFieldNumber,           CommandBatch::kJobFieldNumber,
    CommandBatch::kIndexFieldNumber,          CommandBatch::kTagFieldNumber,
    CommandBatch::kBytesFieldNumber,          CommandBatch::kWorkFieldNumber,
    CommandBatch::kOpcodeFieldNumber,         CommandBatch::kRowHitsFieldNumber,
    CommandBatch::kStatusFieldNumber,         CommandBatch::kFetchedTicksDeltaFieldNumber,
    CommandBatch::kHeadTicksAfterFieldNumber, CommandBatch::kStartTicksAfterFieldNumber,
    CommandBatch::kEndTicksAfterFieldNumber,  CommandBatch::kStallTicksFieldNumber};

// Returns all requested columns by row.
std::vector<std::vector<uint64_t>> Rows(const Commands& c, const Model& model) {
  std::vector<std::vector<uint64_t>> rows;
  for (size_t i = 0; i < c.size(); ++i) {
    rows.push_back({c.device[i], c.unit[i], c.job[i], c.index[i], c.tag[i], c.bytes[i], c.work[i],
                    c.opcode[i], c.row_hits[i], c.status[i], c.fetched.RawTicks(i),
                    c.head.RawTicks(i), c.start.RawTicks(i), c.end.RawTicks(i)});
    for (const char letter : model.strings.Get(c.op[i])) {
      rows.back().push_back(static_cast<uint64_t>(letter));
    }
  }
  return rows;
}

std::vector<std::vector<uint64_t>> Rows(const ApiCalls& api, const Model& model) {
  std::vector<std::vector<uint64_t>> rows;
  for (size_t i = 0; i < api.size(); ++i) {
    rows.push_back({static_cast<uint64_t>(api.begin_ns[i]), static_cast<uint64_t>(api.end_ns[i]),
                    api.pid[i], api.tid[i], api.stream[i], api.correlation[i], api.bytes[i],
                    static_cast<uint64_t>(api.result[i]), api.open[i], api.began_before[i],
                    model.strings.Get(api.name[i]).size()});
  }
  return rows;
}

// Returns for how many periods the separate columns were sufficient.
size_t CheckFew(const std::string& bytes, uint32_t seed) {
  std::mt19937_64 random(seed);
  const auto trace =
      PartialTrace::Of(stream::FileIndex::FromMemory(bytes), 0, PartialTrace::Checked::kWhatIsRead);
  REQUIRE(trace != nullptr);
  size_t told = 0;
  for (int round = 0; round < 6; ++round) {
    const auto middle = static_cast<int64_t>(200 + random() % (kJobs - 400));
    const auto half_ns = static_cast<int64_t>(4'000'000 + random() % 12'000'000);
    const Stretch stretch{kBegin + middle * kEach - half_ns, kBegin + middle * kEach + half_ns};
    const auto few = trace->LoadCommands(stretch, kAll);
    const auto calls = trace->LoadCalls(stretch);
    if (few == nullptr || calls == nullptr) continue;
    ++told;
    auto reader = stream::Reader::FromMemory(bytes);
    auto whole = Load(reader->get());
    REQUIRE(whole.ok());
    Selection selection;
    selection.origin_ns = 0, selection.from_ns = stretch.from_ns, selection.to_ns = stretch.to_ns;
    REQUIRE(Select(selection, whole->get()).ok());
    REQUIRE((*whole)->commands.size() > 100);
    CHECK((Rows(few->commands, *few) == Rows((*whole)->commands, **whole)));
    CHECK((calls->api.size() > 50 && Rows(calls->api, *calls) == Rows((*whole)->api, **whole)));
    CHECK(few->losses.size() == (*whole)->losses.size());
    CHECK(few->load.duplicate_commands == (*whole)->load.duplicate_commands);
    CHECK(few->commands.context.size() == few->commands.size());
  }
  return told;
}

TEST_CASE("Few bytes tell the commands of a part") {
  size_t told = 0;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    INFO("seed " << seed);
    const std::string bytes = test::Encode(test::Split(Random(seed).Packets(), 256));
    told += CheckFew(bytes, seed);
  }
  CHECK(told > 24);
}

TEST_CASE("Few bytes of packed packets tell them as well") {
  for (const uint32_t seed : {7u, 8u}) {
    const test::TemporaryFile file(test::Encode(test::Split(Random(seed).Packets(), 256)));
    std::string packed;
    const auto take = [&](std::string_view bytes) { return packed += bytes, Status(); };
    REQUIRE(stream::PackTrace(file.path(), take).ok());
    CHECK(CheckFew(packed, seed) > 3);
  }
}

// A recording has blocks, as the service writes them.
TEST_CASE("Few bytes of a recording tell its commands") {
  const auto trace = PartialTrace::Open("tests/golden/demo.atrace");
  REQUIRE(trace != nullptr);
  const int64_t step_ns = (trace->end_ns() - trace->begin_ns()) / 20;
  size_t told = 0, rows = 0, all_calls = 0;
  for (int i = 3; i < 17; ++i) {
    const Stretch stretch{trace->begin_ns() + i * step_ns, trace->begin_ns() + (i + 2) * step_ns};
    const auto few = trace->LoadCommands(stretch, kAll);
    if (few == nullptr) continue;
    const auto calls = trace->LoadCalls(stretch);
    ++told, rows += few->commands.size();
    auto whole = LoadFile("tests/golden/demo.atrace");
    REQUIRE(whole.ok());
    Selection selection;
    selection.origin_ns = 0, selection.from_ns = stretch.from_ns, selection.to_ns = stretch.to_ns;
    REQUIRE(Select(selection, whole->get()).ok());
    CHECK((Rows(few->commands, *few) == Rows((*whole)->commands, **whole)));
    for (size_t row = 0; row < few->commands.size(); ++row) {
      CHECK(few->BusyTicks(row).value_or(UINT64_MAX) ==
            (*whole)->BusyTicks(row).value_or(UINT64_MAX));
    }
    if (calls != nullptr) CHECK((Rows(calls->api, *calls) == Rows((*whole)->api, **whole)));
    all_calls += calls == nullptr ? 0 : calls->api.size();
  }
  CHECK(all_calls > 20);
  CHECK((told > 3 && rows > 100));
}

TEST_CASE("What is asked for alone is there") {
  const std::string bytes = test::Encode(test::Split(Random(2).Packets(), 256));
  const auto trace =
      PartialTrace::Of(stream::FileIndex::FromMemory(bytes), 0, PartialTrace::Checked::kWhatIsRead);
  const Stretch stretch{kBegin + 700 * kEach, kBegin + 1'400 * kEach};
  const auto all = trace->LoadCommands(stretch, kAll);
  const auto some = trace->LoadCommands(
      stretch, {CommandBatch::kBytesFieldNumber, CommandBatch::kBytesFieldNumber});
  REQUIRE((all != nullptr && some != nullptr));
  const Commands &a = all->commands, &b = some->commands;
  REQUIRE((a.size() == b.size() && b.job.size() == b.size() && b.start.ticks.size() == b.size()));
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK((a.bytes[i] == b.bytes[i] && b.job[i] == 0 && b.start.ticks[i] == 0 && b.op[i] == 0));
  }
}

TEST_CASE("Rows that are not as they should be are for the other way") {
  const Stretch stretch{kBegin + 700 * kEach, kBegin + 1'400 * kEach};
  const auto tells = [&](const auto& change) {
    std::vector<proto::Packet> packets = test::Split(Random(2).Packets(), 256);
    for (proto::Packet& packet : packets) change(&packet);
    const std::string bytes = test::Encode(packets);
    const auto trace = PartialTrace::Of(stream::FileIndex::FromMemory(bytes), 0,
                                        PartialTrace::Checked::kWhatIsRead);
    REQUIRE(trace != nullptr);
    return trace->LoadCommands(stretch, kAll) != nullptr;
  };
  const auto commands = [](proto::Packet* packet) {
    return packet->has_commands() ? packet->mutable_commands() : nullptr;
  };
  CHECK(tells([](proto::Packet*) {}));
  CHECK_FALSE(tells([&](proto::Packet* packet) {
    if (auto* batch = commands(packet)) batch->set_record_delta(1, 0);  // repeats a number
  }));
  CHECK_FALSE(tells([&](proto::Packet* packet) {
    if (auto* batch = commands(packet)) batch->set_unit(0, 9);  // there are only four
  }));
  CHECK_FALSE(tells([&](proto::Packet* packet) {
    if (auto* batch = commands(packet)) batch->set_job(0, 0);
  }));
}

}  // namespace
}  // namespace acceltrace::model
