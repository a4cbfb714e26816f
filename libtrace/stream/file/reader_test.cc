// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/file/reader.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "libtrace/stream/bytes/framing.h"
#include "libtrace/stream/columns/validate.h"
#include "libtrace/stream/file/sample_trace.h"
#include "libtrace/stream/file/test_batches.h"
#include "tests/catch.h"

namespace acceltrace::stream {

namespace {

struct Outcome {
  bool opened = false;
  std::string error;
  std::vector<uint64_t> sequences;
  ReadStats stats;
};

Outcome Drain(Result<std::unique_ptr<Reader>> reader) {
  Outcome outcome;
  outcome.opened = reader.ok();
  if (!reader.ok()) {
    outcome.error = reader.message();
    return outcome;
  }
  proto::Packet packet;
  while (stream::ReadBatch(reader->get(), &packet) == Reader::Next::kPacket) {
    outcome.sequences.push_back(packet.sequence());
  }
  outcome.stats = (*reader)->stats();
  return outcome;
}

Outcome ReadAll(std::string_view bytes) { return Drain(Reader::FromMemory(bytes)); }

// Returns where each frame starts, and the end.
std::vector<size_t> Boundaries(std::string_view bytes) {
  std::vector<size_t> boundaries{0};
  while (boundaries.back() < bytes.size()) {
    const Frame frame = ParseFrame(bytes.substr(boundaries.back()));
    REQUIRE(frame.state == Frame::State::kWhole);
    boundaries.push_back(boundaries.back() + frame.total_bytes);
  }
  return boundaries;
}

class TempDir {
 public:
  TempDir() { REQUIRE(mkdtemp(path_.data()) != nullptr); }
  ~TempDir() {
    unlink(File().c_str());
    rmdir(path_.c_str());
  }
  std::string File() const { return path_ + "/file"; }

 private:
  std::string path_ = "/tmp/stream-test-" + std::string(6, 'X');  // replaced by mkdtemp
};

}  // namespace

TEST_CASE("what was written is read back") {
  const std::vector<proto::Packet> packets = SamplePackets();
  const std::string bytes = Encode(packets);
  auto reader = Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  proto::Packet packet;
  for (const proto::Packet& written : packets) {
    REQUIRE(stream::ReadBatch(reader->get(), &packet) == Reader::Next::kPacket);
    CHECK(packet.body_case() == written.body_case());
  }
  CHECK(stream::ReadBatch(reader->get(), &packet) == Reader::Next::kPacket);
  CHECK(packet.has_footer());
  CHECK(stream::ReadBatch(reader->get(), &packet) == Reader::Next::kEnd);
  CHECK(stream::ReadBatch(reader->get(), &packet) == Reader::Next::kEnd);
  const ReadStats& stats = (*reader)->stats();
  CHECK(stats.bytes == bytes.size());
  CHECK(stats.packets == 8);
  CHECK(stats.bad_packets == 0);
  CHECK(stats.gap_count == 0);
  CHECK(stats.has_footer);
}

TEST_CASE("columns survive the round trip, those of zeros absent") {
  proto::Trace trace;
  REQUIRE(trace.ParseFromString(Encode(SamplePackets())));
  const proto::ApiBatch& api = trace.packet(3).api();
  CHECK(Rows(trace.packet(3)) == 3);
  CHECK(api.result_size() == 0);
  CHECK(DecodeDeltas<int64_t>(api.begin_ns_delta(), 3) ==
        std::vector<int64_t>{1'000'000, 1'000'500, 1'001'000});
  CHECK(DecodeColumn(api.result(), 3) == std::vector<int32_t>{0, 0, 0});
  CHECK(ColumnAt(api.duration_ns(), 2) == 100);
  CHECK(ColumnAt(api.bytes(), 2) == 0);
}

TEST_CASE("every truncation is noticed and keeps the packets before it") {
  const std::string bytes = Encode(SamplePackets());
  const std::vector<size_t> boundaries = Boundaries(bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    const Outcome outcome = ReadAll(std::string_view(bytes).substr(0, size));
    size_t whole = 0;
    while (boundaries[whole + 1] <= size) ++whole;
    REQUIRE(outcome.opened == (whole > 0));
    if (!outcome.opened) continue;
    CHECK(outcome.sequences.size() == whole);
    CHECK_FALSE(outcome.stats.has_footer);
    const bool on_boundary = boundaries[whole] == size;
    REQUIRE(outcome.stats.gap_count == (on_boundary ? 0 : 1));
    if (on_boundary) continue;
    CHECK(outcome.stats.gaps[0].reason == "truncated");
    CHECK(outcome.stats.gaps[0].offset_bytes == boundaries[whole]);
    CHECK(outcome.stats.gaps[0].length_bytes == size - boundaries[whole]);
  }
}

TEST_CASE("every flipped bit is noticed and costs one packet") {
  const std::string bytes = Encode(SamplePackets());
  const size_t last_packet = Boundaries(bytes)[7];
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    CAPTURE(bit / 8, bit % 8);
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const Outcome outcome = ReadAll(damaged);
    REQUIRE(outcome.opened);
    CHECK(outcome.sequences.size() == 7);
    REQUIRE(outcome.stats.gap_count == 1);
    const bool in_last = bit / 8 >= last_packet;
    CHECK(outcome.stats.gaps[0].missing_packets == (in_last ? 0 : 1));
    CHECK(outcome.stats.has_footer == !in_last);
  }
}

