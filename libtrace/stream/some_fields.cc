// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/some_fields.h"

#include <algorithm>

#include "libtrace/stream/crc32c.h"
#include "libtrace/stream/framing.h"
#include "libtrace/stream/wire.h"

namespace acceltrace::stream {

bool SomeFields(std::string_view packet, uint32_t body, const std::vector<uint32_t>& fields,
                std::string* out) {
  out->clear();
  std::vector<std::string_view> kept;
  for (WireField outer; !packet.empty();) {
    if (!TakeField(&packet, &outer)) return false;
    if (outer.number() != body || !outer.has_length()) {
      out->append(outer.whole);
      continue;
    }
    kept.clear();
    size_t length = 0;
    std::string_view left = outer.content;
    for (WireField inner; !left.empty();) {
      if (!TakeField(&left, &inner)) return false;
      const bool wanted = std::find(fields.begin(), fields.end(), inner.number()) != fields.end();
      if (!wanted && inner.has_length()) continue;
      kept.push_back(inner.whole), length += inner.whole.size();
    }
    out->reserve(out->size() + length + 64);
    AppendVarint(outer.tag, out);
    AppendVarint(length, out);
    for (const std::string_view field : kept) out->append(field);
  }
  return true;
}

bool SomeOfPacket::Fill() {
  if (piece_ == nullptr) piece_.reset(new char[kPiece]);
  const size_t bytes = file_->ReadTo(at_, piece_.get(), std::min<uint64_t>(kPiece, end_ - at_));
  left_ = {piece_.get(), bytes};
  at_ += bytes;
  sum_ = Crc32cMore(sum_, left_);
  return bytes > 0;
}

bool SomeOfPacket::Number(uint64_t* value) {
  // The shortest and the longest begin in one piece.
  *value = 0;
  for (uint32_t shift = 0; shift < 70; shift += 7) {
    if (left_.empty() && !Fill()) return false;
    const auto byte = static_cast<uint8_t>(left_.front());
    left_.remove_prefix(1);
    if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// to: nullptr: over them.
bool SomeOfPacket::Take(uint64_t bytes, std::string* to) {
  while (bytes > 0) {
    if (left_.empty() && !Fill()) return false;
    const size_t some = std::min<uint64_t>(bytes, left_.size());
    if (to != nullptr) to->append(left_.substr(0, some));
    left_.remove_prefix(some);
    bytes -= some;
  }
  return true;
}

bool SomeOfPacket::Read(const Bytes& file, uint64_t begin, uint64_t end, uint32_t columns_of,
                        const std::vector<uint32_t>& fields) {
  body_.clear();
  char head[1 + kMaxLengthBytes], trailer[kTrailerBytes];
  const std::string_view tag(
      head, file.ReadTo(begin, head, std::min<uint64_t>(sizeof(head), end - std::min(begin, end))));
  uint64_t length = 0;
  if (tag.empty() || tag[0] != kPacketTag) return false;
  const size_t length_bytes = ParseVarint(tag.substr(1), kMaxLengthBytes, &length);
  if (length_bytes == 0 || length < kMinPacketBytes || length > kMaxPacketBytes) return false;
  file_ = &file, left_ = {}, sum_ = 0;
  at_ = begin + 1 + length_bytes, end_ = at_ + length - kTrailerBytes;
  if (end_ + kTrailerBytes > end) return false;
  packet_bytes_ = length;
  const uint64_t left = length - kTrailerBytes;
  const auto done = [&] { return left - (end_ - at_) - left_.size(); };
  std::string sync;
  uint64_t sequence = 0, value = 0, bytes = 0;
  if (!Take(kSyncField.size(), &sync) || sync != kSyncField || !Number(&value) ||
      value != kSequenceTag || !Number(&sequence) || !Number(&value) || (value & 7) != 2 ||
      !Number(&bytes) || bytes != left - done()) {
    return false;
  }
  number_ = static_cast<uint32_t>(value >> 3);
  if (body_.capacity() < bytes) body_.reserve(bytes);
  if (number_ == columns_of) {
    while (done() < left) {
      uint64_t field = 0;
      if (!Number(&field)) return false;
      const bool column = (field & 7) == 2;
      if (!column && (field & 7) != 0) return false;  // there are no others
      if (!Number(&value) || (column && value > left - done())) return false;
      const bool wanted =
          !column || std::find(fields.begin(), fields.end(), field >> 3) != fields.end();
      if (wanted) AppendVarint(field, &body_), AppendVarint(value, &body_);
      if (column && !Take(value, wanted ? &body_ : nullptr)) return false;
    }
  } else if (!Take(bytes, &body_)) {
    return false;
  }
  const std::string_view last(trailer, file.ReadTo(end_, trailer, sizeof(trailer)));
  if (!last.starts_with(kCrcTag) || last.size() < sizeof(trailer)) return false;
  checksum_ = 0;
  for (size_t i = 4; i-- > 0;) {
    checksum_ = checksum_ << 8 | static_cast<uint8_t>(last[kCrcTag.size() + i]);
  }
  return checksum_ == sum_;
}

}  // namespace acceltrace::stream
