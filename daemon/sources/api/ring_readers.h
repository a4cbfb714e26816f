// SPDX-License-Identifier: Apache-2.0
//
// Which recordings of this daemon record a process. One of them can read the rings that
// its API calls are written to; the others need its probes, and need them before it makes
// its first call.
#ifndef DAEMON_SOURCES_API_RING_READERS_H_
#define DAEMON_SOURCES_API_RING_READERS_H_

#include <cstdint>
#include <functional>

namespace acceltrace::daemon {

// A recording that reads rings, known to all others of this daemon while this lives. They may
// be on other threads.
class RingUser {
 public:
  // records: whether it records a process; called by any thread until this is destroyed.
  explicit RingUser(std::function<bool(uint32_t pid)> records);
  ~RingUser();
  RingUser(const RingUser&) = delete;
  RingUser& operator=(const RingUser&) = delete;

  // It has probes as well from now on, and can leave rings to those that have none.
  void HasProbes();

  bool AnyOther() const;
  bool OtherRecords(uint32_t pid) const;
  // Whether the rings of the process are for another one, which has nothing else.
  bool LeavesTo(uint32_t pid) const;

 private:
  bool Other(const std::function<bool(const RingUser&)>& is) const;

  std::function<bool(uint32_t)> records_;
  bool probes_ = false;  // under the lock of all
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_RING_READERS_H_
