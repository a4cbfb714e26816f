// SPDX-License-Identifier: Apache-2.0
//
// Texts in the memory of processes. To read a page may wait for as long as its process likes (pages
// that it fills in itself, by userfaultfd or a file system that it serves), so another thread does,
// and whoever lets it wait is read no more.
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
  // patience: how long one read may take. A page that has to come from a disk is there by then.
  explicit MemoryReader(std::chrono::milliseconds patience = std::chrono::milliseconds(50));
  ~MemoryReader();

  // A C string, at most max_bytes long; empty if unreadable, or if it would have to be waited for.
  std::string ReadString(uint32_t pid, uint64_t address, size_t max_bytes);

 private:
  struct Helper;

  const std::chrono::milliseconds patience_;
  std::shared_ptr<Helper> helper_;  // none until it is needed
  std::set<uint32_t> waited_for_;
  int64_t reads_left_, refilled_ns_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_MEMORY_READER_H_
