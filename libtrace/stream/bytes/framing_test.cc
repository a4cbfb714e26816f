// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/bytes/framing.h"

#include "libtrace/base/crc32c.h"
#include "libtrace/base/utf8.h"
#include "libtrace/stream/file/sample_trace.h"
#include "tests/catch.h"

namespace acceltrace::stream {

TEST_CASE("crc32c agrees with the published check values") {
  CHECK(Crc32c("123456789") == 0xe3069283);
  CHECK(Crc32c("") == 0);
  // RFC 3720 B.4
  CHECK(Crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(Crc32c(std::string(32, '\xff')) == 0x62a8ab43);
}

TEST_CASE("crc32c is the same with and without the instruction") {
  std::string bytes;
  uint32_t seed = 1;
  for (int i = 0; i < 300; ++i) {
    CHECK(Crc32c(bytes) == Crc32cPortable(bytes));
    seed = seed * 1664525 + 1013904223;
    bytes.push_back(static_cast<char>(seed >> 24));
  }
  // Long inputs are summed in three parts at a time.
  for (uint32_t size = 300; size < 60'000; size += size / 3 + seed % 97) {
    while (bytes.size() < size) {
      seed = seed * 1664525 + 1013904223;
      bytes.push_back(static_cast<char>(seed >> 24));
    }
    CHECK(Crc32c(bytes) == Crc32cPortable(bytes));
    const std::string_view part = std::string_view(bytes).substr(seed % 8);
    CHECK(Crc32cMore(seed, part) == Crc32cPortable(part, seed));
  }
}

TEST_CASE("varints go there and back, long forms are refused") {
  for (uint64_t value :
       {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{1} << 24, ~uint64_t{0}}) {
    std::string bytes;
    AppendVarint(value, &bytes);
    uint64_t back = 1;
    CHECK(ParseVarint(bytes, 10, &back) == bytes.size());
    CHECK(back == value);
    CHECK(ParseVarint(bytes.substr(0, bytes.size() - 1), 10, &back) == 0);
  }
  uint64_t value;
  CHECK(ParseVarint(std::string_view("\x80\x00", 2), 10, &value) == 0);
  CHECK(ParseVarint(std::string(11, '\xff'), 10, &value) == 0);
}

TEST_CASE("a frame is what protobuf itself reads as a Trace") {
  const std::string bytes = Encode(SamplePackets());
  proto::Trace trace;
  REQUIRE(trace.ParseFromString(bytes));
  REQUIRE(trace.packet_size() == 8);
  for (int i = 0; i < trace.packet_size(); ++i) {
    CHECK(trace.packet(i).sync() == kSync);
    CHECK(trace.packet(i).sequence() == static_cast<uint64_t>(i + 1));
  }
  const Frame frame = ParseFrame(bytes);
  REQUIRE(frame.state == Frame::State::kWhole);
  CHECK(frame.sequence == 1);
  CHECK(Crc32c(frame.packet.substr(0, frame.packet.size() - kTrailerBytes)) ==
        trace.packet(0).crc32c());
}

TEST_CASE("the footer points at each packet") {
  const std::string bytes = Encode(SamplePackets());
  proto::Trace trace;
  REQUIRE(trace.ParseFromString(bytes));
  const proto::Footer& footer = trace.packet(7).footer();
  REQUIRE(footer.offset_delta_size() == 7);
  uint64_t offset = 0;
  for (int i = 0; i < 7; ++i) {
    offset += footer.offset_delta(i);
    const Frame frame = ParseFrame(std::string_view(bytes).substr(offset));
    CHECK(frame.state == Frame::State::kWhole);
    CHECK(frame.sequence == static_cast<uint64_t>(i + 1));
    CHECK(footer.body(i) == static_cast<uint32_t>(trace.packet(i).body_case()));
  }
  CHECK(footer.total_events() == 13);
}

TEST_CASE("a packet over the limit is refused and takes no sequence number") {
  proto::Packet big;
  big.mutable_info()->set_host(std::string(kMaxPacketBytes, 'x'));
  PacketEncoder encoder;
  std::string bytes;
  CHECK_FALSE(encoder.Append(&big, 0, 0, &bytes));
  CHECK(bytes.empty());
  CHECK(encoder.packets() == 0);
}

TEST_CASE("strings that are not UTF-8 are made so") {
  CHECK(ToUtf8("caf\xc3\xa9 \xff\xc3") == "caf\xc3\xa9 ??");
  CHECK_FALSE(IsUtf8("\xc0\x80"));          // overlong
  CHECK_FALSE(IsUtf8("\xed\xa0\x80"));      // surrogate
  CHECK_FALSE(IsUtf8("\xf4\x90\x80\x80"));  // beyond U+10FFFF
  CHECK(IsUtf8("\xf0\x9f\x98\x80"));
  std::vector<proto::Packet> packets(1);
  packets[0].mutable_info()->add_command("a\xff");
  packets[0].mutable_info()->add_probes()->set_name("\xfe");
  proto::Trace trace;
  REQUIRE(trace.ParseFromString(Encode(packets)));
  CHECK(trace.packet(0).info().command(0) == "a?");
  CHECK(trace.packet(0).info().probes(0).name() == "?");
}

TEST_CASE("text of others cannot hide what is printed around it") {
  const std::string_view fine = "caf\xc3\xa9 \xe6\x97\xa5 e\xcc\x81 a\xe2\x80\x8d";
  CHECK(Printable(fine) == fine);
  CHECK(Printable(std::string_view("a\033[31m\r\n\t\0\x7f", 11)) == "a?[31m?????");
  CHECK(Printable("\xc2\x9b\xc2\x85") == "??");  // C1
  // Direction marks and line ends; a non-character, a byte order mark, a tag; invalid UTF-8.
  CHECK(Printable("\xe2\x80\xae|\xe2\x81\xa6|\xe2\x80\xa8") == "?|?|?");
  CHECK(Printable("\xef\xbf\xbf|\xef\xbb\xbf|\xf3\xa0\x81\x81") == "?|?|?");
  CHECK(Printable("\xff\xc3 x") == "?? x");
  size_t at = 0;
  CHECK(NextCharacter("\xf0\x9f\x98\x80", &at) == 0x1f600);
  CHECK(at == 4);
  CHECK(NextCharacter("\xe6\x97\xa5", &(at = 0)) == 0x65e5);
  CHECK(NextCharacter("\xc3\xa9", &(at = 0)) == 0xe9);
  CHECK(NextCharacter("\xe6\x97", &(at = 0)) == kNoCharacter);
  CHECK(at == 1);
}

}  // namespace acceltrace::stream
