// SPDX-License-Identifier: Apache-2.0
//
// Runs the reader on arbitrary bytes: no crash, no gap outside the input, every byte accounted for.
// Runs once on the bytes as they are, and once on them as the content of a packet with a valid
// frame, because otherwise the checksum would keep the fuzzer out of the validation. The rows must
// be the same for any number of reads that they are kept, and the same as those of their batch.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "libtrace/base/crc32c.h"
#include "libtrace/stream/bytes/framing.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/table_rows.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/test_batches.h"

namespace {

void Check(bool condition) {
  if (!condition) std::abort();
}

void ReadAll(std::string_view bytes) {
  using acceltrace::stream::Reader;
  auto reader = Reader::FromMemory(bytes);
  if (!reader.ok()) {
    Check(!reader.message().empty());
    return;
  }
  acceltrace::proto::Packet packet;
  uint64_t packets = 0;
  while (acceltrace::stream::ReadBatch(reader->get(), &packet) == Reader::Next::kPacket) {
    Check(acceltrace::stream::Rows(packet) <= (1u << 20));
    Check(++packets <= bytes.size());
  }
  const auto& stats = (*reader)->stats();
  Check(stats.packets == packets);
  Check(stats.bytes == bytes.size());
  for (const auto& gap : stats.gaps) Check(gap.offset_bytes + gap.length_bytes <= bytes.size());
}

void CompareRows(acceltrace::stream::TableRows a, acceltrace::stream::TableRows b) {
  Check(a.rows() == b.rows() && a.stalls() == b.stalls());
  while (a.rows() > 0) {
    const auto part_a = a.Take(700), part_b = b.Take(700);
    std::vector<uint32_t> x(part_a.rows()), y(part_b.rows());
    for (int column = 1; column < static_cast<int>(part_a.kColumns); ++column) {
      part_a.Read(column, x.data()), part_b.Read(column, y.data());
      Check(x == y);
    }
  }
}

// A batch made from rows must have the same rows.
void CheckBatch(const acceltrace::stream::TableRows& rows, acceltrace::proto::Packet packet) {
  acceltrace::stream::FillBatch(&rows, &packet);
  if (acceltrace::stream::Rows(packet) != rows.rows()) return;  // its first column was all zeros
  acceltrace::stream::RowDecoder decoder;
  Check(decoder.Decode(size_t{1} << 30, &packet).ok());
  CompareRows(decoder.rows(), rows);
}

void ReadColumns(std::string_view bytes) {
  using acceltrace::stream::Reader;
  auto one = Reader::FromMemory(bytes), kept = Reader::FromMemory(bytes);
  if (!one.ok()) return;
  (*kept)->KeepColumns(2);
  acceltrace::proto::Packet packets[2], other;
  for (size_t i = 0; (*one)->Read(&other) == Reader::Next::kPacket; ++i) {
    acceltrace::proto::Packet& packet = packets[i % 2];
    Check((*kept)->Read(&packet) == Reader::Next::kPacket);
    Check(packet.body_case() == other.body_case());
    Check(packet.sequence() == other.sequence() && packet.crc32c() == other.crc32c());
    Check((*one)->written_rows() == (*kept)->written_rows());
    const auto *rows = (*one)->columns(), *same = (*kept)->columns();
    Check((rows == nullptr) == (same == nullptr));
    if (rows == nullptr) continue;
    CompareRows(*rows, *same);
    CheckBatch(*rows, other);
  }
  Check((*kept)->Read(&other) == Reader::Next::kEnd);
  Check((*one)->stats().bad_packets == (*kept)->stats().bad_packets);
  Check((*one)->stats().worth_bytes == (*kept)->stats().worth_bytes);
}

std::string Framed(std::string_view body, char sequence) {
  namespace stream = acceltrace::stream;
  std::string packet(stream::kSyncField);
  packet.append("\x10").append(1, sequence).append(body);
  const uint32_t crc = acceltrace::Crc32c(packet);
  packet.append(stream::kCrcTag);
  for (int i = 0; i < 4; ++i) packet.push_back(static_cast<char>(crc >> (8 * i)));
  std::string frame("\x0a");
  stream::AppendVarint(packet.size(), &frame);
  return frame + packet;
}

// Empty accounts, because the first packet is read before columns can be requested.
constexpr std::string_view kFirst("\x9a\x01\x00", 3);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::SetLogHandler(nullptr);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadAll(bytes);
  ReadAll(Framed(bytes, 1));
  ReadColumns(bytes);
  ReadColumns(Framed(kFirst, 1) + Framed(bytes, 2));
  return 0;
}
