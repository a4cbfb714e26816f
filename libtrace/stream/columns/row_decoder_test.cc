// SPDX-License-Identifier: Apache-2.0
//
// Compares the rows of blocks with those of batches of the same content.
#include "libtrace/stream/columns/row_decoder.h"

#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "libtrace/stream/bytes/pack.h"
#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/block_writer.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/packed.h"
#include "libtrace/stream/columns/validate.h"
#include "libtrace/stream/file/test_batches.h"
#include "tests/catch.h"

namespace acceltrace::stream {
namespace {

using proto::Block;
using proto::Packet;

constexpr size_t kWorth = size_t{1} << 20;

using Values = std::map<int, std::vector<uint64_t>>;

// *all: receives the values of its columns.
Packet BlockOf(uint32_t table, const std::vector<int>& columns, size_t rows,
               std::mt19937_64& random, int stalls, Values* all) {
  Packet packet;
  all->clear();
  Block* block = packet.mutable_block();
  block->set_table(table), block->set_device(3), block->set_stalls(static_cast<uint32_t>(stalls));
  BlockWriter writer;
  writer.Begin(block, rows);
  for (const int column : columns) {
    std::vector<uint64_t> values(RoundToLanes(rows) + kLanes);
    const int shift = static_cast<int>(random() % 64);
    for (uint64_t& value : values) value = random() >> shift;
    if (column == Block::COLUMN_UNIT) {
      for (uint64_t& value : values) value %= 64;
    }
    if (column == Block::COLUMN_HAS_IRQ) {
      for (uint64_t& value : values) value %= 2;
    }
    if (column == Block::COLUMN_BEGIN_NS) {
      for (uint64_t& value : values) value >>= 2;
    }
    const auto which = static_cast<Block::Column>(column);
    random() % 2 == 0 ? writer.Delta(which, values.data()) : writer.Wide(which, values.data());
    values.resize(rows);
    (*all)[column] = std::move(values);
  }
  writer.Finish();
  return packet;
}

void RequireValues(const TableRows& rows, size_t count, const Values& all) {
  REQUIRE(rows.rows() == count);
  std::vector<uint64_t> wide(count);
  std::vector<uint32_t> narrow(count);
  for (int column = 1; column < static_cast<int>(TableRows::kColumns); ++column) {
    INFO("column " << column);
    const auto known = all.find(column);
    const auto& values = known == all.end() ? std::vector<uint64_t>(count) : known->second;
    rows.Read(column, wide.data()), rows.Read(column, narrow.data());
    for (size_t row = 0; row < count; ++row) {
      REQUIRE(narrow[row] == static_cast<uint32_t>(values[row]));
      // A batch only has 32 bits of some columns.
      if (wide[row] != narrow[row]) REQUIRE(wide[row] == values[row]);
    }
  }
}

// Compares a block, packed or not, with its batch.
void RequireAlike(Packet packet, bool packed, const Values& all) {
  const size_t count = packet.block().rows(), stalls = packet.block().stalls();
  const uint32_t device = packet.block().device();
  if (packed) {
    BlockColumns columns;
    REQUIRE(columns.Decode(packet.block()).ok());
    RowColumns rows;
    rows.rows = columns.rows();
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      rows.columns[i] = columns.AllOf(static_cast<int>(i));
    }
    Packet smaller;
    Block& block = *smaller.mutable_packed_block();
    block.set_table(packet.block().table()), block.set_device(device);
    block.set_stalls(packet.block().stalls());
    Packing packing;
    REQUIRE(packing.Pack(rows, &block));
    packet = smaller;
  }
  static RowDecoder decoder;  // reused as in a reader
  REQUIRE(RowDecoder::Knows(packet));
  REQUIRE(decoder.Decode(kWorth, &packet).ok());
  CHECK(decoder.written_rows() == count);
  CHECK(decoder.rows().stalls() == stalls);
  RequireValues(decoder.rows(), count, all);
  if (packet.has_commands()) CHECK(packet.commands().device() == device);
  FillBatch(&decoder.rows(), &packet);
  REQUIRE(Rows(packet) == count);
  static RowDecoder other;
  REQUIRE(other.Decode(kWorth, &packet).ok());
  CHECK(other.rows().stalls() == stalls);
  RequireValues(other.rows(), count, all);
}

TEST_CASE("rows of a block are those of its batch") {
  std::mt19937_64 random(17);
  const std::vector<int> commands = {Block::COLUMN_FETCHED_TICKS,
                                     Block::COLUMN_HEAD_TICKS_AFTER,
                                     Block::COLUMN_UNIT,
                                     Block::COLUMN_JOB,
                                     Block::COLUMN_WORK,
                                     Block::COLUMN_CORRELATION,
                                     Block::COLUMN_STALL_TICKS + 1,
                                     Block::COLUMN_STALL_TICKS + 2};
  const std::vector<int> jobs = {Block::COLUMN_DOORBELL_TICKS, Block::COLUMN_RECORD,
                                 Block::COLUMN_HAS_IRQ, Block::COLUMN_IRQ_TICKS_AFTER};
  const std::vector<int> calls = {Block::COLUMN_BEGIN_NS, Block::COLUMN_PID, Block::COLUMN_RESULT};
  for (const size_t rows : {1, 7, 8, 255, 256, 257, 3000}) {
    for (const bool packed : {false, true}) {
      INFO(rows << " rows, " << (packed ? "packed" : "not packed"));
      Values all;
      Packet block = BlockOf(Block::TABLE_COMMANDS, commands, rows, random, 3, &all);
      RequireAlike(block, packed, all);
      block = BlockOf(Block::TABLE_DEVICE_JOBS, jobs, rows, random, 0, &all);
      RequireAlike(block, packed, all);
      block = BlockOf(Block::TABLE_API_CALLS, calls, rows, random, 0, &all);
      RequireAlike(block, packed, all);
    }
  }
}

// A block of columns in every mode of blocks, and the values that docs/stream.md defines for them.
struct Described {
  Block block;
  std::map<int, std::vector<uint64_t>> values;
};

Described Describe(std::mt19937_64* random) {
  Described made;
  Block& block = made.block;
  const size_t rows = 1 + (*random)() % ((*random)() % 4 == 0 ? 5000 : 70);
  block.set_rows(static_cast<uint32_t>(rows));
  std::string data;
  const size_t columns = 1 + (*random)() % 12;
  for (int column = 1; column <= static_cast<int>(columns); ++column) {
    if ((*random)() % 4 == 0) continue;
    constexpr uint32_t kWidths[] = {0, 1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 48, 64};
    const uint32_t width = kWidths[(*random)() % std::size(kWidths)];
    constexpr uint64_t kBases[] = {0, 3, 1000, uint64_t{1} << 31, uint64_t{1} << 40};
    uint64_t base = kBases[(*random)() % std::size(kBases)];
    if ((*random)() % 3 == 0) base = 0 - base;
    std::vector<uint64_t> numbers(rows);
    for (uint64_t& number : numbers) {
      number = width == 0 ? 0 : (*random)() >> (64 - width);
      if ((*random)() % 8 == 0 && width > 0) number = ~uint64_t{0} >> (64 - width);
    }
    uint32_t mode = (*random)() % 3 == 0 ? Block::MODE_OFFSET : Block::MODE_DELTA;
    if ((*random)() % 3 == 0 && !made.values.empty()) mode = Block::MODE_REFERENCE;
    block.add_column(static_cast<uint32_t>(column)), block.add_width(width);
    block.add_mode(mode), block.add_base(base);
    stream::Pack(numbers.data(), rows, width, &data);
    if (mode == Block::MODE_DELTA) {
      block.add_start((*random)());
      uint64_t before = block.start(block.start_size() - 1);
      for (uint64_t& number : numbers) before = number += before + base;
    } else {
      const std::vector<uint64_t>* other = nullptr;
      if (mode == Block::MODE_REFERENCE) {
        auto which = made.values.begin();
        std::advance(which, (*random)() % made.values.size());
        block.add_reference(static_cast<uint32_t>(which->first)), other = &which->second;
      }
      for (size_t row = 0; row < rows; ++row) {
        numbers[row] += base + (other != nullptr ? (*other)[row] : 0);
      }
    }
    made.values[column] = std::move(numbers);
  }
  data.resize(std::max(data.size(), rows * 16));
  block.set_data(data);
  return made;
}

TEST_CASE("columns of a block are what they are described as, whatever was there before") {
  std::mt19937_64 random(23);
  BlockColumns columns;
  for (int times = 0; times < 3000; ++times) {
    const Described made = Describe(&random);
    const Status status = columns.Decode(made.block);
    INFO(times << ": " << status.message());
    REQUIRE(status.ok());
    size_t wrong = 0;
    for (int column = 1; column < static_cast<int>(BlockColumns::kKnown); ++column) {
      const auto known = made.values.find(column);
      REQUIRE(columns.has(column) == (known != made.values.end()));
      const std::vector<uint64_t> none(known == made.values.end() ? columns.rows() : 0, 0);
      const std::vector<uint64_t>& values = none.empty() ? known->second : none;
      for (size_t row = 0; row < columns.rows(); ++row) {
        wrong += columns.At(column, row) != values[row];
      }
      std::vector<uint64_t> part(columns.rows() / 2);
      columns.of(column).Read(columns.rows() / 3, part.size(), part.data());
      for (size_t i = 0; i < part.size(); ++i) wrong += part[i] != values[columns.rows() / 3 + i];
      if (column > 12) break;
    }
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("what a batch may not say a block may not either") {
  std::mt19937_64 random(19);
  const auto decode = [](uint32_t table, Block::Column column, uint64_t value, size_t worth) {
    Packet packet;
    packet.mutable_block()->set_table(table);
    BlockWriter writer;
    std::vector<uint64_t> values(128, value);
    writer.Begin(packet.mutable_block(), 100);
    writer.Wide(column, values.data());
    writer.Finish();
    RowDecoder rows;
    return rows.Decode(worth, &packet).ok();
  };
  CHECK(decode(Block::TABLE_COMMANDS, Block::COLUMN_UNIT, 63, kWorth));
  CHECK_FALSE(decode(Block::TABLE_COMMANDS, Block::COLUMN_UNIT, 64, kWorth));
  CHECK_FALSE(decode(Block::TABLE_COMMANDS, Block::COLUMN_UNIT, 63, 100));
  CHECK_FALSE(decode(Block::TABLE_DEVICE_JOBS, Block::COLUMN_HAS_IRQ, 2, kWorth));
  CHECK(decode(Block::TABLE_API_CALLS, Block::COLUMN_BEGIN_NS, kMaxTimeNs, kWorth));
  CHECK_FALSE(decode(Block::TABLE_API_CALLS, Block::COLUMN_BEGIN_NS, kMaxTimeNs + 1, kWorth));
  CHECK_FALSE(decode(Block::TABLE_API_CALLS, Block::COLUMN_DURATION_NS, kMaxTimeNs + 1, kWorth));
  CHECK_FALSE(decode(Block::TABLE_API_CALLS, Block::COLUMN_OPEN, 2, kWorth));
}

}  // namespace
}  // namespace acceltrace::stream
