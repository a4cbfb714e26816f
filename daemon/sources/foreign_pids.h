// SPDX-License-Identifier: Apache-2.0
//
// Processes that are not recorded, as long as a drain of a ring lasts: to ask the kernel for each
// of their records takes longer than another processor needs to write one.
#ifndef DAEMON_SOURCES_FOREIGN_PIDS_H_
#define DAEMON_SOURCES_FOREIGN_PIDS_H_

#include <array>
#include <cstdint>

namespace acceltrace::daemon {

class ForeignPids {
 public:
  // Whoever is recorded is so before its first record: in the next drain it may be another process.
  void Clear() { pids_.fill(0); }
  void Add(uint32_t pid) { pids_[pid % kPids] = pid; }
  bool Has(uint32_t pid) const { return pid != 0 && pids_[pid % kPids] == pid; }

 private:
  static constexpr uint32_t kPids = 64;
  std::array<uint32_t, kPids> pids_{};
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_FOREIGN_PIDS_H_