TEST_CASE("reading goes on after garbage of any length") {
  const std::string bytes = Encode(SamplePackets());
  const std::vector<size_t> boundaries = Boundaries(bytes);
  for (size_t length : {1, 2, 13, 22, 5000, 65536, 200'000, 3'000'000}) {
    CAPTURE(length);
    // Sync marks and tags that do not start a packet.
    std::string garbage;
    while (garbage.size() < length) garbage.append("\x0a\x40").append(kSyncField).append("\x0a");
    garbage.resize(length);
    std::string damaged = bytes;
    damaged.insert(boundaries[3], garbage);
    const Outcome outcome = ReadAll(damaged);
    REQUIRE(outcome.opened);
    CHECK(outcome.sequences.size() == 8);
    REQUIRE(outcome.stats.gap_count == 1);
    CHECK(outcome.stats.gaps[0].offset_bytes == boundaries[3]);
    CHECK(outcome.stats.gaps[0].length_bytes == length);
    CHECK(outcome.stats.gaps[0].missing_packets == 0);
  }
}

TEST_CASE("missing packets are counted by their numbers") {
  std::string bytes = Encode(SamplePackets());
  const std::vector<size_t> boundaries = Boundaries(bytes);
  bytes.erase(boundaries[2], boundaries[5] - boundaries[2]);
  const Outcome outcome = ReadAll(bytes);
  CHECK(outcome.sequences == std::vector<uint64_t>{1, 2, 6, 7, 8});
  REQUIRE(outcome.stats.gap_count == 1);
  CHECK(outcome.stats.gaps[0].reason == "sequence");
  CHECK(outcome.stats.gaps[0].missing_packets == 3);
}

TEST_CASE("a file without a footer opens") {
  const Outcome outcome = ReadAll(Encode(SamplePackets(), false));
  REQUIRE(outcome.opened);
  CHECK(outcome.sequences.size() == 7);
  CHECK(outcome.stats.gap_count == 0);
  CHECK_FALSE(outcome.stats.has_footer);
}

TEST_CASE("what is no trace is refused with one line") {
  CHECK(ReadAll("").error.find("empty") != std::string::npos);
  CHECK(ReadAll("#!/bin/sh\necho hello\n").error.find("not a trace") != std::string::npos);
  CHECK(ReadAll(std::string(5'000'000, '\x0a')).error.find("not a trace") != std::string::npos);
  const Outcome absent = Drain(Reader::Open("/nonexistent/file.atrace"));
  CHECK(absent.error == "cannot open /nonexistent/file.atrace: No such file or directory");
  CHECK(Drain(Reader::Open("/")).error.find("Is a directory") != std::string::npos);
}

TEST_CASE("a file and a memory block read alike") {
  TempDir dir;
  std::vector<proto::Packet> packets = SamplePackets();
  packets[0].mutable_info()->set_host(std::string(3'000'000, 'h'));
  std::string bytes = Encode(packets);
  bytes[bytes.size() / 2] ^= 1;  // within the large packet, so that a long scan follows
  std::ofstream(dir.File()).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const Outcome from_file = Drain(Reader::Open(dir.File()));
  const Outcome from_memory = ReadAll(bytes);
  REQUIRE(from_file.opened);
  REQUIRE(from_memory.opened);
  CHECK(from_file.sequences == from_memory.sequences);
  CHECK(from_file.sequences.size() == 7);
  CHECK(from_file.stats.gaps[0].length_bytes == from_memory.stats.gaps[0].length_bytes);
}

TEST_CASE("a socket delivers packets as they come") {
  TempDir dir;
  const std::string bytes = Encode(SamplePackets());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  dir.File().copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(listen(listener, 1) == 0);
  std::thread sender([&] {
    const int peer = accept(listener, nullptr, nullptr);
    for (size_t i = 0; i < bytes.size(); i += 7) {
      const size_t count = std::min<size_t>(7, bytes.size() - i);
      if (write(peer, bytes.data() + i, count) != static_cast<ssize_t>(count)) break;
    }
    close(peer);
  });
  const Outcome outcome = Drain(Reader::Open(dir.File()));
  sender.join();
  close(listener);
  REQUIRE(outcome.opened);
  CHECK(outcome.sequences.size() == 8);
  CHECK(outcome.stats.gap_count == 0);
}

TEST_CASE("a file made to waste time ends soon") {
  // Each mark claims a megabyte, whose checksum must be computed to reject it.
  std::string unit("\x0a");
  AppendVarint(1 << 20, &unit);
  unit.append(kSyncField).append("\x10\x01");
  std::string bytes = Encode(SamplePackets(), false);
  // The claimed end of each packet is at a checksum tag.
  while (unit.size() < 32) unit.push_back('x');
  const size_t trailer = ((1 << 20) + 4 - kTrailerBytes) % unit.size();
  REQUIRE(trailer + kCrcTag.size() <= unit.size());
  unit.replace(trailer, kCrcTag.size(), kCrcTag);
  for (int i = 0; i < 200'000; ++i) bytes.append(unit);
  const Outcome outcome = ReadAll(bytes);
  REQUIRE(outcome.opened);
  CHECK(outcome.sequences.size() == 7);
  CHECK(outcome.stats.gap_count == 1);
}

TEST_CASE("times that stand alone are as limited as columns of them") {
  const auto is_sound = [](const auto& change) {
    proto::Packet packet;
    change(&packet);
    return Validate(packet, 100).ok();
  };
  for (const int64_t bad_ns : {int64_t{-1}, kMaxTimeNs + 1, INT64_MIN, INT64_MAX}) {
    CHECK_FALSE(is_sound([&](auto* p) { p->mutable_info()->set_start_ns(bad_ns); }));
    CHECK_FALSE(is_sound([&](auto* p) { p->mutable_accounts()->set_stop_ns(bad_ns); }));
    CHECK_FALSE(is_sound([&](auto* p) { p->mutable_accounts()->set_whole_since_ns(bad_ns); }));
    CHECK_FALSE(is_sound(
        [&](auto* p) { p->mutable_losses()->add_hop(1), p->mutable_losses()->add_first(bad_ns); }));
    // The ticks of a device may have any value.
    CHECK(is_sound([&](auto* p) {
      p->mutable_losses()->add_hop(1), p->mutable_losses()->add_first(bad_ns);
      p->mutable_losses()->add_in_ticks(1);
    }));
  }
  CHECK(is_sound([](auto* p) { p->mutable_info()->set_realtime_offset_ns(-5); }));
  CHECK_FALSE(is_sound([](auto* p) { p->mutable_info()->set_realtime_offset_ns(INT64_MIN); }));
  CHECK_FALSE(is_sound([](auto* p) { p->mutable_info()->set_boottime_offset_ns(INT64_MAX); }));
}

TEST_CASE("sound packets with invalid content are counted and skipped") {
  std::vector<proto::Packet> packets = SamplePackets();
  packets[3].mutable_api()->add_pid(1);               // one value for three rows
  packets[4].mutable_host()->set_kind(1, 99);         // no such kind
  packets[5].mutable_commands()->add_stall_ticks(1);  // four values for three rows
  packets[6].mutable_clocks()->set_host_before_ns_delta(0, -5);
  const Outcome outcome = ReadAll(Encode(packets));
  CHECK(outcome.sequences == std::vector<uint64_t>{1, 2, 3, 8});
  CHECK(outcome.stats.bad_packets == 4);
  CHECK(outcome.stats.gap_count == 0);
}

}  // namespace acceltrace::stream
