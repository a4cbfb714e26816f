// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/file/pack_trace.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "libtrace/stream/bytes/pack.h"
#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/block_writer.h"
#include "libtrace/stream/columns/packed.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/sample_trace.h"
#include "libtrace/stream/file/test_batches.h"
#include "tests/catch.h"

namespace acceltrace::stream {
namespace {

using proto::Block;

// Generates consecutive commands of a queue on three units, with some gaps.
RowColumns Commands(size_t rows, uint32_t seed) {
  std::mt19937_64 random(seed);
  RowColumns columns;
  columns.rows = rows;
  uint64_t fetched = uint64_t{0} - 5'000,
           ends[3] = {fetched, fetched, fetched};  // close to the wrap
  for (size_t row = 0; row < rows; ++row) {
    const size_t unit = random() % 3;
    fetched += random() % 100;
    const uint64_t late = ends[unit] - fetched;
    const uint64_t head = (late >> 63 != 0 ? 0 : late) + (random() % 7 == 0 ? random() % 50 : 0);
    const uint64_t wait = random() % 3 == 0 ? random() % 1000 : 0, length = 90 + random() % 3;
    ends[unit] = fetched + head + wait + length;
    const auto put = [&](int column, uint64_t value) { columns.columns[column].push_back(value); };
    put(Block::COLUMN_FETCHED_TICKS, fetched);
    put(Block::COLUMN_HEAD_TICKS_AFTER, head);
    put(Block::COLUMN_START_TICKS_AFTER, wait);
    put(Block::COLUMN_END_TICKS_AFTER, length);
    put(Block::COLUMN_UNIT, unit);
    put(Block::COLUMN_JOB, 1 + row / 20);
    put(Block::COLUMN_CORRELATION, (uint64_t{77} << 32) + row / 20);
    put(Block::COLUMN_STALL_TICKS, wait);
    put(Block::COLUMN_WORK, seed % 2 == 0 ? random() : 4096);
  }
  return columns;
}

proto::Packet PackedCommands(const RowColumns& columns) {
  proto::Packet packet;
  packet.mutable_packed_block()->set_table(Block::TABLE_COMMANDS);
  packet.mutable_packed_block()->set_stalls(1);
  REQUIRE(Packing().Pack(columns, packet.mutable_packed_block()));
  return packet;
}

TEST_CASE("what is packed is what a reader unpacks") {
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    const RowColumns columns = Commands(seed == 6 ? kMaxBlockRows : 1 + seed * 37, seed);
    const proto::Packet packet = PackedCommands(columns);
    BlockColumns back;
    const Status status = back.DecodePacked(packet.packed_block());
    INFO("seed " << seed << ": " << status.message());
    REQUIRE(status.ok());
    size_t wrong = 0;
    for (size_t column = 0; column < BlockColumns::kKnown; ++column) {
      for (size_t row = 0; row < columns.columns[column].size(); ++row) {
        wrong += back.At(static_cast<int>(column), row) != columns.columns[column][row];
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a head that is where the unit became free takes no room") {
  const proto::Packet packet = PackedCommands(Commands(5000, 1));
  const Block& block = packet.packed_block();
  int at = 0;
  while (block.column(at) != Block::COLUMN_HEAD_TICKS_AFTER) ++at;
  CHECK(block.mode(at) == Block::MODE_UNIT);
  CHECK(block.data().size() < 5000 * 5);
  CHECK(block.data().size() + block.filling().size() >= LeastPackedBytes(1, 5000));
}

TEST_CASE("impossible packed blocks are refused before anything is allocated for them") {
  const proto::Packet good = PackedCommands(Commands(200, 3));
  const auto unpacks = [](const Block& block) {
    proto::Packet packet;
    *packet.mutable_packed_block() = block;
    return ToBatch(&packet).ok();
  };
  REQUIRE(unpacks(good.packed_block()));
  std::vector<Block> bad(9, good.packed_block());
  bad[0].set_rows(199);  // differs from the size in the frame
  bad[1].set_rows(1 << 20);
  bad[2].set_width(0, 65);
  bad[3].set_mode(0, Block::MODE_SPARSE);
  bad[4].mutable_data()->pop_back();
  bad[5].mutable_data()->at(8) ^= 0x55;
  bad[6].set_data("");
  bad[7].add_column(Block::COLUMN_TAG);
  bad[8].set_rows(0);
  for (size_t i = 0; i < bad.size(); ++i) {
    INFO("block " << i);
    CHECK_FALSE(unpacks(bad[i]));
  }
  Block thin = good.packed_block();  // all rows are equal, and there is no filling
  thin.clear_column(), thin.clear_width(), thin.clear_mode(), thin.clear_base();
  thin.clear_start(), thin.clear_reference(), thin.clear_data(), thin.clear_filling();
  CHECK_FALSE(unpacks(thin));
  thin.set_filling(std::string(LeastPackedBytes(Block::TABLE_COMMANDS, 200), '\0'));
  CHECK(unpacks(thin));
}

TEST_CASE("a body that is packed comes back, within bounds") {
  proto::Packet ranges, packed;
  for (int i = 0; i < 5000; ++i) {
    ranges.mutable_ranges()->add_begin_ns_delta(1000 + i % 3);
    ranges.mutable_ranges()->add_duration_ns(50);
  }
  REQUIRE(Packing().Pack(ranges, &packed));
  proto::Packet back = packed;
  REQUIRE(Unpack(&back).ok());
  CHECK(Rows(back) == 5000);
  CHECK(back.SerializeAsString() == ranges.SerializeAsString());
  // Ranges take at least 4 bytes each, and a third of that when packed.
  CHECK(packed.packed().data().size() + packed.packed().filling().size() >= (5000 - 64) * 4 / 3);
  for (int i = 0; i < 5; ++i) {
    back = packed;
    proto::Packed& bad = *back.mutable_packed();
    if (i == 0) bad.set_size(bad.size() + 1);
    if (i == 1) bad.clear_filling(), bad.set_size(1 << 23);
    if (i == 2) bad.mutable_data()->pop_back();
    if (i == 3) bad.set_size(0);
    if (i == 4) bad.set_body(proto::Packet::kInfo);
    const bool read = Unpack(&back).ok();
    CHECK((i == 4 ? read && back.body_case() == proto::Packet::BODY_NOT_SET : !read));
  }
  back = packed;
  back.mutable_packed()->set_codec(9);  // of a newer version
  CHECK((Unpack(&back).ok() && back.body_case() == proto::Packet::BODY_NOT_SET));
}

// A file in the temporary folder of the test.
class Scratch {
 public:
  explicit Scratch(const std::string& bytes) : name_("/tmp/pack_test." + std::to_string(getpid())) {
    std::ofstream(name_, std::ios::binary) << bytes;
  }
  ~Scratch() { std::remove(name_.c_str()); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

std::string Repacked(const std::string& bytes) {
  const Scratch file(bytes);
  std::string out;
  const auto packed = PackTrace(file.name(), [&](std::string_view more) {
    out += more;
    return Status();
  });
  INFO(packed.message());
  REQUIRE(packed.ok());
  CHECK(packed.value().before_bytes == bytes.size());
  CHECK(packed.value().after_bytes == out.size());
  return out;
}

// Returns the content of a trace's rows by kind: it may be divided into packets differently.
std::map<int, std::vector<uint64_t>> RowsOf(const std::string& bytes) {
  auto reader = Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  std::map<int, std::vector<uint64_t>> all_rows;
  proto::Packet packet;
  while (stream::ReadBatch(reader.value().get(), &packet) == Reader::Next::kPacket) {
    if (packet.has_footer() || packet.has_index()) continue;
    std::vector<uint64_t>& rows = all_rows[packet.body_case()];
    const auto add = [&](const auto& column) {
      rows.insert(rows.end(), column.begin(), column.end());
    };
    if (packet.has_commands()) {
      const auto& batch = packet.commands();
      add(DecodeDeltas<uint64_t>(batch.fetched_ticks_delta(), Rows(packet)));
      add(DecodeColumn(batch.stall_ticks(), Rows(packet)));
      add(DecodeColumn(batch.job(), Rows(packet)));
    } else if (packet.has_api()) {
      const auto& batch = packet.api();
      add(DecodeDeltas<uint64_t>(batch.begin_ns_delta(), Rows(packet)));
      add(DecodeColumn(batch.duration_ns(), Rows(packet)));
    } else {
      rows.push_back(std::hash<std::string>()([&] {
        packet.clear_sync(), packet.clear_sequence(), packet.clear_crc32c();
        return packet.SerializeAsString();
      }()));
    }
  }
  const ReadStats& stats = reader.value()->stats();
  CHECK(stats.index_note == "");
  CHECK((stats.has_footer && stats.bad_packets + stats.unknown_packets + stats.gap_count == 0));
  return all_rows;
}

TEST_CASE("a trace says the same once it is packed, and once more") {
  std::vector<proto::Packet> packets = SamplePackets();
  const std::string small = Encode(packets);
  CHECK(RowsOf(Repacked(small)) == RowsOf(small));
  // Small blocks, as a daemon writes them.
  std::mt19937 random(4);
  for (int i = 0; i < 40; ++i) {
    proto::Packet packet;
    Block& block = *packet.mutable_block();
    block.set_table(Block::TABLE_COMMANDS);
    block.set_stalls(1);
    const size_t rows = 1 + random() % 900;
    std::vector<uint64_t> fetched(RoundToLanes(rows)), job(fetched.size());
    for (size_t row = 0; row < rows; ++row) fetched[row] = 1'000'000 * i + 500 * row + random() % 9;
    for (size_t row = 0; row < rows; ++row) job[row] = row / 10;
    BlockWriter writer;
    writer.Begin(&block, rows);
    writer.Delta(Block::COLUMN_FETCHED_TICKS, fetched.data());
    if (i % 3 != 0) writer.Wide(Block::COLUMN_JOB, job.data());
    writer.Finish();
    packets.push_back(std::move(packet));
  }
  const std::string raw = Encode(packets), packed = Repacked(raw);
  CHECK(packed.size() * 2 < raw.size());
  // The stall ticks of the sample are in another block; rows of one kind keep their order.
  CHECK(RowsOf(packed)[proto::Packet::kApi] == RowsOf(raw)[proto::Packet::kApi]);
  size_t rows = 0, wanted = 0;
  for (const uint64_t one : RowsOf(packed)[proto::Packet::kCommands]) rows += one;
  for (const uint64_t one : RowsOf(raw)[proto::Packet::kCommands]) wanted += one;
  CHECK(rows == wanted);
  CHECK(RowsOf(Repacked(packed)) == RowsOf(packed));
}

TEST_CASE("a trace that is damaged or not finished is not packed") {
  const std::string whole = Encode(SamplePackets());
  std::string flipped = whole;
  flipped[flipped.size() / 2] ^= 1;
  for (const std::string& bytes :
       {flipped, whole.substr(0, whole.size() - 3), Encode(SamplePackets(), false)}) {
    const Scratch file(bytes);
    size_t written = 0;
    const auto packed = PackTrace(file.name(), [&](std::string_view more) {
      written += more.size();
      return Status();
    });
    CHECK_FALSE(packed.ok());
    CHECK(packed.message().find("stays as it is") != std::string::npos);
    CHECK(written == 0);
  }
}

TEST_CASE("the index comes in parts, each of which is compared with the packets") {
  PacketEncoder encoder(10);
  std::string bytes;
  std::vector<uint64_t> ends;
  const auto append = [&] {
    proto::Packet packet;
    packet.mutable_strings()->add_id(1);
    packet.mutable_strings()->add_value("a string");
    REQUIRE(encoder.Append(&packet, 5, 1, &bytes));
    ends.push_back(encoder.bytes());
  };
  for (int i = 0; i < 47; ++i) append();
  // Back to after a part of the index, as with a full disk.
  encoder.TruncateTo(ends[37]);
  bytes.resize(ends[37]);
  for (int i = 0; i < 20; ++i) append();
  encoder.AppendFooter(&bytes);
  const auto read = [](const std::string& from) {
    auto reader = Reader::FromMemory(from);
    REQUIRE(reader.ok());
    proto::Packet packet;
    uint64_t parts = 0, listed = 0;
    while (stream::ReadBatch(reader.value().get(), &packet) == Reader::Next::kPacket) {
      parts += packet.has_index();
      if (packet.has_footer()) {
        listed = packet.footer().earlier_packets() +
                 static_cast<uint64_t>(packet.footer().offset_delta_size());
      }
    }
    return std::make_tuple(reader.value()->stats(), parts, listed);
  };
  {
    const auto [stats, parts, listed] = read(bytes);
    CHECK(parts == 6);
    CHECK(listed == 58 + parts);
    // Only the sequence numbers of the truncated packets are missing, and the index has no other
    // error.
    CHECK(stats.missing_packets == 10);
  }
  PacketEncoder other(10);
  std::string whole;
  std::vector<std::string> frames;
  for (int i = 0; i < 35; ++i) {
    proto::Packet packet;
    packet.mutable_strings()->add_id(static_cast<uint32_t>(i));
    packet.mutable_strings()->add_value("a string");
    REQUIRE(other.Append(&packet, 5, 1, &whole));
  }
  other.AppendFooter(&whole);
  {
    const auto [stats, parts, listed] = read(whole);
    CHECK(stats.index_note == "");
    CHECK(parts == 3);
    CHECK(listed == 38);
  }
}

}  // namespace
}  // namespace acceltrace::stream
