// SPDX-License-Identifier: Apache-2.0
//
// Up to when perf's rings are complete. An event has its time before it has its place, and a
// record that an interrupt wrote is only given away with the one that the interrupt came into: a
// CPU that is kept away in between gives it late, whatever other rings say. The kernel writes
// records inside of RCU's read sections, so that after a grace period all are given away that
// were begun before it; membarrier(2) waits for one.
#ifndef DAEMON_SOURCES_PROVIDER_RING_PROOF_H_
#define DAEMON_SOURCES_PROVIDER_RING_PROOF_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace acceltrace::daemon {

class RingProof {
 public:
  // wait: returns when a grace period has passed, false if it cannot; none: the kernel's own.
  explicit RingProof(std::function<bool()> wait = nullptr);
  RingProof(const RingProof&) = delete;
  RingProof& operator=(const RingProof&) = delete;
  ~RingProof();

  // False: this kernel (nohz_full=) or a filter of system calls refuses it.
  bool available() const;
  // What has a time up to here is in the rings for who reads them after this.
  int64_t proven_ns() const;
  // That this moment be proven, some time later.
  void Ask() { AskFor(false); }
  // Waits for that, and calls `meanwhile` now and then; false: it takes longer.
  bool Await(int64_t longest_ns, const std::function<void()>& meanwhile);

 private:
  void AskFor(bool urgent);
  void Run();

  const std::function<bool()> wait_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, proof_;
  bool available_ = true, asked_ = false, urgent_ = false, ending_ = false;
  int64_t proven_ns_ = 0;
  std::thread thread_;  // last: uses the others
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_PROVIDER_RING_PROOF_H_
