// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/bytes/framing.h"

#include <algorithm>

#include "libtrace/base/crc32c.h"

namespace acceltrace::stream {

namespace {

bool StartsLike(std::string_view bytes, std::string_view pattern) {
  const size_t common = std::min(bytes.size(), pattern.size());
  return bytes.substr(0, common) == pattern.substr(0, common);
}

uint32_t LoadLittleEndian32(std::string_view bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

Frame ParseFrame(std::string_view bytes) {
  Frame frame;
  if (bytes.empty()) {
    frame.state = Frame::State::kNeedMore;
    frame.total_bytes = kMinFrameBytes;
    return frame;
  }
  if (bytes[0] != kPacketTag) return frame;
  uint64_t length = 0;
  const size_t length_bytes = ParseVarint(bytes.substr(1), kMaxLengthBytes, &length);
  if (length_bytes == 0) {
    if (bytes.size() <= kMaxLengthBytes) {
      frame.state = Frame::State::kNeedMore;
      frame.total_bytes = kMinFrameBytes;
    }
    return frame;
  }
  if (length < kMinPacketBytes || length > kMaxPacketBytes) return frame;
  const std::string_view rest = bytes.substr(1 + length_bytes);
  if (!StartsLike(rest, kSyncField)) return frame;
  frame.total_bytes = 1 + length_bytes + length;
  if (bytes.size() < frame.total_bytes) {
    frame.state = Frame::State::kNeedMore;
    return frame;
  }

  const std::string_view packet = rest.substr(0, length);
  const std::string_view summed = packet.substr(0, length - kTrailerBytes);
  const std::string_view trailer = packet.substr(length - kTrailerBytes);
  frame.reason = "checksum";
  if (!trailer.starts_with(kCrcTag)) return frame;
  frame.summed_bytes = summed.size();
  if (Crc32c(summed) != LoadLittleEndian32(trailer.substr(kCrcTag.size()))) return frame;
  frame.reason = "malformed";
  const std::string_view after_sync = summed.substr(kSyncField.size());
  if (after_sync.empty() || after_sync[0] != kSequenceTag) return frame;
  if (ParseVarint(after_sync.substr(1), 10, &frame.sequence) == 0) return frame;
  frame.packet = packet;
  frame.state = Frame::State::kWhole;
  return frame;
}

}  // namespace acceltrace::stream
