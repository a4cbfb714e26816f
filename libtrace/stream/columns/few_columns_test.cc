// SPDX-License-Identifier: Apache-2.0
//
// Some columns of a packet have the same values as those of its parsed message.
#include "libtrace/stream/columns/few_columns.h"

#include <random>
#include <string>
#include <vector>

#include "libtrace/stream/bytes/pack.h"
#include "libtrace/stream/columns/batches.h"
#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/block_writer.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/packed.h"
#include "libtrace/stream/file/test_batches.h"
#include "tests/catch.h"

namespace acceltrace::stream {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using proto::Block;
using proto::Packet;

// Returns the values of a column of a batch in the form that FewColumns returns.
std::vector<uint64_t> ValuesOf(const Message& batch, const FieldDescriptor* field, size_t rows) {
  std::vector<uint64_t> values(rows);
  const auto& reflection = *batch.GetReflection();
  const bool deltas = field->name().ends_with("_delta");
  const int size = reflection.FieldSize(batch, field);
  uint64_t before = 0;
  for (int i = 0; i < size; ++i) {
    uint64_t value = 0;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        value = static_cast<uint64_t>(reflection.GetRepeatedInt64(batch, field, i));
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        value = static_cast<uint32_t>(reflection.GetRepeatedInt32(batch, field, i));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        value = reflection.GetRepeatedUInt32(batch, field, i);
        break;
      default:
        value = reflection.GetRepeatedUInt64(batch, field, i);
    }
    values[static_cast<size_t>(i)] = deltas ? before += value : value;
  }
  return values;
}

// Fills each possible column with random values, or leaves it empty.
void Fill(Message* batch, int rows, std::mt19937_64& random) {
  const auto& reflection = *batch->GetReflection();
  bool first = true;
  for (int f = 0; f < batch->GetDescriptor()->field_count(); ++f) {
    const FieldDescriptor* field = batch->GetDescriptor()->field(f);
    if (!field->is_repeated() || field->name() == "stall_ticks") continue;
    if (!std::exchange(first, false) && random() % 3 == 0) continue;
    const int shift = random() % 2 == 0 ? 57 : static_cast<int>(random() % 60);
    const std::string& name = field->name();
    // Kinds, units and flags have small values, and times are bounded.
    const bool small = name == "kind" || name == "unit" || name == "device" || name == "has_irq" ||
                       name == "open" || name == "began_before" || name == "in_flight";
    const bool time = name.find("_ns") != std::string::npos;
    for (int i = 0; i < rows; ++i) {
      const uint64_t value = small ? random() % 2 : time ? 60 + random() % 1000 : random() >> shift;
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_INT64:
          reflection.AddInt64(batch, field, static_cast<int64_t>(value) - 60);
          break;
        case FieldDescriptor::CPPTYPE_INT32:
          reflection.AddInt32(batch, field, static_cast<int32_t>(value));
          break;
        case FieldDescriptor::CPPTYPE_UINT32:
          reflection.AddUInt32(batch, field, static_cast<uint32_t>(value));
          break;
        default:
          reflection.AddUInt64(batch, field, value);
      }
    }
  }
}

// Selects some of the fields that have columns, always including the first.
std::vector<uint32_t> SomeOf(const Message& batch, std::mt19937_64& random) {
  std::vector<uint32_t> fields;
  for (int f = 0; f < batch.GetDescriptor()->field_count(); ++f) {
    const FieldDescriptor* field = batch.GetDescriptor()->field(f);
    if (!field->is_repeated() || field->name() == "stall_ticks") continue;
    if (fields.empty() || random() % 2 == 0)
      fields.push_back(static_cast<uint32_t>(field->number()));
  }
  return fields;
}

void RequireSame(const Packet& packet, uint32_t body, const Message& batch, size_t rows,
                 std::mt19937_64& random) {
  FewColumns columns(body, SomeOf(batch, random));
  const std::string bytes = packet.SerializeAsString();
  // The second time, the memory of the first one is reused.
  for (int round = 0; round < 2; ++round) {
    REQUIRE(columns.Open(bytes));
    REQUIRE(columns.rows() == rows);
    size_t done = 0;
    while (const size_t part = columns.Next()) {
      for (size_t f = 0; f < columns.fields().size(); ++f) {
        // Not all fields are read in each part.
        if (f > 0 && random() % 3 == 0) continue;
        const auto* field =
            batch.GetDescriptor()->FindFieldByNumber(static_cast<int>(columns.fields()[f]));
        const auto wanted = ValuesOf(batch, field, rows);
        const uint64_t* values = columns.Column(f);
        INFO(field->full_name() << " from row " << done);
        REQUIRE(std::equal(values, values + part, wanted.begin() + static_cast<ptrdiff_t>(done)));
      }
      done += part;
    }
    REQUIRE(done == rows);
  }
}

TEST_CASE("Some columns of a batch are those that protobuf reads") {
  std::mt19937_64 random(1);
  for (const uint32_t body : {Packet::kCommands, Packet::kJobs, Packet::kHost, Packet::kApi}) {
    for (const int rows : {1, 2, 3, 5, 7, 20, 1'000, 1'024, 1'025, 5'000}) {
      Packet packet;
      const auto* field = Packet::descriptor()->FindFieldByNumber(static_cast<int>(body));
      Message* batch = packet.GetReflection()->MutableMessage(&packet, field);
      Fill(batch, rows, random);
      const Packet before = packet;
      RequireSame(packet, body, *Body(before), static_cast<size_t>(rows), random);
      Packet packed;
      Packing packing;
      if (!packing.Pack(before, &packed)) continue;
      RequireSame(packed, body, *Body(before), static_cast<size_t>(rows), random);
    }
  }
}

