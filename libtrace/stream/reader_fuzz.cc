// SPDX-License-Identifier: Apache-2.0
//
// The reader on arbitrary bytes: no crash, no gap outside the input, every byte
// accounted for. Once as they come, once as the content of a packet whose frame
// is right, as the checksum would keep the fuzzer out of the validation.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "libtrace/stream/columns.h"
#include "libtrace/stream/crc32c.h"
#include "libtrace/stream/framing.h"
#include "libtrace/stream/reader.h"

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

std::string Framed(std::string_view body) {
  namespace stream = acceltrace::stream;
  std::string packet(stream::kSyncField);
  packet.append("\x10\x01").append(body);
  const uint32_t crc = stream::Crc32c(packet);
  packet.append(stream::kCrcTag);
  for (int i = 0; i < 4; ++i) packet.push_back(static_cast<char>(crc >> (8 * i)));
  std::string frame("\x0a");
  stream::AppendVarint(packet.size(), &frame);
  return frame + packet;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::SetLogHandler(nullptr);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadAll(bytes);
  ReadAll(Framed(bytes));
  return 0;
}
