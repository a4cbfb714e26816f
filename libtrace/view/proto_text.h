// SPDX-License-Identifier: Apache-2.0
//
// Protobuf's bytes, field by field, without messages: what is written for each event of a large
// trace. Internal.
#ifndef LIBTRACE_VIEW_PROTO_TEXT_H_
#define LIBTRACE_VIEW_PROTO_TEXT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace acceltrace::view {

class ProtoText {
 public:
  explicit ProtoText(size_t room = 512) : bytes_(new char[room]), room_(room) {}

  void Clear() { size_ = 0; }
  size_t size() const { return size_; }
  std::string_view bytes() const { return {bytes_.get(), size_}; }

  void Number(int field, uint64_t value) {
    Need(2 * kMostVarint);
    End(Varint(value, Tag(field, 0, bytes_.get() + size_)));
  }
  void Fixed(int field, uint64_t value) {
    Need(kMostVarint + 8);
    char* out = Tag(field, 1, bytes_.get() + size_);
    for (int i = 0; i < 8; ++i) out[i] = static_cast<char>(value >> (8 * i));
    End(out + 8);
  }
  void Double(int field, double value) { Fixed(field, std::bit_cast<uint64_t>(value)); }
  // The tag and the length of what follows by Raw().
  void Begin(int field, size_t size) {
    Need(2 * kMostVarint);
    End(Varint(size, Tag(field, 2, bytes_.get() + size_)));
  }
  void Text(int field, std::string_view text) { Begin(field, text.size()), Raw(text); }
  void Raw(std::string_view bytes) {
    Need(bytes.size());
    std::memcpy(bytes_.get() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  // fill() writes its fields here.
  template <typename Fill>
  void Message(int field, const Fill& fill) {
    Need(kMostVarint + 1);
    End(Tag(field, 2, bytes_.get() + size_));
    const size_t at = size_++;
    fill();
    const size_t size = size_ - at - 1;
    if (size < 0x80) {
      bytes_[at] = static_cast<char>(size);
      return;
    }
    char length[kMostVarint];
    const auto more = static_cast<size_t>(Varint(size, length) - length);
    Need(more);
    std::memmove(bytes_.get() + at + more, bytes_.get() + at + 1, size);
    std::memcpy(bytes_.get() + at, length, more);
    size_ += more - 1;
  }

 private:
  static constexpr size_t kMostVarint = 10;

  static char* Tag(int field, uint32_t type, char* out) {
    return Varint(static_cast<uint32_t>(field) << 3 | type, out);
  }
  static char* Varint(uint64_t value, char* out) {
    for (; value >= 0x80; value >>= 7) *out++ = static_cast<char>(value | 0x80);
    *out++ = static_cast<char>(value);
    return out;
  }
  void End(const char* end) { size_ = static_cast<size_t>(end - bytes_.get()); }
  void Need(size_t more) {
    if (room_ - size_ < more) Grow(more);
  }
  void Grow(size_t more) {
    room_ = 2 * (size_ + more);
    std::unique_ptr<char[]> larger(new char[room_]);
    std::memcpy(larger.get(), bytes_.get(), size_);
    bytes_ = std::move(larger);
  }

  std::unique_ptr<char[]> bytes_;
  size_t room_, size_ = 0;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_PROTO_TEXT_H_