TEST_CASE("Some columns of a block are those of its batch") {
  std::mt19937_64 random(2);
  constexpr int kCommands[] = {Block::COLUMN_FETCHED_TICKS,
                               Block::COLUMN_HEAD_TICKS_AFTER,
                               Block::COLUMN_START_TICKS_AFTER,
                               Block::COLUMN_UNIT,
                               Block::COLUMN_JOB,
                               Block::COLUMN_BYTES};
  for (const size_t rows : {size_t{1}, size_t{100}, size_t{3'000}}) {
    Packet packet;
    Block* block = packet.mutable_block();
    block->set_table(Block::TABLE_COMMANDS), block->set_device(3);
    BlockWriter writer;
    writer.Begin(block, rows);
    RowColumns all;
    all.rows = rows;
    for (const int column : kCommands) {
      std::vector<uint64_t> values(RoundToLanes(rows) + kLanes);
      for (uint64_t& value : values) value = random() >> (column == Block::COLUMN_UNIT ? 58 : 40);
      all.columns[static_cast<size_t>(column)].assign(
          values.begin(), values.begin() + static_cast<ptrdiff_t>(rows));
      const auto which = static_cast<Block::Column>(column);
      random() % 2 == 0 ? writer.Delta(which, values.data()) : writer.Wide(which, values.data());
    }
    writer.Finish();
    Packet batch = packet, packed;
    REQUIRE(ToBatch(&batch).ok());
    RequireSame(packet, Packet::kCommands, *Body(batch), rows, random);
    packed.mutable_packed_block()->set_table(Block::TABLE_COMMANDS);
    packed.mutable_packed_block()->set_device(3);
    Packing packing;
    REQUIRE(packing.Pack(all, packed.mutable_packed_block()));
    RequireSame(packed, Packet::kCommands, *Body(batch), rows, random);
  }
}

TEST_CASE("A column that a block lacks has nothing of an earlier block's") {
  std::mt19937_64 random(5);
  const std::vector<uint32_t> fields = {2, 6, 7, 10, 18};
  const int in_block[] = {Block::COLUMN_FETCHED_TICKS, Block::COLUMN_RECORD, Block::COLUMN_UNIT,
                          Block::COLUMN_JOB, Block::COLUMN_BYTES};
  FewColumns columns(Packet::kCommands, fields);
  for (int round = 0; round < 200; ++round) {
    const size_t rows = 1 + random() % (round % 2 == 0 ? 10 : 2'000);
    RowColumns all;
    all.rows = rows;
    for (size_t f = 0; f < fields.size(); ++f) {
      if (f > 0 && random() % 2 == 0) continue;
      auto& values = all.columns[static_cast<size_t>(in_block[f])];
      for (size_t i = 0; i < rows; ++i) values.push_back(1 + random() % 50);
    }
    Packet packet;
    packet.mutable_packed_block()->set_table(Block::TABLE_COMMANDS);
    Packing packing;
    REQUIRE(packing.Pack(all, packet.mutable_packed_block()));
    REQUIRE(columns.Open(packet.SerializeAsString()));
    for (size_t done = 0, part = 0; (part = columns.Next()) > 0; done += part) {
      for (size_t f = 0; f < fields.size(); ++f) {
        auto wanted = all.columns[static_cast<size_t>(in_block[f])];
        wanted.resize(rows);
        const uint64_t* values = columns.Column(f);
        REQUIRE(std::equal(values, values + part, wanted.begin() + static_cast<ptrdiff_t>(done)));
      }
    }
  }
}

TEST_CASE("Stalls are added up row by row") {
  std::mt19937_64 random(8);
  for (int round = 0; round < 40; ++round) {
    const int rows = 1 + static_cast<int>(random() % 2'500),
              stalls = static_cast<int>(random() % 5);
    Packet packet;
    proto::CommandBatch& batch = *packet.mutable_commands();
    std::vector<uint64_t> wanted(static_cast<size_t>(rows));
    for (uint64_t& sum : wanted) {
      batch.add_fetched_ticks_delta(5);
      batch.add_work(UINT64_MAX), batch.add_bytes(UINT64_MAX);  // so that rows have enough bytes
      for (int s = 0; s < stalls; ++s) {
        batch.add_stall_ticks(1 + (random() >> (random() % 2 == 0 ? 58 : 40)));
        sum += batch.stall_ticks(batch.stall_ticks_size() - 1);
      }
    }
    FewColumns columns(Packet::kCommands, {2, 22});
    const auto sums = [&] {
      std::vector<uint64_t> found;
      while (const size_t some = columns.Next()) {
        // Some parts are skipped.
        if (round % 3 == 0 && found.empty()) {
          found.assign(wanted.begin(), wanted.begin() + static_cast<ptrdiff_t>(some));
          continue;
        }
        const uint64_t* of = columns.StallSums();
        CHECK(of == columns.StallSums());
        found.insert(found.end(), of, of + some);
      }
      return found;
    };
    packet.set_sequence(1);
    REQUIRE(columns.Open(packet.SerializeAsString()));
    CHECK(columns.stalls() == static_cast<size_t>(stalls));
    CHECK(sums() == wanted);
    if (stalls == 0 || rows == 1) continue;
    batch.add_stall_ticks(1);  // belongs to no row
    CHECK_FALSE(columns.Open(packet.SerializeAsString()));
  }
}

}  // namespace
}  // namespace acceltrace::stream
