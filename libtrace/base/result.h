// SPDX-License-Identifier: Apache-2.0
//
// Errors as values. A Status is either fine or a message that says what was wrong and what to do
// about it; a Result<T> holds a T or a Status.
#ifndef LIBTRACE_BASE_RESULT_H_
#define LIBTRACE_BASE_RESULT_H_

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace acceltrace {

class [[nodiscard]] Status {
 public:
  Status() = default;  // fine
  static Status Error(std::string message) {
    Status status;
    status.message_ = std::move(message);
    return status;
  }

  bool ok() const { return !message_.has_value(); }
  // Empty when ok().
  const std::string& message() const {
    static const std::string kNone;
    return message_ ? *message_ : kNone;
  }

 private:
  std::optional<std::string> message_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit by design
    assert(!status_.ok());
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  const std::string& message() const { return status_.message(); }

  // Must only be called if ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace acceltrace

#endif  // LIBTRACE_BASE_RESULT_H_
