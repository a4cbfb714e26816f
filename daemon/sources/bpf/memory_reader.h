// SPDX-License-Identifier: Apache-2.0
//
// Reads strings in the memory of processes. Reading a page may block for as long as its process
// likes (pages filled by userfaultfd or by a file system that it serves). Therefore a separate
// thread reads, and processes that block it are not read any more.
#ifndef DAEMON_SOURCES_BPF_MEMORY_READER_H_
#define DAEMON_SOURCES_BPF_MEMORY_READER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

namespace acceltrace::daemon {

class MemoryReader {
 public:
  // `patience` is how long one read may take. A page that is read from a disk arrives within that
  // time.
  explicit MemoryReader(std::chrono::milliseconds patience = std::chrono::milliseconds(50));
  ~MemoryReader();

  // Returns a C string of at most max_bytes; empty if it is unreadable, or if the read would block.
  std::string ReadString(uint32_t pid, uint64_t address, size_t max_bytes);

 private:
  struct Helper;

  const std::chrono::milliseconds patience_;
  std::shared_ptr<Helper> helper_;  // null until it is needed
  std::set<uint32_t> waited_for_;
  int64_t reads_left_, refilled_ns_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_MEMORY_READER_H_
