// SPDX-License-Identifier: Apache-2.0
//
// Text on its way to a file: what is appended is mostly a few bytes long, which std::string makes
// a call for each time. Internal.
#ifndef LIBTRACE_VIEW_TEXT_BUFFER_H_
#define LIBTRACE_VIEW_TEXT_BUFFER_H_

#include <charconv>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
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
  template <typename T>
  void Integer(T number) {
    constexpr size_t kMostDigits = 20;
    Need(kMostDigits);
    char* const end = bytes_.get() + size_;
    size_ += static_cast<size_t>(std::to_chars(end, end + kMostDigits, number).ptr - end);
  }

 private:
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

#endif  // LIBTRACE_VIEW_TEXT_BUFFER_H_
