// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/tables/model.h"

#include "libtrace/stream/columns/block_writer.h"
#include "libtrace/stream/file/writer.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::model {
namespace {

using namespace acceltrace::test;

JobSpec OneJob() {
  JobSpec job;
  job.job = 7;
  job.sequence = 3;
  job.correlation = 0x6400000002;
  job.submit_ns = 10'001'000, job.doorbell_ns = 10'002'000, job.submit_end_ns = 10'003'000;
  job.device_doorbell_ns = 10'002'500, job.fetched_ns = 10'003'000;
  job.completion_ns = 10'060'000, job.device_irq_ns = 10'060'100;
  job.irq_ns = 10'062'000, job.complete_ns = 10'063'000;
  job.wait_ns = 10'010'000, job.wake_ns = 10'066'000, job.wait_correlation = 0x6400000003;
  CommandSpec copy;
  copy.unit = kIn;
  copy.fetched_ns = 10'003'000, copy.head_ns = 10'003'500;
  copy.start_ns = 10'003'500, copy.end_ns = 10'023'500;
  copy.bytes = 4096, copy.opcode = 0x10, copy.tag = 1;
  CommandSpec multiply;
  multiply.fetched_ns = 10'003'200, multiply.head_ns = 10'003'700;
  multiply.start_ns = 10'024'000, multiply.end_ns = 10'059'000;
  multiply.stall_ns[kStallMemory] = 5'000;
  multiply.tag = 2;
  job.commands = {copy, multiply};
  return job;
}

TraceBuilder OneJobTrace(const ClockSpec& clock = {}) {
  TraceBuilder builder;
  builder.AddDevice(clock);
  builder.AddProcess(100, 100, "sh");
  builder.AddProcess(100, 100, "worker");
  builder.AddOpName(100, 2, "qkv");
  builder.AddApi("Launch", 100, 0x6400000002, 10'000'000, 10'004'000);
  builder.AddApi("Synchronize", 100, 0x6400000003, 10'009'000, 10'067'000);
  builder.AddRange("inner", 100, 10'000'000, 10'004'500, 1);
  builder.AddRange("outer", 100, 9'999'000, 10'070'000, 0);
  builder.AddJob(OneJob());
  return builder;
}

TEST_CASE("Both sides of a job become one row") {
  const auto model = OneJobTrace().Model();
  REQUIRE(model->jobs.size() == 1);
  const Jobs& jobs = model->jobs;
  CHECK(jobs.on_host[0] == 1);
  CHECK(jobs.on_device[0] == 1);
  CHECK(jobs.job[0] == 7);
  CHECK(jobs.sequence[0] == 3);
  CHECK(jobs.correlation[0] == 0x6400000002);
  CHECK(jobs.host_correlation[0] == 0x6400000002);
  CHECK(jobs.commands_submitted[0] == 2);
  CHECK(jobs.commands_retired[0] == 2);
  CHECK(jobs.num_commands[0] == 2);
  CHECK(jobs.copy_bytes[0] == 4096);
  CHECK(jobs.submit_ns[0] == 10'001'000);
  CHECK(jobs.irq_ns[0] == 10'062'000);
  CHECK(jobs.complete_ns[0] == 10'063'000);
  CHECK(jobs.wait_ns[0] == 10'010'000);
  CHECK(jobs.wake_ns[0] == 10'066'000);
  REQUIRE(jobs.api_row[0] != kNoRow);
  CHECK(model->strings.Get(model->api.name[jobs.api_row[0]]) == "Launch");
  REQUIRE(jobs.wait_api_row[0] != kNoRow);
  CHECK(model->strings.Get(model->api.name[jobs.wait_api_row[0]]) == "Synchronize");
}

TEST_CASE("A thread that waits for one device and submits to another orders their clocks") {
  TraceBuilder builder;
  const auto device = [&](double ppm) {
    ClockSpec clock;
    clock.ppm = ppm;
    return builder.AddDevice(clock);
  };
  const uint32_t first = device(20), second = device(-200);
  const auto add = [&](uint32_t number, uint32_t job, int64_t begin_ns, uint32_t tid) {
    JobSpec spec = OneJob();
    spec.device = number, spec.job = job, spec.sequence = job, spec.tid = tid;
    const int64_t shift_ns = begin_ns - spec.submit_ns;
    for (int64_t* at :
         {&spec.submit_ns, &spec.doorbell_ns, &spec.submit_end_ns, &spec.device_doorbell_ns,
          &spec.fetched_ns, &spec.completion_ns, &spec.device_irq_ns, &spec.irq_ns,
          &spec.complete_ns, &spec.wait_ns, &spec.wake_ns}) {
      *at += shift_ns;
    }
    for (CommandSpec& command : spec.commands) {
      for (int64_t* at :
           {&command.fetched_ns, &command.head_ns, &command.start_ns, &command.end_ns}) {
        *at += shift_ns;
      }
    }
    builder.AddJob(spec);
  };
  add(first, 1, 10'001'000, 100);
  add(second, 1, 11'001'000, 100);  // after the first one's job: an order
  add(second, 2, 12'001'000, 100);  // nothing new is known about the first one
  add(first, 2, 13'001'000, 100);   // an order back
  add(second, 3, 14'001'000, 101);  // another thread, which waited for nothing
  const auto model = builder.Model();
  const DeviceOrders& orders = model->orders;
  REQUIRE(orders.size() == 2);
  REQUIRE(orders.slack.size() == 2);
  const auto values = [](const auto& column) {
    return std::vector<uint32_t>(column.begin(), column.end());
  };
  CHECK(values(orders.from_device) == std::vector<uint32_t>{0, 1});
  CHECK(values(orders.from_job) == std::vector<uint32_t>{1, 2});
  CHECK(values(orders.to_device) == std::vector<uint32_t>{1, 0});
  CHECK(values(orders.to_job) == std::vector<uint32_t>{1, 2});
  // From completion, 59 us after the submission, to the next doorbell, 1.5 us after it.
  for (const Interval& slack : orders.slack) CHECK(slack.Contains(1'000'000 - 59'000 + 1'500));
}

TEST_CASE("Device times keep their ticks and get an interval that holds the truth") {
  ClockSpec clock;
  clock.hz = 250'000'000;
  clock.ppm = -37;
  TraceBuilder builder = OneJobTrace(clock);
  const auto model = builder.Model();
  CHECK(model->jobs.doorbell.ticks[0] == builder.Ticks(0, 10'002'500));
  // One tick is 4 ns: the instant is within the tick.
  CHECK(model->jobs.doorbell.host[0].lo_ns <= 10'002'500);
  CHECK(model->jobs.doorbell.host[0].hi_ns + 4 >= 10'002'500);
  CHECK(model->jobs.completion.host[0].lo_ns <= 10'060'000);
  CHECK(model->jobs.completion.host[0].hi_ns + 4 >= 10'060'000);
  CHECK(model->load.unconverted_times == 0);
  CHECK(model->devices[0].clock.valid());
}

TEST_CASE("A snapshot without counters bounds the clock and is no sample of counters") {
  TraceBuilder builder = OneJobTrace();
  const int64_t latched_ns = 10'059'500;
  proto::Packet packet;
  proto::CounterBatch* latches = packet.mutable_counters();
  latches->set_device(0);
  latches->add_time_ticks_delta(static_cast<int64_t>(builder.Ticks(0, latched_ns)));
  latches->add_host_before_ns_delta(latched_ns - 20);
  latches->add_host_after_ns_delta(latched_ns + 30);
  const auto load = [&](bool with_latches) {
    std::vector<proto::Packet> packets = builder.Packets();
    if (with_latches) packets.push_back(packet);
    stream::PacketEncoder encoder;
    std::string bytes;
    for (proto::Packet& next : packets) encoder.Append(&next, 0, 1, &bytes);
    encoder.AppendFooter(&bytes);
    auto reader = stream::Reader::FromMemory(bytes);
    REQUIRE(reader.ok());
    auto model = Load(reader->get());
    REQUIRE(model.ok());
    return std::move(*model);
  };
  const auto without = load(false), with = load(true);
  CHECK(with->devices[0].counters.size() == without->devices[0].counters.size());
  CHECK(without->jobs.completion.host[0].width_ns() > 60);
  CHECK(with->jobs.completion.host[0].width_ns() <= 60);
  CHECK(with->jobs.completion.host[0].Contains(10'060'000));
  CHECK(with->devices[0].clock.quality().constraints ==
        without->devices[0].clock.quality().constraints + 2);
}

TEST_CASE("Ticks of a narrow clock go on over its wrap") {
  ClockSpec clock;
  clock.hz = 1'000'000'000;
  // 32 bits wrap between the job's doorbell and its end.
  clock.offset_ticks = (uint64_t{1} << 32) - 10'030'000;
  TraceBuilder builder = OneJobTrace(clock);
  builder.device(0)->mutable_clock()->set_bits(32);
  std::vector<proto::Packet> packets = builder.Packets();
  constexpr int64_t kMask = 0xffffffff;
  for (proto::Packet& packet : packets) {
    // Truncates ticks to 32 bits, as the device would have written them.
    const auto wrap = [](auto* column) {
      int64_t raw = 0, last = 0;
      for (auto& delta : *column) {
        raw += delta;
        delta = (raw & kMask) - last;
        last = raw & kMask;
      }
    };
    if (packet.has_clocks()) wrap(packet.mutable_clocks()->mutable_device_ticks_delta());
    if (packet.has_jobs()) wrap(packet.mutable_jobs()->mutable_doorbell_ticks_delta());
    if (packet.has_commands()) wrap(packet.mutable_commands()->mutable_fetched_ticks_delta());
  }
  stream::PacketEncoder encoder;
  std::string bytes;
  for (proto::Packet& packet : packets) encoder.Append(&packet, 0, 1, &bytes);
  encoder.AppendFooter(&bytes);
  auto reader = stream::Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  auto model = Load(reader->get());
  REQUIRE(model.ok());
  const Jobs& jobs = (*model)->jobs;
  REQUIRE(jobs.size() == 1);
  CHECK(jobs.doorbell.host[0].Contains(10'002'500));
  CHECK(jobs.completion.host[0].Contains(10'060'000));
  CHECK(jobs.completion.ticks[0] - jobs.doorbell.ticks[0] == 57'500);
}

TEST_CASE("Commands know their job, their op and what they spent") {
  const auto model = OneJobTrace().Model();
  REQUIRE(model->commands.size() == 2);
  CHECK(model->commands.job_row[1] == 0);
  CHECK(model->strings.Get(model->commands.op[1]) == "qkv");
  CHECK(model->commands.op[0] == 0);
  // [head, end] = 55.3 µs, of which 20.3 waiting for a semaphore and 5 for memory.
  CHECK(model->BusyTicks(1) == uint64_t{30'000});
  CHECK(model->Stalls(1)[kStallSemaphore] == 20'300);
  CHECK(model->Stalls(1)[kStallMemory] == 5'000);
  CHECK(model->BusyTicks(0) == uint64_t{20'000});
}

TEST_CASE("Tables come in order, and the last name of a process stays") {
  const auto model = OneJobTrace().Model();
  REQUIRE(model->ranges.size() == 2);
  CHECK(model->strings.Get(model->ranges.name[0]) == "outer");
  CHECK(model->ProcessName(100) == "worker");
  CHECK(model->processes.size() == 1);
  CHECK(model->begin_ns == 9'999'000);
  CHECK(model->end_ns == 10'070'000);
}

TEST_CASE("Without clock samples times are placed, and bounded by nothing") {
  TraceBuilder builder = OneJobTrace();
  stream::PacketEncoder encoder;
  std::string bytes;
  for (proto::Packet& packet : builder.Packets()) {
    if (!packet.has_clocks()) encoder.Append(&packet, 0, 1, &bytes);
  }
  encoder.AppendFooter(&bytes);
  auto reader = stream::Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  auto model = Load(reader->get());
  REQUIRE(model.ok());
  CHECK_FALSE((*model)->devices[0].clock.valid());
  CHECK_FALSE((*model)->devices[0].clock_error.empty());
  CHECK((*model)->load.unconverted_times > 0);
  // Times start at the first doorbell that both sides saw.
  const Interval& doorbell = (*model)->jobs.doorbell.host[0];
  CHECK(doorbell.mid_ns == 10'002'000);
  CHECK(doorbell.width_ns() > int64_t{1} << 60);
  CHECK((*model)->jobs.completion.host[0].mid_ns == 10'059'500);
}

TEST_CASE("A row of a device that nobody described is counted, not used") {
  TraceBuilder builder = OneJobTrace();
  stream::PacketEncoder encoder;
  std::string bytes;
  for (proto::Packet& packet : builder.Packets()) {
    if (packet.has_commands()) packet.mutable_commands()->set_device(9);
    encoder.Append(&packet, 0, 1, &bytes);
  }
  auto reader = stream::Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  auto model = Load(reader->get());
  REQUIRE(model.ok());
  CHECK((*model)->commands.size() == 0);
  CHECK((*model)->load.unknown_device_rows == 2);
  CHECK((*model)->jobs.num_commands[0] == 0);
}

TEST_CASE("Rows that are there twice are used once and counted") {
  TraceBuilder builder = OneJobTrace();
  stream::PacketEncoder encoder;
  std::string bytes;
  for (proto::Packet& packet : builder.Packets()) {
    proto::Packet again = packet;
    encoder.Append(&packet, 0, 1, &bytes);
    if (again.has_commands() || again.has_jobs()) encoder.Append(&again, 0, 1, &bytes);
  }
  auto reader = stream::Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  auto model = Load(reader->get());
  REQUIRE(model.ok());
  CHECK((*model)->commands.size() == 2);
  CHECK((*model)->jobs.size() == 1);
  CHECK((*model)->load.duplicate_commands == 2);
  CHECK((*model)->load.duplicate_jobs == 1);
}

// A block of one host job, in flight or complete.
proto::Packet HostJobBlock(uint32_t job, bool over) {
  using proto::Block;
  proto::Packet packet;
  Block& block = *packet.mutable_block();
  block.set_table(Block::TABLE_HOST_JOBS);
  std::vector<uint64_t> submit(8, 10'000'000), after(8, 500);
  std::vector<uint32_t> jobs(8, job), known(8, over ? 5 : 1);
  stream::BlockWriter writer;
  writer.Begin(&block, 1);
  writer.Delta(Block::COLUMN_SUBMIT_NS, submit.data());
  writer.Reference(Block::COLUMN_DOORBELL_NS, after.data(), Block::COLUMN_SUBMIT_NS);
  writer.Reference(Block::COLUMN_SUBMIT_END_NS, after.data(), Block::COLUMN_DOORBELL_NS);
  writer.Reference(Block::COLUMN_COMPLETE_NS, after.data(), Block::COLUMN_DOORBELL_NS);
  writer.Narrow(Block::COLUMN_KNOWN, known.data());
  writer.Narrow(Block::COLUMN_JOB, jobs.data());
  writer.Finish();
  return packet;
}

TEST_CASE("What was recorded of a job in flight is not there twice when it is over") {
  TraceBuilder builder;
  builder.AddDevice();
  std::vector<proto::Packet> packets = builder.Packets();
  for (const bool over : {false, false, true}) packets.push_back(HostJobBlock(1, over));
  for (const bool over : {false, false}) packets.push_back(HostJobBlock(2, over));
  const auto model = LoadPackets(packets);
  CHECK(model->host.size() == 4 + 3);
  REQUIRE(model->jobs.size() == 2);
  CHECK(model->jobs.submit_ns[1] == 10'000'000);
  CHECK(model->jobs.complete_ns[0] == 10'001'000);
  CHECK(model->jobs.complete_ns[1] == kNoTime);
  CHECK_FALSE(model->missing.anything);
  CHECK(model->missing.parts.empty());
}

TEST_CASE("A block that is missing is missed as what it stands for") {
  TraceBuilder builder;
  builder.AddDevice();
  std::vector<proto::Packet> packets = builder.Packets();
  packets.push_back(HostJobBlock(1, true));
  const auto model = LoadPackets(packets, packets.size() - 1);
  REQUIRE(model->missing.parts.size() == 1);
  CHECK(model->missing.parts[0].body == proto::Packet::kHost);
  CHECK(model->missing.parts[0].rows == 1);
}

TEST_CASE("A waiter that gave up was not woken by its job") {
  TraceBuilder builder;
  builder.AddDevice();
  JobSpec job = OneJob();
  job.status = 0xffffffff;  // value in the wake event of a thread that gave up
  job.complete_ns = 0;
  builder.AddJob(job);
  const auto model = builder.Model();
  CHECK(model->jobs.wake_ns[0] == kNoTime);
}

TEST_CASE("A handler that was entered before a job was submitted is not the job's interrupt") {
  TraceBuilder builder;
  builder.AddDevice();
  JobSpec first = OneJob(), second = OneJob();
  // Submitted while the handler was delayed. The recording ends before the device's record.
  second.job = 8, second.sequence = 4, second.correlation = 0x6400000009;
  second.submit_ns = 10'062'100, second.doorbell_ns = 10'062'200;
  second.submit_end_ns = 10'062'300, second.complete_ns = 10'064'000;
  second.completion_ns = 0, second.commands.clear();
  for (const JobSpec& job : {first, second}) builder.AddJob(job);
  const auto model = builder.Model();
  REQUIRE(model->jobs.size() == 2);
  const size_t late = model->jobs.job[0] == 8 ? 0 : 1;
  REQUIRE(model->jobs.on_device[late] == 0);
  CHECK(model->jobs.irq_ns[1 - late] == 10'062'000);
  CHECK(model->jobs.irq_ns[late] == kNoTime);
  CHECK(model->jobs.complete_ns[late] == 10'064'000);
}

TEST_CASE(
    "A handler that another job's interrupt started is not that of one whose own comes late") {
  const bool beside = GENERATE(true, false);
  TraceBuilder builder;
  builder.AddDevice();
  JobSpec first = OneJob(), second = OneJob();
  first.device_irq_ns = 13'060'100;
  second.job = 8, second.sequence = 4, second.correlation = 0x6400000009;
  second.complete_ns = 10'064'000;
  if (!beside) second.queue = first.queue + 1;
  for (const JobSpec& job : {first, second}) builder.AddJob(job);
  const auto model = builder.Model();
  REQUIRE(model->jobs.size() == 2);
  const size_t late = model->jobs.job[0] == 8 ? 1 : 0;
  // If no other job can have started the handler, the order is violated.
  CHECK(model->jobs.irq_ns[late] == (beside ? kNoTime : 10'062'000));
  CHECK(model->jobs.irq_ns[1 - late] == 10'062'000);
}

TEST_CASE("An interrupt whose jobs lie in two blocks is one") {
  TraceBuilder builder;
  builder.AddDevice();
  JobSpec first = OneJob(), second = OneJob(), other = OneJob();
  second.job = 8, second.sequence = 4, second.correlation = 0x6400000009;
  second.complete_ns = 10'064'000;
  other.job = 9, other.sequence = 1, other.correlation = 0x640000000a;
  other.queue = first.queue + 1;  // has its own handler, at the same time
  for (const JobSpec& job : {first, second, other}) builder.AddJob(job);
  const auto model = builder.Model();
  REQUIRE(model->jobs.size() == 3);
  for (size_t i = 0; i < 3; ++i) CHECK(model->jobs.irq_ns[i] == 10'062'000);
  std::vector<uint64_t> found;
  for (size_t i = 0; i < model->host.size(); ++i) {
    if (model->host.kind[i] == proto::HostBatch::KIND_IRQ) found.push_back(model->host.arg1[i]);
  }
  CHECK(found == std::vector<uint64_t>{2, 1});
}

TEST_CASE("An interrupt belongs to as many completions as it found ready") {
  TraceBuilder builder;
  builder.AddDevice();
  JobSpec first = OneJob(), second = OneJob();
  first.wait_ns = first.wake_ns = 0;
  second.wait_ns = second.wake_ns = 0;
  second.job = 8, second.sequence = 4, second.correlation = 0x6400000009;
  second.irq_ns = 0;  // no run of its own: it was found by polling
  second.complete_ns = 10'064'000;
  builder.AddJob(first);
  builder.AddJob(second);
  const auto model = builder.Model();
  REQUIRE(model->jobs.size() == 2);
  CHECK(model->jobs.irq_ns[0] == 10'062'000);
  CHECK(model->jobs.irq_ns[1] == kNoTime);
}

TEST_CASE("A trace with too many rows is refused in one line") {
  const std::string bytes = OneJobTrace().Bytes();
  auto reader = stream::Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  LoadOptions options;
  options.max_rows = 5;
  const auto model = Load(reader->get(), options);
  REQUIRE_FALSE(model.ok());
  CHECK(model.message().find("more than 5 rows") != std::string::npos);
}

}  // namespace
TEST_CASE("Clock samples beyond what a fit can hold are thinned, and its bounds hold") {
  test::TraceBuilder builder;
  test::ClockSpec clock;
  clock.ppm = 31;
  clock.sample_period_ns = 1'000;
  const uint32_t device = builder.AddDevice(clock);
  builder.AddApi("call", 100, 1, 10'000'000, 160'000'000);
  const auto model = builder.Model();
  const Device& seen = model->devices[0];
  CHECK(seen.clock_samples > 150'000);
  REQUIRE(seen.clock.valid());
  CHECK(seen.clock.quality().samples < 100'000);
  CHECK(seen.clock.quality().samples > 30'000);
  for (int64_t at_ns = 10'000'000; at_ns <= 160'000'000; at_ns += 1'234'567) {
    const Interval when = seen.clock.ToHost(builder.Ticks(device, at_ns), at_ns);
    CHECK(when.lo_ns <= at_ns + 1);
    CHECK(when.hi_ns >= at_ns);
    CHECK(when.hi_ns - when.lo_ns < 1'000);
  }
}

TEST_CASE("A clock that its device changes without end is refused, in a line") {
  constexpr int kChanges = 40'000;
  const auto load = [](int changes) {
    std::vector<proto::Packet> packets = OneJobTrace().Packets();
    proto::Packet packet;
    proto::DeviceEventBatch* batch = packet.mutable_device_events();
    for (int i = 0; i < changes; ++i) {
      batch->add_kind(proto::DeviceEventBatch::KIND_CLOCK);
      batch->add_time_ticks_delta(1);
      batch->add_record_delta(1);
      batch->add_arg0(1'000'000'000'000);
      batch->add_arg1(static_cast<uint64_t>(i % 2));
    }
    packets.push_back(packet);
    const std::string bytes = test::Encode(std::move(packets));
    auto reader = stream::Reader::FromMemory(bytes);
    REQUIRE(reader.ok());
    auto model = Load(reader->get());
    REQUIRE(model.ok());
    return std::move(model).value();
  };
  CHECK(load(10)->devices[0].clock_error.find("changes") == std::string::npos);
  const auto model = load(kChanges);
  CHECK_FALSE(model->devices[0].clock.valid());
  CHECK(model->devices[0].clock_error.find("40000 changes of its clock") != std::string::npos);
}

TEST_CASE("Losses beyond what anybody reads are summed up, none is forgotten") {
  test::TraceBuilder builder;
  builder.AddDevice();
  constexpr uint64_t kLosses = 70'000;
  for (uint64_t i = 0; i < kLosses; ++i) {
    const auto at_ns = static_cast<int64_t>(10'000'000 + 10 * i);
    builder.AddLoss(i % 2 == 0 ? "here" : "there", 1 + i % 3, at_ns, at_ns + 5);
  }
  const auto model = builder.Model();
  CHECK(model->losses.size() == 65'536);
  uint64_t lost = 0;
  int64_t last_ns = 0;
  for (const Loss& loss : model->losses) {
    lost += loss.count;
    last_ns = std::max(last_ns, loss.last_ns);
  }
  CHECK(lost == kLosses / 3 * 6 + 1);
  CHECK(last_ns == 10'000'000 + 10 * static_cast<int64_t>(kLosses - 1) + 5);
}

}  // namespace acceltrace::model
