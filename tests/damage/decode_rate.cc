// SPDX-License-Identifier: Apache-2.0
//
// Measures how fast rows of a trace become columns: the time of protobuf's parser for their
// batches, and that of blocks and packed blocks of the same rows from their bytes.
//
//   decode-rate TRACE [OUT]    one line of JSON; events are rows of the batches
//
// OUT: writes the trace as blocks.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/stream/bytes/pack.h"
#include "libtrace/stream/columns/block.h"
#include "libtrace/stream/columns/block_columns.h"
#include "libtrace/stream/columns/block_writer.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/table_rows.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/test_batches.h"
#include "libtrace/stream/file/writer.h"
#include "tests/damage/blocks.h"

namespace {

using namespace acceltrace;
using proto::Block;
using proto::Packet;

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// CPU seconds of one call: the minimum of several measurements of a fifth of a second in total.
double Seconds(const std::function<void()>& work) {
  double least = 1e9, all = 0;
  while (all < 0.2) {
    const double before = CpuSeconds();
    work();
    const double took = CpuSeconds() - before;
    least = std::min(least, took), all += took;
  }
  return least;
}

// Ascending values are stored as differences, as the recorder does.
bool Rises(int column) {
  return column == Block::COLUMN_FETCHED_TICKS || column == Block::COLUMN_DOORBELL_TICKS ||
         column == Block::COLUMN_BEGIN_NS || column == Block::COLUMN_RECORD ||
         column == Block::COLUMN_CORRELATION || column == Block::COLUMN_JOB;
}

Packet BlockOf(const stream::TableRows& rows, uint32_t table, uint32_t device) {
  static stream::BlockWriter writer;
  Packet packet;
  Block* block = packet.mutable_block();
  block->set_table(table), block->set_device(device);
  block->set_stalls(static_cast<uint32_t>(rows.stalls()));
  writer.Begin(block, rows.rows());
  for (int column = 1; column < static_cast<int>(stream::TableRows::kColumns); ++column) {
    if (!rows.has(column)) continue;
    std::vector<uint64_t> wide(stream::RoundToLanes(rows.rows()) + stream::kLanes);
    rows.Read(column, wide.data());
    bool narrow = true;
    for (const uint64_t value : wide) narrow = narrow && value >> 32 == 0;
    std::vector<uint32_t> words(wide.begin(), wide.end());
    const auto which = static_cast<Block::Column>(column);
    if (Rises(column)) {
      writer.Delta(which, wide.data());
    } else if (narrow) {
      writer.Narrow(which, words.data());
    } else {
      writer.Wide(which, wide.data());
    }
  }
  writer.Finish();
  return packet;
}

// Makes an equivalent block of a batch; returns false if there is none.
bool ToBlock(Packet* packet) {
  if (stream::Rows(*packet) > stream::kMaxBlockRows) return false;
  stream::RowDecoder decoder;
  const auto rows = [&] {
    if (!decoder.Decode(size_t{1} << 30, packet).ok()) std::abort();
    return decoder.rows();
  };
  if (packet->has_commands()) {
    *packet = BlockOf(rows(), Block::TABLE_COMMANDS, packet->commands().device());
  } else if (packet->has_jobs()) {
    *packet = BlockOf(rows(), Block::TABLE_DEVICE_JOBS, packet->jobs().device());
  } else if (packet->has_api()) {
    *packet = BlockOf(rows(), Block::TABLE_API_CALLS, 0);
  } else if (packet->has_host()) {
    test::Random random(1);
    return test::ToBlock(packet, &random);
  } else {
    return false;
  }
  return true;
}

struct Rows {
  std::vector<std::string> batches, blocks, packed;
  double events = 0;
  size_t Bytes(const std::vector<std::string>& of) const {
    size_t bytes = 0;
    for (const std::string& one : of) bytes += one.size();
    return bytes;
  }
};

// Divides batches to the size of blocks. trace gets the same as blocks.
Rows Read(stream::Reader* reader, std::string* trace) {
  constexpr size_t kBlockRows = 4096;
  std::vector<Packet> packets;
  Packet read;
  while (stream::ReadBatch(reader, &read) == stream::Reader::Next::kPacket) {
    if (!read.has_index() && !read.has_footer()) packets.push_back(read);
  }
  Rows rows;
  stream::PacketEncoder encoder;
  for (const Packet& packet : test::Divided(packets, kBlockRows)) {
    Packet block = packet;
    const bool is_block = ToBlock(&block);
    const auto events = static_cast<uint32_t>(stream::Rows(packet));
    if (Packet whole = block; !encoder.Append(&whole, 0, events, trace)) std::abort();
    if (!is_block) continue;
    rows.events += static_cast<double>(stream::Rows(packet));
    rows.batches.push_back(packet.SerializeAsString());
    rows.blocks.push_back(block.SerializeAsString());
    if (test::Pack(&block)) rows.packed.push_back(block.SerializeAsString());
  }
  encoder.AppendFooter(trace);
  return rows;
}

double ParseSeconds(const std::vector<std::string>& batches) {
  Packet packet;
  return Seconds([&] {
    for (const std::string& bytes : batches) {
      if (!packet.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) std::abort();
    }
  });
}

double DecodeSeconds(const std::vector<std::string>& blocks) {
  Packet packet;
  stream::BlockColumns columns;
  return Seconds([&] {
    for (const std::string& bytes : blocks) {
      if (!packet.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) std::abort();
      const Status status = packet.has_block() ? columns.Decode(packet.block())
                                               : columns.DecodePacked(packet.packed_block());
      if (!status.ok()) std::abort();
    }
  });
}

double CopySeconds(const std::vector<std::string>& parts) {
  std::string copy;
  for (const std::string& part : parts) copy.resize(std::max(copy.size(), part.size()));
  return Seconds([&] {
    for (const std::string& part : parts) part.copy(copy.data(), part.size());
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fputs("usage: decode-rate TRACE [OUT]\n", stderr);
    return 2;
  }
  auto opened = stream::Reader::Open(argv[1]);
  if (!opened.ok()) {
    std::fprintf(stderr, "decode-rate: %s\n", opened.message().c_str());
    return 1;
  }
  std::string trace;
  const Rows rows = Read(opened->get(), &trace);
  if (argc == 3 && !(std::ofstream(argv[2], std::ios::binary) << trace)) {
    std::fprintf(stderr, "decode-rate: cannot write %s\n", argv[2]);
    return 1;
  }
  std::printf(
      "{\"events\": %.0f, \"batch_bytes\": %zu, \"block_bytes\": %zu, \"packed_bytes\": %zu, "
      "\"copy_s\": %.9f, \"parse_s\": %.9f, \"blocks_s\": %.9f, \"packed_s\": %.9f}\n",
      rows.events, rows.Bytes(rows.batches), rows.Bytes(rows.blocks), rows.Bytes(rows.packed),
      CopySeconds(rows.batches), ParseSeconds(rows.batches), DecodeSeconds(rows.blocks),
      DecodeSeconds(rows.packed));
  return 0;
}
