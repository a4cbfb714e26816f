// SPDX-License-Identifier: Apache-2.0
//
// Determines until when perf rings are complete. An event gets its time before its place in the
// ring, and a record written by an interrupt is only published with the interrupted one. A CPU that
// is suspended in between publishes it late, whatever other rings show. The kernel writes records
// inside RCU read sections, so all records begun before a grace period are published after it;
// membarrier(2) waits for one.
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
  // `wait` returns true when a grace period has passed, false if it cannot wait; by default, it
  // uses the kernel's.
  explicit RingProof(std::function<bool()> wait = nullptr);
  RingProof(const RingProof&) = delete;
  RingProof& operator=(const RingProof&) = delete;
  ~RingProof();

  // Returns false if this kernel (nohz_full=) or a system call filter refuses it.
  bool available() const;
  // Events up to this time are in the rings, if these are read after this call.
  int64_t proven_ns() const;
  // Requests a proof for this moment, which is available some time later.
  void Ask() { AskFor(false); }
  // Waits for a proof of this moment, and calls `meanwhile` now and then; returns false if it takes
  // longer.
  bool Await(int64_t longest_ns, const std::function<void()>& meanwhile);

 private:
  void AskFor(bool urgent);
  void Run();

  const std::function<bool()> wait_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, proof_;
  bool available_ = true, asked_ = false, urgent_ = false, ending_ = false;
  int64_t proven_ns_ = 0;
  std::thread thread_;  // last, as it uses the other members
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_PROVIDER_RING_PROOF_H_
