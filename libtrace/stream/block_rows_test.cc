// SPDX-License-Identifier: Apache-2.0
//
// The rows of a block, with a batch between them and without.
#include "libtrace/stream/block_rows.h"

#include <random>
#include <vector>

#include "libtrace/stream/block.h"
#include "libtrace/stream/block_writer.h"
#include "libtrace/stream/columns.h"
#include "libtrace/stream/pack.h"
#include "libtrace/stream/packed.h"
#include "libtrace/stream/validate.h"
#include "tests/catch.h"

namespace acceltrace::stream {
namespace {

using proto::Block;
using proto::Packet;

constexpr size_t kWorth = size_t{1} << 20;

Packet BlockOf(uint32_t table, const std::vector<int>& columns, size_t rows,
               std::mt19937_64& random, int stalls = 0) {
  Packet packet;
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
  }
  writer.Finish();
  return packet;
}

template <typename Batch>
void RequireAlike(const TableRows& rows, const Batch& batch) {
  const TableRows from(batch);
  REQUIRE(rows.rows() == from.rows());
  REQUIRE(rows.stalls() == from.stalls());
  std::vector<uint32_t> a(rows.rows()), b(rows.rows());
  std::vector<uint64_t> wide_a(rows.rows()), wide_b(rows.rows());
  for (int column = 1; column < static_cast<int>(TableRows::kColumns); ++column) {
    INFO("column " << column);
    rows.Read(column, a.data()), from.Read(column, b.data());
    REQUIRE(a == b);
    // Those that a batch has 32 bits for are cut to them.
    rows.Read(column, wide_a.data()), from.Read(column, wide_b.data());
    if (wide_a != wide_b) REQUIRE(std::vector<uint64_t>(b.begin(), b.end()) == wide_b);
  }
}

void RequireAlike(Packet packet, bool packed) {
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
    block.set_table(packet.block().table()), block.set_device(packet.block().device());
    block.set_stalls(packet.block().stalls());
    Packing packing;
    REQUIRE(packing.Pack(rows, &block));
    packet = smaller;
  }
  Packet batch = packet;
  uint64_t rows = 0;
  REQUIRE(Expand(&batch, &rows).ok());
  REQUIRE(Validate(batch, kWorth).ok());
  REQUIRE(BlockRows::Knows(packet));
  static BlockRows direct;  // as a reader has it: its room is used again
  REQUIRE(direct.Decode(kWorth, &packet).ok());
  REQUIRE(packet.body_case() == batch.body_case());
  if (batch.has_commands()) {
    CHECK(packet.commands().device() == batch.commands().device());
    RequireAlike(direct.rows(), batch.commands());
  } else if (batch.has_jobs()) {
    RequireAlike(direct.rows(), batch.jobs());
  } else {
    RequireAlike(direct.rows(), batch.api());
  }
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
      RequireAlike(BlockOf(Block::TABLE_COMMANDS, commands, rows, random, 3), packed);
      RequireAlike(BlockOf(Block::TABLE_DEVICE_JOBS, jobs, rows, random), packed);
      RequireAlike(BlockOf(Block::TABLE_API_CALLS, calls, rows, random), packed);
    }
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
    BlockRows rows;
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
