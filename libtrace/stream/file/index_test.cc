// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/file/index.h"

#include <string>
#include <utility>
#include <vector>

#include "libtrace/stream/file/index_times.h"
#include "libtrace/stream/file/packet_times.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/sample_trace.h"
#include "libtrace/stream/file/test_batches.h"
#include "libtrace/stream/file/writer.h"
#include "tests/catch.h"

namespace acceltrace::stream {
namespace {

// Writes an index in several parts, which a writer starts after some packets.
std::string InParts(std::vector<proto::Packet> packets, int times, int each) {
  PacketEncoder encoder(each);
  std::string bytes;
  for (int n = 0; n < times; ++n) {
    for (proto::Packet& packet : packets) encoder.Append(&packet, 0, 3, &bytes);
  }
  encoder.AppendFooter(&bytes);
  return bytes;
}

TEST_CASE("An index says when the rows of its packets were") {
  for (const std::string& bytes :
       {Encode(SamplePackets()), InParts(SamplePackets(), 5, 4), InParts(SamplePackets(), 3, 7)}) {
    const auto index = FileIndex::FromMemory(bytes);
    REQUIRE(index != nullptr);
    CHECK((index->Complete() && index->Whole()));
    size_t known = 0;
    for (size_t place = 0; place < index->packets().size(); ++place) {
      const PacketTimes listed = index->Times(place);
      std::string buffer;
      std::string_view raw;
      proto::Packet packet;
      REQUIRE((index->ReadBytes(place, &buffer, &raw) && PacketDecoder::Parse(raw, &packet)));
      const PacketTimes there = TimesOf(packet);
      CHECK(listed.clock == there.clock);
      CHECK((listed.device == there.device && listed.first == there.first));
      CHECK(listed.last == there.last);
      known += listed.clock != PacketTimes::Clock::kUnknown;
    }
    CHECK(index->CountWrongTimes({}) == 0);
    CHECK(known >= 3);
  }
  const std::string whole = Encode(SamplePackets());
  const auto index = FileIndex::FromMemory(whole);
  CHECK(index->Times(3).first == 1'000'000);
  CHECK(index->Times(3).last == 1'001'100);
  CHECK(index->Times(5).first == 7'000'000'000);
}

TEST_CASE("An index that says other times than its packets do is found") {
  proto::Packet footer;
  std::string whole = Encode(SamplePackets());
  const auto reader = Reader::FromMemory(whole);
  while (stream::ReadBatch(reader->get(), &footer) == Reader::Next::kPacket &&
         !footer.has_footer()) {
  }
  REQUIRE(footer.has_footer());
  std::vector<PacketTimes> times = IndexTimesOf(footer.footer());
  REQUIRE(times[3].clock == PacketTimes::Clock::kHost);
  times[3].first += 5;
  SetIndexTimes(times, footer.mutable_footer());
  PacketEncoder encoder;
  std::string bytes;
  std::vector<proto::Packet> packets = SamplePackets();
  for (proto::Packet& packet : packets) encoder.Append(&packet, 0, 3, &bytes);
  encoder.Append(&footer, 0, 0, &bytes);
  const auto index = FileIndex::FromMemory(bytes);
  REQUIRE(index != nullptr);
  CHECK((index->Complete() && index->Whole()));
  CHECK(index->CountWrongTimes({}) == 1);  // packets that a reader did not see are read
  const auto again = Reader::FromMemory(bytes);
  (*again)->KeepTimes();
  while (stream::ReadBatch(again->get(), &footer) == Reader::Next::kPacket) {
  }
  std::vector<SeenTimes> seen = (*again)->stats().times;
  REQUIRE(seen.size() >= 2);
  CHECK(index->CountWrongTimes(seen) == 1);
  // The last two are the footer that was appended as a packet and the packet before it.
  SeenTimes& other = seen[seen.size() - 3];
  other.times.last += 1;
  CHECK(index->CountWrongTimes(seen) == 2);
  other.offset_bytes += 1;  // is not a packet's
  CHECK(index->CountWrongTimes(seen) == 1);
  other.offset_bytes -= 1, other.end_bytes += 1'000'000;  // longer than the packet is
  CHECK(index->CountWrongTimes(seen) == 1);
}

TEST_CASE("What was taken back is not in the index's times either") {
  std::vector<proto::Packet> packets = SamplePackets();
  PacketEncoder encoder(3);
  std::string bytes;
  for (size_t i = 0; i < 5; ++i) encoder.Append(&packets[i], 0, 3, &bytes);
  const size_t kept = bytes.size();
  encoder.Append(&packets[5], 0, 3, &bytes);
  encoder.TruncateTo(kept);
  bytes.resize(kept);
  encoder.Append(&packets[6], 0, 3, &bytes);
  encoder.AppendFooter(&bytes);
  const auto index = FileIndex::FromMemory(bytes);
  REQUIRE(index != nullptr);
  CHECK(index->packets().size() == 6);
  CHECK(index->Times(4).first == 1'000'050);
  CHECK(index->Times(5).clock == PacketTimes::Clock::kUnknown);
  // An earlier packet is missing.
  CHECK_FALSE(index->Complete());
}

TEST_CASE("Packets that are read are those of the index, others may be damaged") {
  std::string bytes = Encode(SamplePackets());
  const auto places = FileIndex::FromMemory(bytes)->packets();
  // The last byte of a column of the API calls.
  char& byte = bytes[places[3].end_bytes - 12];
  byte = static_cast<char>(byte ^ 1);
  const auto index = FileIndex::FromMemory(bytes);
  REQUIRE(index != nullptr);
  CHECK(index->Complete());
  CHECK_FALSE(index->Whole());
  proto::Packet packet;
  PacketDecoder decoder;
  CHECK_FALSE(index->Read(3, &decoder, &packet));
  CHECK(index->Read(4, &decoder, &packet));
  // Replaces it by another packet with a correct checksum.
  std::vector<proto::Packet> others = SamplePackets();
  others[4].mutable_host()->set_job(0, 7);
  const std::string other = Encode(others);
  REQUIRE(other.size() == bytes.size());
  bytes.replace(places[4].offset_bytes, places[4].end_bytes - places[4].offset_bytes, other,
                places[4].offset_bytes, places[4].end_bytes - places[4].offset_bytes);
  CHECK_FALSE(FileIndex::FromMemory(bytes)->Read(4, &decoder, &packet));
}

TEST_CASE("A file is whole if each of its bytes is as it was written") {
  size_t whole = 0, damaged = 0;
  for (const std::string& bytes : {Encode(SamplePackets()), InParts(SamplePackets(), 5, 4)}) {
    const auto check = [&](const std::string& changed) {
      const auto index = FileIndex::FromMemory(changed);
      if (index != nullptr) ++(index->Whole() ? whole : damaged);
    };
    check(bytes);
    for (size_t bit = 0; bit < 8 * bytes.size(); bit += 5) {
      std::string changed = bytes;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
      check(changed);
    }
    for (size_t at = 0; at < bytes.size(); at += 7) {
      check(bytes.substr(0, at) + bytes.substr(at + 1));
      if (at > 0) check(bytes.substr(at));
      check(bytes.substr(0, at) + 'x' + bytes.substr(at));
    }
  }
  CHECK(whole == 2);
  CHECK(damaged > 200);
}

}  // namespace
}  // namespace acceltrace::stream
