// SPDX-License-Identifier: Apache-2.0
//
// Writes protobuf's wire format field by field, without message objects, which would be too slow
// for each event of a large trace. Internal.
//
// A ProtoCursor writes into memory that the caller has reserved, and is passed by value so that it
// stays in a register. A ProtoText owns its bytes.
#ifndef LIBTRACE_VIEW_TIMELINE_PROTO_TEXT_H_
#define LIBTRACE_VIEW_TIMELINE_PROTO_TEXT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace acceltrace::view {

// The caller must have reserved kMostNumber bytes for each number, and for each text its length in
// addition.
class ProtoCursor {
 public:
  static constexpr size_t kMostNumber = 16;

  explicit ProtoCursor(char* at) : at_(at) {}
  char* at() const { return at_; }

  template <int kField>
  void Number(uint64_t value) {
    Tag<kField, 0>();
    Varint(value);
  }
  template <int kField>
  void Fixed(uint64_t value) {
    Tag<kField, 1>();
    Store(value, at_);
    at_ += 8;
  }
  template <int kField>
  void Double(double value) {
    Fixed<kField>(std::bit_cast<uint64_t>(value));
  }
  template <int kField>
  void Text(std::string_view text) {
    Tag<kField, 2>();
    Varint(text.size());
    Copy(text.data(), text.size());
    at_ += text.size();
  }
  // Begins a nested message. Returns the place of its length, for which kBytes bytes are reserved.
  template <int kField, size_t kBytes = 1>
  char* Begin() {
    Tag<kField, 2>();
    at_ += kBytes;
    return at_ - kBytes;
  }
  // Ends the message. A length that does not fit into kBytes bytes takes more of them.
  template <size_t kBytes = 1>
  void End(char* length) {
    auto size = static_cast<size_t>(at_ - length) - kBytes;
    if (size >> (7 * kBytes) != 0) return Widen(length, kBytes);
    for (size_t i = 0; i + 1 < kBytes; ++i, size >>= 7) {
      length[i] = static_cast<char>((size & 0x7f) | 0x80);
    }
    length[kBytes - 1] = static_cast<char>(size);
  }

 private:
  static constexpr size_t kMostVarint = 10;

  // Most texts are short: their first and last bytes, which may overlap, are copied as words.
  void Copy(const char* from, size_t size) {
    const auto ends = [&](auto word) {
      std::memcpy(&word, from, sizeof(word));
      std::memcpy(at_, &word, sizeof(word));
      std::memcpy(&word, from + size - sizeof(word), sizeof(word));
      std::memcpy(at_ + size - sizeof(word), &word, sizeof(word));
    };
    if (size > 16) {
      std::memcpy(at_, from, size);
    } else if (size >= 8) {
      ends(uint64_t{});
    } else if (size >= 4) {
      ends(uint32_t{});
    } else if (size >= 2) {
      ends(uint16_t{});
    } else if (size == 1) {
      *at_ = *from;
    }
  }

  template <int kField, uint32_t kType>
  void Tag() {
    constexpr uint32_t kTag = static_cast<uint32_t>(kField) << 3 | kType;
    static_assert(kTag < 1 << 21);
    constexpr size_t kSize = kTag < 0x80 ? 1 : kTag < 0x4000 ? 2 : 3;
    for (size_t i = 0; i < kSize; ++i) {
      at_[i] = static_cast<char>(kTag >> 7 * i | (i + 1 < kSize ? 0x80 : 0));
    }
    at_ += kSize;
  }
  static void Store(uint64_t word, char* out) {
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    std::memcpy(out, &word, sizeof(word));
  }
  // Most numbers are small, so this case is inlined.
  void Varint(uint64_t value) {
    if (value < 0x80) [[likely]] {
      *at_++ = static_cast<char>(value);
    } else {
      at_ = PutLong(value, at_);
    }
  }
  [[gnu::noinline]] static char* PutLong(uint64_t value, char* out) {
    if (value < 0x4000) {
      out[0] = static_cast<char>(value | 0x80), out[1] = static_cast<char>(value >> 7);
      return out + 2;
    }
    if (value >> 56 != 0) {
      for (; value >= 0x80; value >>= 7) *out++ = static_cast<char>(value | 0x80);
      *out++ = static_cast<char>(value);
      return out;
    }
    // Distributes seven bits to each byte, all at once.
    uint64_t word = (value & 0x0fff'ffff) | (value & 0x00ff'ffff'f000'0000) << 4;
    word = (word & 0x0000'3fff'0000'3fff) | (word & 0x0fff'c000'0fff'c000) << 2;
    word = (word & 0x007f'007f'007f'007f) | (word & 0x3f80'3f80'3f80'3f80) << 1;
    const unsigned more = (static_cast<unsigned>(std::bit_width(value)) - 1) / 7;
    Store(word | (0x8080'8080'8080'8080 & ((uint64_t{1} << 8 * more) - 1)), out);
    return out + more + 1;
  }
  // There is enough space: such a long message consists of texts.
  void Widen(char* length, size_t bytes) {
    const auto size = static_cast<size_t>(at_ - length) - bytes;
    char wider[kMostVarint];
    size_t wide = 0;
    for (size_t rest = size; rest > 0; rest >>= 7) {
      wider[wide++] = static_cast<char>((rest & 0x7f) | (rest >= 0x80 ? 0x80 : 0));
    }
    std::memmove(length + wide, length + bytes, size);
    std::memcpy(length, wider, wide);
    at_ += wide - bytes;
  }

  char* at_;
};

class ProtoText {
 public:
  explicit ProtoText(size_t room = 512) { Grow(room); }

  void Clear() { size_ = 0; }
  size_t size() const { return size_; }
  const char* data() const { return bytes_.get(); }
  std::string_view bytes() const { return {bytes_.get(), size_}; }

  // Reserves `more` bytes and returns the place where they begin.
  char* Room(size_t more) {
    if (room_ - size_ < more) Grow(size_ + more);
    return bytes_.get() + size_;
  }
  void Wrote(const char* end) { size_ = static_cast<size_t>(end - bytes_.get()); }
  template <int kField>
  void Number(uint64_t value) {
    ProtoCursor out(Room(ProtoCursor::kMostNumber));
    out.Number<kField>(value);
    Wrote(out.at());
  }
  template <int kField>
  void Text(std::string_view text) {
    ProtoCursor out(Room(text.size() + ProtoCursor::kMostNumber));
    out.Text<kField>(text);
    Wrote(out.at());
  }
  void Raw(std::string_view bytes) {
    std::memcpy(Room(bytes.size()), bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  // Removes the bytes before `from`.
  void DropBefore(size_t from) {
    std::memmove(bytes_.get(), bytes_.get() + from, size_ - from);
    size_ -= from;
  }

 private:
  void Grow(size_t room) {
    room_ = 2 * room;
    std::unique_ptr<char[]> larger(new char[room_]);
    if (size_ > 0) std::memcpy(larger.get(), bytes_.get(), size_);
    bytes_ = std::move(larger);
  }

  std::unique_ptr<char[]> bytes_;
  size_t room_ = 0, size_ = 0;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TIMELINE_PROTO_TEXT_H_
