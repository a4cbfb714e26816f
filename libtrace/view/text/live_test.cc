// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/text/live.h"

#include <string>
#include <vector>

#include "libtrace/stream/columns/packet_decoder.h"
#include "libtrace/view/common/format.h"
#include "libtrace/view/text/text_live.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::view {
namespace {

// Adds a packet with its rows, as a reader gives it; a reader does not give an unsound one.
bool Add(proto::Packet packet, LiveState* state) {
  stream::PacketDecoder decoder;
  if (!decoder.Decode(size_t{1} << 30, &packet).ok()) return false;
  state->Add(packet, decoder.rows());
  return true;
}

using namespace acceltrace::test;

constexpr int64_t kBase = 30'000'000;

// One job every 20 µs, of which 8 are computing and 4 copying.
TraceBuilder Stream(uint32_t jobs, const std::string& name = "app") {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddProcess(100, 100, name);
  for (uint32_t i = 0; i < jobs; ++i) {
    const int64_t at = kBase + int64_t{i} * 20'000;
    JobSpec job;
    job.context = 7, job.job = i + 1, job.sequence = i + 1, job.correlation = i + 1;
    job.submit_ns = at + 500, job.doorbell_ns = at + 800, job.submit_end_ns = at + 900;
    job.device_doorbell_ns = at + 1'000, job.fetched_ns = at + 1'200;
    CommandSpec compute, copy;
    compute.unit = kMatrix, compute.fetched_ns = compute.head_ns = at + 2'000;
    compute.start_ns = at + 2'000, compute.end_ns = at + 10'000;
    compute.stall_ns[kStallMemory] = 4'000;
    copy.unit = kIn, copy.fetched_ns = copy.head_ns = at + 2'000;
    copy.start_ns = at + 2'000, copy.end_ns = at + 6'000, copy.bytes = 8'000;
    job.commands = {copy, compute};
    job.completion_ns = at + 11'000, job.device_irq_ns = at + 11'100;
    job.irq_ns = at + 12'000;
    // The last three are still in flight.
    if (i + 3 < jobs) job.complete_ns = at + 13'000;
    builder.AddApi("Launch", 100, job.correlation, at, at + 1'000);
    builder.AddJob(job);
  }
  builder.info()->set_start_ns(kBase);
  return builder;
}

LiveState StateOf(const std::vector<proto::Packet>& packets) {
  LiveState state;
  for (const proto::Packet& packet : packets) REQUIRE(Add(packet, &state));
  return state;
}

const LiveEngine& EngineOf(const LiveFrame& frame, const std::string& unit) {
  for (const LiveEngine& engine : frame.engines) {
    if (engine.unit == unit) return engine;
  }
  FAIL("no engine " << unit);
  return frame.engines.front();
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST_CASE("A frame has what the stream's commands took") {
  TraceBuilder builder = Stream(100);
  const proto::Device about = *builder.device(0);
  LiveState state = StateOf(builder.Packets());
  const LiveFrame frame = state.Cut();
  const auto interval_ns = static_cast<double>(frame.end_ns - frame.begin_ns);
  REQUIRE(interval_ns > 1e6);
  const LiveEngine& matrix = EngineOf(frame, about.units(kMatrix).name());
  CHECK(matrix.commands == 100);
  CHECK(matrix.busy == Approx(100 * 8'000 / interval_ns).epsilon(1e-3));
  CHECK(matrix.cause == about.stalls(kStallMemory));
  CHECK(matrix.cause_share == Approx(100 * 4'000 / interval_ns).epsilon(1e-2));
  CHECK_FALSE(matrix.transfers);
  const LiveEngine& in = EngineOf(frame, about.units(kIn).name());
  CHECK(in.transfers);
  CHECK(in.bytes == 800'000);
  CHECK(in.running_bytes_per_s == Approx(2e9).epsilon(1e-3));
  CHECK(in.ceiling_bytes_per_s > 3e9);
  REQUIRE(frame.queues.size() == 1);
  CHECK(frame.queues[0].submitted == 100);
  CHECK(frame.queues[0].completed == 97);
  CHECK(frame.queues[0].in_flight == 3);
  REQUIRE(frame.processes.size() == 1);
  CHECK(frame.processes[0].pid == 100);
  CHECK(frame.processes[0].name == "app");
  CHECK(frame.processes[0].device_ns == Approx(100 * 12'000).epsilon(1e-3));
  // The next frame must have nothing from this one, except for what stays as it is.
  const LiveFrame after = state.Cut();
  CHECK(EngineOf(after, about.units(kMatrix).name()).commands == 0);
  CHECK(after.queues[0].in_flight == 3);
  CHECK(EngineOf(state.Whole(), about.units(kMatrix).name()).commands == 100);
}

TEST_CASE("A frame has memory by process, what is freed and what a context takes along") {
  LiveState state = StateOf(Stream(1).Packets());
  const auto memory_after = [&](uint32_t kind, uint64_t arg0, uint64_t arg1) {
    proto::Packet packet;
    proto::HostBatch* host = packet.mutable_host();
    host->add_kind(kind), host->add_time_ns_delta(kBase + 900'000), host->add_pid(100);
    host->add_context(7), host->add_arg0(arg0), host->add_arg1(arg1);
    REQUIRE(Add(packet, &state));
    return state.Whole().processes[0].memory_bytes;
  };
  CHECK(memory_after(proto::HostBatch::KIND_BUFFER, 4096, 1) == 4096);
  CHECK(memory_after(proto::HostBatch::KIND_BUFFER, 8192, 1) == 12288);
  CHECK(memory_after(proto::HostBatch::KIND_BUFFER, 4096, 0) == 8192);
  CHECK(memory_after(proto::HostBatch::KIND_BUFFER, UINT64_MAX, 0) == 0);
  CHECK(memory_after(proto::HostBatch::KIND_BUFFER, 100, 1) == 100);
  CHECK(memory_after(proto::HostBatch::KIND_CONTEXT, 0, 0) == 0);
}

TEST_CASE("A frame has the container that a process is in") {
  const std::string id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  TraceBuilder builder = Stream(1);
  CHECK(Joined(TextLive(StateOf(builder.Packets()).Whole(), {})).find("container") ==
        std::string::npos);
  const std::string slice = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod";
  builder.AddGroup(100, kBase, "/docker/" + std::string(64, 'f'));
  builder.AddGroup(100, kBase + 1, slice + std::string(36, 'u') + ".slice/crio-" + id + ".scope");
  const LiveFrame frame = StateOf(builder.Packets()).Whole();
  REQUIRE(frame.processes.size() == 1);
  CHECK(frame.processes[0].container == id);
  for (const int width : {80, 120}) {
    LiveStyle style;
    style.style.width = width;
    const std::string text = Joined(TextLive(frame, style));
    for (const char* wanted : {" name ", " container ", " app ", " 0123456789ab "}) {
      CHECK(text.find(wanted) != std::string::npos);
    }
    CHECK(text.find("abc") == std::string::npos);
  }
  builder.AddGroup(100, kBase + 2, "/user.slice");
  CHECK(StateOf(builder.Packets()).Whole().processes[0].container.empty());
}

TEST_CASE("Losses are reported by hop, and never forgotten") {
  TraceBuilder builder = Stream(3);
  builder.AddLoss("device-ring", 17, kBase + 100, kBase + 200);
  builder.AddLoss("device-ring", 4, kBase + 300, kBase + 400);
  LiveState state = StateOf(builder.Packets());
  state.Cut();
  const LiveFrame frame = state.Cut();
  REQUIRE(frame.losses.size() == 1);
  CHECK(frame.losses[0] == std::make_pair(std::string("device-ring"), uint64_t{21}));
  CHECK(Joined(TextLive(frame, {})).find("device-ring 21") != std::string::npos);
}

TEST_CASE("A stream with numbers from anywhere stays within its bounds") {
  LiveState state;
  uint64_t random = 1;
  size_t sound = 0;
  const auto next = [&random] {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return random >> 7 << (random >> 59);
  };
  for (int i = 0; i < 20'000; ++i) {
    proto::Packet packet;
    const auto small = static_cast<uint32_t>(next());
    switch (i % 7) {
      case 0: {
        proto::Device* device = packet.mutable_device();
        device->set_device(small % 100), device->mutable_clock()->set_bits(small % 70);
        device->mutable_clock()->set_nominal_hz(next());
        for (uint32_t u = 0; u < small % 5; ++u) device->add_units()->set_name("u");
        for (uint32_t s = 0; s < small % 3; ++s) device->add_stalls("s");
        break;
      }
      case 1:
        packet.mutable_strings()->add_id(small % 999);
        packet.mutable_strings()->add_value(small % 2 == 0 ? "x" : "/lxc/" + std::string(999, 'x'));
        break;
      case 2: {
        proto::HostBatch* host = packet.mutable_host();
        host->add_kind(small % 17), host->add_time_ns_delta(static_cast<int64_t>(next()));
        host->add_device(small % 100), host->add_context(small), host->add_queue(small);
        host->add_sequence(next()), host->add_arg0(next()), host->add_arg1(small % 2);
        break;
      }
      case 3: {
        proto::CommandBatch* commands = packet.mutable_commands();
        commands->set_device(small % 100);
        commands->add_fetched_ticks_delta(static_cast<int64_t>(next()));
        commands->add_end_ticks_after(next()), commands->add_unit(small % 7);
        commands->add_context(small), commands->add_bytes(next());
        for (int s = 0; s < 3; ++s) commands->add_stall_ticks(next());
        break;
      }
      case 4: {
        proto::ClockBatch* clocks = packet.mutable_clocks();
        clocks->set_device(small % 100);
        clocks->add_host_before_ns_delta(static_cast<int64_t>(next()));
        clocks->add_device_ticks_delta(static_cast<int64_t>(next()));
        break;
      }
      case 5: {
        proto::ProcessGroups* groups = packet.mutable_process_groups();
        for (uint32_t g = 0; g < 3; ++g) groups->add_pid(small + g), groups->add_group(g * 300);
        break;
      }
      default: {
        proto::LossBatch* losses = packet.mutable_losses();
        losses->add_hop(small), losses->add_count(next());
      }
    }
    sound += Add(packet, &state);
    if (i % 97 == 0) {
      LiveStyle style;
      style.style.width = 40 + i % 100, style.height = static_cast<size_t>(i % 40);
      for (const std::string& line : TextLive(state.Cut(), style)) {
        CHECK(DisplayWidth(line) <= static_cast<size_t>(style.style.width) + 8);
      }
    }
  }
  CHECK(sound > 5'000);
  const LiveFrame frame = state.Whole();
  CHECK(frame.losses.size() <= 65);
  CHECK(frame.engines.size() <= 64 * 5);
  CHECK(frame.queues.size() <= 4096);
}

TEST_CASE("Eighty columns and twenty-four lines hold the screen") {
  LiveFrame frame = StateOf(Stream(100).Packets()).Cut();
  const std::string name(300, 'n');
  for (uint32_t i = 0; i < 40; ++i) {
    frame.processes.push_back({1000 + i, name, 1e9, 1.5, 123'456, 1ull << 40, name});
    frame.queues.push_back({"acc0", i, 1'000'000, 123'456'789, 123'456'789});
  }
  const std::string hop(200, 'l');
  frame.losses = {{hop, 1'000'000'000'000}};
  for (const bool ascii : {false, true}) {
    LiveStyle style;
    style.style.width = 80, style.height = 24, style.ascii = ascii;
    const std::vector<std::string> lines = TextLive(frame, style);
    CHECK(lines.size() <= 24);
    for (const std::string& line : lines) {
      CHECK(DisplayWidth(line) <= 80);
      if (!ascii) continue;
      for (const char c : line) CHECK((c >= 0x20 && c < 0x7f));
    }
    const std::string text = Joined(lines);
    for (const char* wanted : {"ENGINE", "TRANSFERS", "QUEUE", "PROCESS", "matrix", "lost"}) {
      CHECK(text.find(wanted) != std::string::npos);
    }
  }
}

TEST_CASE("A name on a terminal takes its columns and moves nothing") {
  CHECK(TerminalName("layer.up", 20, false) == "layer.up");
  CHECK(TerminalName("\x1b[2J\x07", 20, false) == "?[2J?");
  CHECK(TerminalName("\xc2\x9b"
                     "31m",
                     20, false) == "?31m");  // C1: CSI
  CHECK(TerminalName("\xe2\x80\xae"
                     "x",
                     20, false) == "?x");                 // right-to-left
  CHECK(TerminalName("a\xcc\x81", 20, false) == "a?");    // combining
  CHECK(TerminalName("\xe5\xb1\x82", 20, false) == "?");  // two columns
  CHECK(TerminalName("\xff\xc3", 20, false) == "??");     // invalid UTF-8
  CHECK(TerminalName("caf\xc3\xa9", 20, false) == "caf\xc3\xa9");
  CHECK(TerminalName("caf\xc3\xa9", 20, true) == "caf?");
  CHECK(TerminalName("encoder.layer0.up", 12, false) == "encode..0.up");
  CHECK(TerminalName(std::string(64 * 1024, 'W'), 10, false).size() == 10);
}

}  // namespace
}  // namespace acceltrace::view
