// SPDX-License-Identifier: Apache-2.0
//
// Owning wrappers of a file descriptor and of a memory mapping.
#ifndef DAEMON_BASE_UNIQUE_FD_H_
#define DAEMON_BASE_UNIQUE_FD_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

namespace acceltrace::daemon {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

class Mapping {
 public:
  Mapping() = default;
  Mapping(void* address, size_t bytes) : address_(address), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    if (this != &other) {
      Reset();
      address_ = std::exchange(other.address_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ~Mapping() { Reset(); }

  void* get() const { return address_; }
  size_t bytes() const { return bytes_; }
  void Reset() {
    if (address_ != nullptr) munmap(address_, bytes_);
    address_ = nullptr;
    bytes_ = 0;
  }

 private:
  void* address_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_UNIQUE_FD_H_
