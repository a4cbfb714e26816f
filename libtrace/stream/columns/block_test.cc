// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/block.h"

#include <random>
#include <vector>

#include "libtrace/stream/bytes/pack.h"
#include "libtrace/stream/columns/block_writer.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/validate.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/sample_trace.h"
#include "libtrace/stream/file/test_batches.h"
#include "tests/catch.h"

namespace acceltrace::stream {
namespace {

using proto::Block;

TEST_CASE("numbers of every width come back") {
  std::mt19937_64 random(3);
  for (uint32_t width = 0; width <= 64; ++width) {
    for (const size_t count : {1, 7, 8, 9, 255, 1000}) {
      std::vector<uint64_t> values(count), back(count);
      for (uint64_t& value : values) value = width == 0 ? 0 : random() >> (64 - width);
      std::string bytes;
      Pack(values.data(), count, width, &bytes);
      REQUIRE(bytes.size() == PackedBytes(count, width));
      Unpack(bytes, count, width, back.data());
      REQUIRE(back == values);
    }
  }
}

// A block of waits, whose columns may have any values.
struct Written {
  Block block;
  std::vector<uint64_t> wait, waiter, wake_after;
  std::vector<uint32_t> job, context, sparse;
};

uint64_t Shaped(std::mt19937_64& random, int shape) {
  switch (shape) {
    case 0:
      return 0;
    case 1:
      return 77;
    case 2:
      return random() % 5;
    case 3:
      return random() % 9 == 0 ? random() % 100000 : 0;
    case 4:
      return random();
    default:
      return 0xfffffffffffffff0u + random() % 32;  // on both sides of 2^64
  }
}

Written Write(std::mt19937_64& random, size_t rows, int shape) {
  Written w;
  const size_t room = RoundToLanes(rows);
  for (size_t i = 0; i < room; ++i) {
    w.wait.push_back((i << 20) + random() % (1 << 19));
    w.wake_after.push_back(Shaped(random, shape) >> 3);  // the sum is a time
    w.waiter.push_back(Shaped(random, (shape + 1) % 6));
    w.job.push_back(static_cast<uint32_t>(Shaped(random, (shape + 2) % 6)));
    w.context.push_back(static_cast<uint32_t>(Shaped(random, (shape + 3) % 6)));
    w.sparse.push_back(static_cast<uint32_t>(Shaped(random, 3)));
  }
  BlockWriter writer;
  w.block.set_table(Block::TABLE_HOST_WAITS);
  Written copy = w;
  writer.Begin(&w.block, rows);
  writer.Delta(Block::COLUMN_WAIT_NS, copy.wait.data());
  writer.Reference(Block::COLUMN_WAKE_NS, copy.wake_after.data(), Block::COLUMN_WAIT_NS);
  writer.Wide(Block::COLUMN_WAIT_CORRELATION, copy.waiter.data());
  writer.DeltaNarrow(Block::COLUMN_JOB, copy.job.data());
  writer.Narrow(Block::COLUMN_CONTEXT, copy.context.data());
  writer.Narrow(Block::COLUMN_QUEUE, copy.sparse.data());
  writer.Finish();
  return w;
}

TEST_CASE("what the writer packs is what a reader unpacks") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 90; ++round) {
    const size_t rows = 1 + random() % (round % 9 == 0 ? 3000 : 70);
    const Written w = Write(random, rows, round % 6);
    proto::Packet packet;
    const Status status = UnpackBlock(w.block, &packet);
    INFO("round " << round << ": " << status.message());
    REQUIRE(status.ok());
    const proto::HostBatch& host = packet.host();
    REQUIRE(Rows(packet) == rows);
    const auto wake = DecodeDeltas<uint64_t>(host.time_ns_delta(), rows);
    size_t wrong = 0;
    for (size_t i = 0; i < rows; ++i) {
      wrong += wake[i] != w.wait[i] + w.wake_after[i];
      wrong += ColumnAt(host.arg1(), i) != w.waiter[i];
      wrong += ColumnAt(host.job(), i) != w.job[i];
      wrong += ColumnAt(host.context(), i) != w.context[i];
      wrong += ColumnAt(host.queue(), i) != w.sparse[i];
    }
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("host jobs become the events that they stand for, one interrupt for many") {
  BlockWriter writer;
  Block block;
  block.set_table(Block::TABLE_HOST_JOBS);
  std::vector<uint64_t> submit = {100, 110, 120, 0, 0, 0, 0, 0}, five(8, 5), forty(8, 40);
  std::vector<uint64_t> irq = {0, uint64_t{0} - 10, 0, 0, 0, 0, 0, 0};
  std::vector<uint32_t> known = {7, 7, 1, 0, 0, 0, 0, 0}, job = {1, 2, 3, 0, 0, 0, 0, 0};
  writer.Begin(&block, 3);
  writer.Delta(Block::COLUMN_SUBMIT_NS, submit.data());
  writer.Reference(Block::COLUMN_DOORBELL_NS, five.data(), Block::COLUMN_SUBMIT_NS);
  writer.Reference(Block::COLUMN_COMPLETE_NS, forty.data(), Block::COLUMN_DOORBELL_NS);
  writer.Reference(Block::COLUMN_IRQ_NS, irq.data(), Block::COLUMN_COMPLETE_NS);
  writer.Narrow(Block::COLUMN_KNOWN, known.data());
  writer.Narrow(Block::COLUMN_JOB, job.data());
  writer.Finish();
  proto::Packet packet;
  REQUIRE(UnpackBlock(block, &packet).ok());
  const proto::HostBatch& host = packet.host();
  // Three for each submission, one interrupt at 145 for both, and two completions.
  REQUIRE(host.kind_size() == 3 * 3 + 1 + 2);
  CHECK(host.kind(3) == proto::HostBatch::KIND_IRQ);
  CHECK(host.arg1(3) == 2);
  CHECK(host.job(3) == 0);
  CHECK(host.kind(host.kind_size() - 1) == proto::HostBatch::KIND_SUBMIT_END);
  CHECK(host.job(host.kind_size() - 1) == 3);
  CHECK(DecodeDeltas<int64_t>(host.time_ns_delta(), 12)[3] == 145);
}

Block Small() {
  Block block;
  block.set_table(Block::TABLE_COMMANDS);
  block.set_rows(16);
  block.add_column(Block::COLUMN_JOB);
  block.add_width(4);
  block.add_mode(Block::MODE_OFFSET);
  block.add_base(1);
  block.set_data(std::string(PackedBytes(16, 4), '\x11'));
  return block;
}

TEST_CASE("impossible blocks are refused before anything is allocated for them") {
  proto::Packet packet;
  REQUIRE(UnpackBlock(Small(), &packet).ok());
  std::vector<Block> bad(11, Small());
  bad[0].set_rows(0);
  bad[1].set_rows(1 << 20);
  bad[2].set_rows(33);  // more than the bytes allow
  bad[3].set_width(0, 65);
  bad[4].set_width(0, 20);
  bad[5].set_mode(0, 9);
  bad[6].set_mode(0, Block::MODE_DELTA);
  bad[7].set_mode(0, Block::MODE_REFERENCE);
  bad[8].add_base(0);
  bad[9].set_device(100000);
  bad[10].set_mode(0, Block::MODE_REFERENCE);
  bad[10].add_reference(Block::COLUMN_TAG);
  for (const Block& block : bad) CHECK_FALSE(UnpackBlock(block, &packet).ok());
}

TEST_CASE("a column of a newer schema is skipped, a table of one has no rows") {
  Block block = Small();
  block.set_column(0, 90);
  block.add_column(Block::COLUMN_TAG);
  block.add_width(4);
  block.add_mode(Block::MODE_OFFSET);
  block.add_base(5);
  block.mutable_data()->append(std::string(PackedBytes(16, 4), '\0'));
  proto::Packet packet;
  REQUIRE(UnpackBlock(block, &packet).ok());
  CHECK(packet.commands().tag(15) == 5);
  block.set_table(77);
  REQUIRE(UnpackBlock(block, &packet).ok());
  CHECK(packet.body_case() == proto::Packet::BODY_NOT_SET);
}

TEST_CASE("a trace with blocks reads as one with batches") {
  std::vector<proto::Packet> packets = SamplePackets();
  proto::Packet with;
  *with.mutable_block() = Small();
  packets.push_back(with);
  const std::string bytes = Encode(std::move(packets));
  auto reader = Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  proto::Packet packet;
  size_t commands = 0;
  while (stream::ReadBatch(reader.value().get(), &packet) == Reader::Next::kPacket) {
    if (packet.has_commands()) commands += Rows(packet);
    CHECK_FALSE(packet.has_block());
  }
  CHECK(commands == 3 + 16);
  CHECK(reader.value()->stats().bad_packets == 0);
}

TEST_CASE("the number of rows that a packet was written with is kept, also of the first one") {
  std::vector<uint64_t> submit(kLanes, 100), after(kLanes, 5);
  std::vector<uint32_t> known(kLanes, 5);
  proto::Packet block;
  block.mutable_block()->set_table(Block::TABLE_HOST_JOBS);
  BlockWriter writer;
  writer.Begin(block.mutable_block(), 2);
  writer.Delta(Block::COLUMN_SUBMIT_NS, submit.data());
  writer.Reference(Block::COLUMN_COMPLETE_NS, after.data(), Block::COLUMN_SUBMIT_NS);
  writer.Narrow(Block::COLUMN_KNOWN, known.data());
  writer.Finish();
  const std::string bytes = Encode({block, SamplePackets().at(3), block});
  auto reader = Reader::FromMemory(bytes);
  REQUIRE(reader.ok());
  proto::Packet packet;
  REQUIRE(stream::ReadBatch(reader.value().get(), &packet) == Reader::Next::kPacket);
  CHECK(Rows(packet) == 8);
  CHECK(reader.value()->written_rows() == 2);
  REQUIRE(stream::ReadBatch(reader.value().get(), &packet) == Reader::Next::kPacket);
  CHECK(reader.value()->written_rows() == Rows(packet));
  REQUIRE(stream::ReadBatch(reader.value().get(), &packet) == Reader::Next::kPacket);
  CHECK(reader.value()->written_rows() == 2);
}

TEST_CASE("a block in which its first or last time is not is refused") {
  proto::Block block = Small();
  proto::Packet packet;
  block.add_column(Block::COLUMN_FETCHED_TICKS);
  block.add_width(4);
  block.add_mode(Block::MODE_OFFSET);
  block.add_base(1000);
  block.mutable_data()->append(std::string(PackedBytes(16, 4), '\x33'));
  block.set_first(1003), block.set_last(1003);
  CHECK(UnpackBlock(block, &packet).ok());
  block.set_last(1004);
  CHECK_FALSE(UnpackBlock(block, &packet).ok());
  block.set_first(1002), block.set_last(1003);
  CHECK_FALSE(UnpackBlock(block, &packet).ok());
}

TEST_CASE("the encoder leaves packed bytes as they are") {
  std::vector<proto::Packet> packets = SamplePackets();
  proto::Packet with;
  *with.mutable_block() = Small();
  with.mutable_block()->set_data(std::string(PackedBytes(16, 4), '\xf8'));
  packets.push_back(with);
  auto reader = Reader::FromMemory(Encode(std::move(packets)));
  REQUIRE(reader.ok());
  proto::Packet packet, last;
  while (stream::ReadBatch(reader.value().get(), &packet) == Reader::Next::kPacket) {
    if (packet.has_commands()) last = packet;
  }
  CHECK(last.commands().job(0) == 1 + 8);
  CHECK(last.commands().job(8) == 1 + 15);
}

}  // namespace
}  // namespace acceltrace::stream
