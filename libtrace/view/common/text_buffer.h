// SPDX-License-Identifier: Apache-2.0
//
// A buffer for text on its way to a file. Most appended texts have only a few bytes, for which
// std::string would make a function call each time. Internal.
#ifndef LIBTRACE_VIEW_COMMON_TEXT_BUFFER_H_
#define LIBTRACE_VIEW_COMMON_TEXT_BUFFER_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace acceltrace::view {

class TextBuffer {
 public:
  using value_type = char;

  explicit TextBuffer(size_t room) : bytes_(new char[room]), room_(room) {}

  size_t size() const { return size_; }
  std::string_view text() const { return {bytes_.get(), size_}; }
  void clear() { size_ = 0; }

  void push_back(char c) {
    Need(1);
    bytes_[size_++] = c;
  }
  void operator+=(char c) { push_back(c); }
  void operator+=(std::string_view text) {
    Need(text.size());
    std::memcpy(bytes_.get() + size_, text.data(), text.size());
    size_ += text.size();
  }
  // The length of a literal is known at compile time.
  template <size_t kSize>
  void operator+=(const char (&text)[kSize]) {
    Need(kSize);
    std::memcpy(bytes_.get() + size_, text, kSize - 1);
    size_ += kSize - 1;
  }
  template <typename T>
  void Integer(T number) {
    Need(kMostDigits + sizeof(uint64_t));
    char* out = bytes_.get() + size_;
    auto size = static_cast<uint64_t>(number);
    if constexpr (std::is_signed_v<T>) {
      if (number < 0) *out++ = '-', size = 0 - size;
    }
    size_ = static_cast<size_t>(Digits(size, out) - bytes_.get());
  }

 private:
  static constexpr size_t kMostDigits = 21;  // including a sign

  // Returns the eight digits of a number below 10^8 as bytes, the first digit in the lowest byte.
  // Several divisions are done at once, each in its own part of a word.
  static uint64_t EightDigits(uint32_t number) {
    const uint64_t fours = number / 10'000 | uint64_t{number % 10'000} << 32;
    const uint64_t upper = (fours * 10'486 >> 20) & 0x0000'007f'0000'007f;  // divided by 100
    const uint64_t twos = upper | (fours - 100 * upper) << 16;
    const uint64_t tens = (twos * 103 >> 10) & 0x000f'000f'000f'000f;  // divided by 10
    return tens | (twos - 10 * tens) << 8;
  }
  static void Put(uint64_t bytes, char* out) {
    if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
    std::memcpy(out, &bytes, sizeof(bytes));
  }
  // Returns the end of the digits. There must be space for eight more bytes.
  static char* Digits(uint64_t number, char* out) {
    constexpr uint64_t kEight = 100'000'000, kZeros = 0x3030'3030'3030'3030;
    if (number < 10) return *out = static_cast<char>('0' + number), out + 1;
    if (number < kEight) {
      const uint64_t digits = EightDigits(static_cast<uint32_t>(number));
      const int none = std::countr_zero(digits) & ~7;  // number of bits of leading zeros
      Put((digits | kZeros) >> none, out);
      return out + 8 - none / 8;
    }
    out = Digits(number / kEight, out);
    Put(EightDigits(static_cast<uint32_t>(number % kEight)) | kZeros, out);
    return out + 8;
  }
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

#endif  // LIBTRACE_VIEW_COMMON_TEXT_BUFFER_H_
