// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/part/partial.h"

#include <string>
#include <utility>
#include <vector>

#include "libtrace/stream/file/reader.h"
#include "tests/catch.h"
#include "tests/golden/temporary_file.h"
#include "tests/golden/trace_builder.h"
#include "tests/golden/trace_builder_split.h"

namespace acceltrace::model {
namespace {

constexpr uint32_t kJobs = 2'000;
constexpr int64_t kBegin = 50'000'000, kEach = 20'000;

test::TraceBuilder Busy(const test::ClockSpec& clock) {
  test::TraceBuilder builder;
  builder.AddDevice(clock);
  for (uint32_t n = 1; n <= kJobs; ++n) {
    const int64_t at = kBegin + n * kEach;
    test::JobSpec job = test::JobOfCall(at, n, at + 12'000);
    job.sequence = n;
    test::CommandSpec command;
    command.fetched_ns = at + 3'000, command.head_ns = at + 4'000;
    command.start_ns = at + 4'500, command.end_ns = at + 9'000;
    job.commands.push_back(command);
    builder.AddJob(job);
    builder.AddApi(n % 2 == 0 ? "even" : "odd", 100, job.correlation, at, at + 2'800);
  }
  return builder;
}

std::vector<uint32_t> JobsOf(const Model& model) {
  std::vector<uint32_t> jobs;
  for (size_t j = 0; j < model.jobs.size(); ++j) jobs.push_back(model.jobs.job[j]);
  return jobs;
}

void CheckSame(const test::ClockSpec& clock) {
  const test::TemporaryFile file(test::Encode(test::Split(Busy(clock).Packets(), 128)));
  const auto trace = PartialTrace::Open(file.path());
  REQUIRE(trace != nullptr);
  // Calls, five host events per job, jobs and commands.
  CHECK(trace->events() == 8 * kJobs);
  auto whole = LoadFile(file.path());
  REQUIRE(whole.ok());
  CHECK(trace->begin_ns() == (*whole)->begin_ns);
  const Stretch stretch{kBegin + 700 * kEach + 5'000, kBegin + 760 * kEach + 3'000};
  const auto part = trace->Load(stretch);
  REQUIRE(part.ok());
  Selection selection;
  selection.from_ns = stretch.from_ns - (*whole)->begin_ns;
  selection.to_ns = stretch.to_ns - (*whole)->begin_ns;
  REQUIRE(Select(selection, whole->get()).ok());
  CHECK(JobsOf(**part) == JobsOf(**whole));
  REQUIRE((*part)->api.size() == (*whole)->api.size());
  REQUIRE((*part)->commands.size() == (*whole)->commands.size());
  for (size_t i = 0; i < (*part)->api.size(); ++i) {
    CHECK((*part)->api.begin_ns[i] == (*whole)->api.begin_ns[i]);
    CHECK((*part)->strings.Get((*part)->api.name[i]) ==
          (*whole)->strings.Get((*whole)->api.name[i]));
  }
  for (size_t i = 0; i < (*part)->commands.size(); ++i) {
    const Interval a = (*part)->commands.start.host[i], b = (*whole)->commands.start.host[i];
    CHECK(a.lo_ns <= b.hi_ns);
    CHECK(b.lo_ns <= a.hi_ns);
    const int64_t truth = kBegin + (*part)->jobs.job[(*part)->commands.job_row[i]] * kEach + 4'500;
    CHECK(a.lo_ns <= truth);
    CHECK(truth <= a.hi_ns);
  }
  CHECK((*part)->cut.text == (*whole)->cut.text);
  // Most of the file was not read.
  CHECK((*part)->read.bytes < trace->index().bytes() / 3);
}

TEST_CASE("a part of a trace is what a selection of the whole would be") {
  CheckSame({});
  test::ClockSpec slow;
  slow.hz = 24'576'000, slow.ppm = -40;
  CheckSame(slow);
}

TEST_CASE("stretches hold as many events as asked for, spread over all of them") {
  const test::TemporaryFile file(test::Encode(test::Split(Busy({}).Packets(), 128)));
  const auto trace = PartialTrace::Open(file.path());
  REQUIRE(trace != nullptr);
  const auto stretches = trace->Spread(5, 700);
  REQUIRE(stretches.size() == 5);
  double time_ns = 0;
  for (size_t i = 0; i < stretches.size(); ++i) {
    const auto events =
        static_cast<double>(trace->EventsWithin(stretches[i].from_ns, stretches[i].to_ns));
    CHECK(events > 0.9 * 700);
    CHECK(events < 1.1 * 700);
    if (i > 0) CHECK(stretches[i].from_ns > stretches[i - 1].to_ns);
    time_ns += trace->TimeAround(stretches, i);
  }
  CHECK(time_ns > 0.99 * static_cast<double>(trace->end_ns() - trace->begin_ns()));
  CHECK(time_ns < 1.01 * static_cast<double>(trace->end_ns() - trace->begin_ns()));
  // The whole trace, if it has fewer events than requested.
  CHECK(trace->Spread(5, 10'000'000).size() == 1);
}

TEST_CASE("without an index, or with a damaged packet, there are no parts") {
  std::string bytes = test::Encode(test::Split(Busy({}).Packets(), 128));
  {
    const test::TemporaryFile cut(bytes.substr(0, bytes.size() / 2));
    CHECK(PartialTrace::Open(cut.path()) == nullptr);
  }
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  const test::TemporaryFile damaged(bytes);
  CHECK(PartialTrace::Open(damaged.path()) == nullptr);
  CHECK(stream::FileIndex::Open(damaged.path()) != nullptr);
  // A packet that was replaced by another one with a correct checksum.
  std::vector<proto::Packet> packets = test::Split(Busy({}).Packets(), 128);
  const std::string whole = test::Encode(packets);
  CHECK(PartialTrace::Of(stream::FileIndex::FromMemory(whole)) != nullptr);
  CHECK(PartialTrace::Of(stream::FileIndex::FromMemory(whole), 1'000'000) == nullptr);
  const std::string lost = test::Encode(packets, packets.size() / 2);
  CHECK(PartialTrace::Of(stream::FileIndex::FromMemory(lost)) == nullptr);
  CHECK(PartialTrace::Of(stream::FileIndex::FromMemory("x" + whole)) == nullptr);
}

void CheckCommands(const PartialTrace& trace, const Stretch& stretch) {
  using proto::CommandBatch;
  const auto all = trace.Load(stretch);
  REQUIRE(all.ok());
  const auto some =
      trace.LoadCommands(stretch, {CommandBatch::kJobFieldNumber, CommandBatch::kTagFieldNumber});
  REQUIRE(some != nullptr);
  const Commands &a = (*all)->commands, &b = some->commands;
  REQUIRE((a.size() == b.size() && a.size() > 50));
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK((a.job[i] == b.job[i] && a.tag[i] == b.tag[i] && b.index[i] == 0));
    CHECK((*all)->strings.Get(a.op[i]) == some->strings.Get(b.op[i]));
  }
  CHECK(some->read.bytes < trace.index().bytes() / 2);
  REQUIRE((*all)->losses.size() == some->losses.size());
  for (size_t i = 0; i < some->losses.size(); ++i) {
    CHECK((*all)->losses[i].first_ns == some->losses[i].first_ns);
  }
}

TEST_CASE("Commands of a part are the same without the rest of it") {
  test::TraceBuilder builder = Busy({});
  builder.AddOpName(100, 3, "matmul");
  const test::TemporaryFile file(test::Encode(test::Split(builder.Packets(), 128)));
  const auto trace = PartialTrace::Open(file.path(), 0, PartialTrace::Checked::kWhatIsRead);
  REQUIRE(trace != nullptr);
  // Both borders cut jobs.
  for (const int64_t cut : {0, 5'000, 11'000, 13'000}) {
    CheckCommands(*trace, {kBegin + 700 * kEach + cut, kBegin + 1'150 * kEach + cut / 2});
  }
}

TEST_CASE("Commands of all of a trace are the same without the rest of it") {
  using proto::CommandBatch;
  test::TraceBuilder builder = Busy({});
  builder.AddOpName(100, 3, "matmul");
  const std::string bytes = test::Encode(test::Split(builder.Packets(), 128));
  const auto trace = PartialTrace::Of(stream::FileIndex::FromMemory(bytes));
  REQUIRE(trace != nullptr);
  auto reader = stream::Reader::FromMemory(bytes);
  const auto all = Load(reader->get());
  REQUIRE(all.ok());
  const auto some = trace->LoadCommands(
      {CommandBatch::kJobFieldNumber, CommandBatch::kIndexFieldNumber,
       CommandBatch::kTagFieldNumber, CommandBatch::kBytesFieldNumber,
       CommandBatch::kFetchedTicksDeltaFieldNumber, CommandBatch::kHeadTicksAfterFieldNumber,
       CommandBatch::kStartTicksAfterFieldNumber, CommandBatch::kEndTicksAfterFieldNumber,
       CommandBatch::kStallTicksFieldNumber});
  REQUIRE(some != nullptr);
  const Commands &a = (*all)->commands, &b = some->commands;
  REQUIRE((a.size() == b.size() && a.size() > 1000));
  size_t wrong = 0, busy = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    wrong += a.job[i] != b.job[i] || a.index[i] != b.index[i] || a.bytes[i] != b.bytes[i];
    wrong += a.start.ticks[i] != b.start.ticks[i] || a.end.RawTicks(i) != b.end.RawTicks(i);
    wrong += (*all)->BusyTicks(i) != some->BusyTicks(i);
    wrong += (*all)->strings.Get(a.op[i]) != some->strings.Get(b.op[i]);
    busy += some->BusyTicks(i).value_or(0);
  }
  CHECK(wrong == 0);
  CHECK(busy > 0);
  // Without ops the host is not read.
  const auto sums = trace->LoadCommands({CommandBatch::kBytesFieldNumber});
  REQUIRE(sums != nullptr);
  CHECK((sums->commands.size() == a.size() && sums->commands.bytes[7] == a.bytes[7]));
  CHECK(sums->read.bytes < some->read.bytes);
}

TEST_CASE("Commands that are invalid or occur twice are not loaded without the rest") {
  const auto loads = [](const auto& change) {
    std::vector<proto::Packet> packets = test::Split(Busy({}).Packets(), 128);
    for (proto::Packet& packet : packets) {
      if (packet.commands().job_size() > 20) change(packet.mutable_commands());
    }
    const std::string bytes = test::Encode(packets);
    const auto trace = PartialTrace::Of(stream::FileIndex::FromMemory(bytes));
    return trace != nullptr &&
           trace->LoadCommands({proto::CommandBatch::kBytesFieldNumber}) != nullptr;
  };
  CHECK(loads([](proto::CommandBatch*) {}));
  CHECK_FALSE(loads([](proto::CommandBatch* batch) { batch->set_unit(3, 9); }));
  CHECK_FALSE(loads([](proto::CommandBatch* batch) { batch->set_job(3, 0); }));
  CHECK_FALSE(loads([](proto::CommandBatch* batch) { batch->set_record_delta(3, 0); }));
  CHECK_FALSE(loads([](proto::CommandBatch* batch) { batch->set_device(9); }));
}

TEST_CASE("Where the host did not see when a job was, all is read") {
  std::vector<proto::Packet> packets = Busy({}).Packets();
  for (proto::Packet& packet : packets) {
    if (!packet.has_host()) continue;
    for (int i = 0; i < packet.host().kind_size(); ++i) {
      if (packet.host().kind(i) == proto::HostBatch::KIND_COMPLETE && packet.host().job(i) == 800) {
        packet.mutable_host()->set_kind(i, proto::HostBatch::KIND_FENCE);
      }
    }
  }
  const test::TemporaryFile file(test::Encode(test::Split(packets, 128)));
  const auto trace = PartialTrace::Open(file.path(), 0, PartialTrace::Checked::kWhatIsRead);
  REQUIRE(trace != nullptr);
  CHECK(trace->LoadCommands({kBegin + 700 * kEach, kBegin + 900 * kEach}, {}) == nullptr);
  CHECK(trace->LoadCommands({kBegin + 1'200 * kEach, kBegin + 1'500 * kEach}, {}) != nullptr);
}

TEST_CASE("Damage counts where it is read") {
  std::string bytes = test::Encode(test::Split(Busy({}).Packets(), 128));
  const auto index = stream::FileIndex::FromMemory(bytes);
  // A packet of commands in the middle of the trace.
  std::vector<stream::PacketPlace> commands;
  for (const stream::PacketPlace& at : index->packets()) {
    if (at.body == proto::Packet::kCommands) commands.push_back(at);
  }
  const stream::PacketPlace& middle = commands[commands.size() / 2];
  char& byte = bytes[(middle.offset_bytes + middle.end_bytes) / 2];
  byte = static_cast<char>(byte ^ 1);
  const test::TemporaryFile file(bytes);
  CHECK(PartialTrace::Open(file.path()) == nullptr);
  const auto trace = PartialTrace::Open(file.path(), 0, PartialTrace::Checked::kWhatIsRead);
  REQUIRE(trace != nullptr);
  const Stretch early{kBegin + 100 * kEach, kBegin + 600 * kEach};
  const Stretch there{kBegin + 900 * kEach, kBegin + 1'100 * kEach};
  CHECK(trace->LoadCommands(early, {}) != nullptr);
  CHECK(trace->Load(early).ok());
  CHECK(trace->LoadCommands(there, {}) == nullptr);
  CHECK_FALSE(trace->Load(there).ok());
}

}  // namespace
}  // namespace acceltrace::model
