// SPDX-License-Identifier: Apache-2.0
//
// Protobuf's bytes, field by field, without messages: what is written for each event of a large
// trace. Internal.
#ifndef LIBTRACE_VIEW_PROTO_TEXT_H_
#define LIBTRACE_VIEW_PROTO_TEXT_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace acceltrace::view {

class ProtoText {
 public:
  void Clear() { bytes_.clear(); }
  const std::string& bytes() const { return bytes_; }

  void Number(int field, uint64_t value) {
    Tag(field, 0, &bytes_);
    Varint(value, &bytes_);
  }
  void Fixed(int field, uint64_t value) {
    Tag(field, 1, &bytes_);
    char all[8];
    for (int i = 0; i < 8; ++i) all[i] = static_cast<char>(value >> (8 * i));
    bytes_.append(all, sizeof(all));
  }
  void Double(int field, double value) { Fixed(field, std::bit_cast<uint64_t>(value)); }
  void Text(int field, std::string_view text) { AppendText(field, text, &bytes_); }
  void Raw(std::string_view bytes) { bytes_ += bytes; }
  // fill() writes its fields here.
  template <typename Fill>
  void Message(int field, const Fill& fill) {
    Tag(field, 2, &bytes_);
    const size_t at = bytes_.size();
    bytes_.push_back('\0');
    fill();
    const size_t size = bytes_.size() - at - 1;
    if (size < 0x80) {
      bytes_[at] = static_cast<char>(size);
      return;
    }
    std::string length;
    Varint(size, &length);
    bytes_.replace(at, 1, length);
  }
  static void AppendText(int field, std::string_view text, std::string* out) {
    Tag(field, 2, out);
    Varint(text.size(), out);
    *out += text;
  }

 private:
  static void Tag(int field, uint32_t type, std::string* out) {
    Varint(static_cast<uint32_t>(field) << 3 | type, out);
  }
  static void Varint(uint64_t value, std::string* out) {
    if (value < 0x80) {
      out->push_back(static_cast<char>(value));
      return;
    }
    char bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) bytes[n++] = static_cast<char>(value | 0x80);
    bytes[n++] = static_cast<char>(value);
    out->append(bytes, n);
  }

  std::string bytes_;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_PROTO_TEXT_H_
