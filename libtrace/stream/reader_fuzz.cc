// SPDX-License-Identifier: Apache-2.0
//
// The reader on arbitrary bytes: no crash, no gap outside the input, every byte
// accounted for. Once as they come, once as the content of a packet whose frame
// is right, as the checksum would keep the fuzzer out of the validation. Who asks for
// columns gets what the batch has, and is refused what others are.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "libtrace/stream/columns.h"
#include "libtrace/stream/crc32c.h"
#include "libtrace/stream/framing.h"
#include "libtrace/stream/reader.h"
#include "libtrace/stream/table_rows.h"

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
  while ((*reader)->Read(&packet) == Reader::Next::kPacket) {
    Check(acceltrace::stream::Rows(packet) <= (1u << 20));
    Check(++packets <= bytes.size());
  }
  const auto& stats = (*reader)->stats();
  Check(stats.packets == packets);
  Check(stats.bytes == bytes.size());
  for (const auto& gap : stats.gaps) Check(gap.offset_bytes + gap.length_bytes <= bytes.size());
}

acceltrace::stream::TableRows RowsOf(const acceltrace::proto::Packet& packet) {
  using acceltrace::stream::TableRows;
  if (packet.has_commands()) return TableRows(packet.commands());
  if (packet.has_jobs()) return TableRows(packet.jobs());
  return packet.has_api() ? TableRows(packet.api()) : TableRows(packet.host());
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
    std::vector<uint64_t> stalls_a(part_a.rows() * part_a.stalls()), stalls_b = stalls_a;
    part_a.ReadStalls(stalls_a.data()), part_b.ReadStalls(stalls_b.data());
    Check(stalls_a == stalls_b);
  }
}

void ReadColumns(std::string_view bytes) {
  using acceltrace::stream::Reader;
  auto plain = Reader::FromMemory(bytes), kept = Reader::FromMemory(bytes);
  if (!plain.ok()) return;
  (*kept)->KeepColumns(1);
  acceltrace::proto::Packet packet, other;
  while ((*plain)->Read(&packet) == Reader::Next::kPacket) {
    Check((*kept)->Read(&other) == Reader::Next::kPacket);
    Check(packet.body_case() == other.body_case());
    Check(packet.sequence() == other.sequence() && packet.crc32c() == other.crc32c());
    Check((*plain)->written_rows() == (*kept)->written_rows());
    if (const auto* columns = (*kept)->columns()) CompareRows(RowsOf(packet), *columns);
  }
  Check((*kept)->Read(&other) == Reader::Next::kEnd);
  Check((*plain)->stats().bad_packets == (*kept)->stats().bad_packets);
  Check((*plain)->stats().worth_bytes == (*kept)->stats().worth_bytes);
}

std::string Framed(std::string_view body, char sequence) {
  namespace stream = acceltrace::stream;
  std::string packet(stream::kSyncField);
  packet.append("\x10").append(1, sequence).append(body);
  const uint32_t crc = stream::Crc32c(packet);
  packet.append(stream::kCrcTag);
  for (int i = 0; i < 4; ++i) packet.push_back(static_cast<char>(crc >> (8 * i)));
  std::string frame("\x0a");
  stream::AppendVarint(packet.size(), &frame);
  return frame + packet;
}

// Empty accounts: the first packet is read before anybody asks for columns.
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
