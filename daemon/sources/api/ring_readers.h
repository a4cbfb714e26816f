// SPDX-License-Identifier: Apache-2.0
//
// Tells which recordings of this daemon record a process. Only one of them can read the rings that
// its API calls are written to; the others need its probes, before it makes its first call.
#ifndef DAEMON_SOURCES_API_RING_READERS_H_
#define DAEMON_SOURCES_API_RING_READERS_H_

#include <cstdint>
#include <functional>

namespace acceltrace::daemon {

// A recording that reads rings, known to all others of this daemon while it exists. They may run in
// other threads.
class RingUser {
 public:
  // `records` tells whether it records a process. It is called by any thread until this is
  // destroyed.
  explicit RingUser(std::function<bool(uint32_t pid)> records);
  ~RingUser();
  RingUser(const RingUser&) = delete;
  RingUser& operator=(const RingUser&) = delete;

  // From now on this recording has probes as well, so it can leave rings to recordings without
  // them.
  void HasProbes();

  bool AnyOther() const;
  bool OtherRecords(uint32_t pid) const;
  // Returns true if the rings of the process are for another recording, which has no probes.
  bool LeavesTo(uint32_t pid) const;

 private:
  bool Other(const std::function<bool(const RingUser&)>& is) const;

  std::function<bool(uint32_t)> records_;
  bool probes_ = false;  // guarded by the global lock
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_RING_READERS_H_
