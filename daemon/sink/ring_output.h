// SPDX-License-Identifier: Apache-2.0
//
// The flight recorder: keeps the last packets in memory.
#ifndef DAEMON_SINK_RING_OUTPUT_H_
#define DAEMON_SINK_RING_OUTPUT_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "daemon/session/packet_output.h"

namespace acceltrace::daemon {

class RingOutput : public PacketOutput {
 public:
  struct Kept {
    std::string bytes;  // a serialised Packet
    int64_t first_ns = 0;
    uint32_t rows = 0;
    int64_t written_ns = 0;  // CLOCK_MONOTONIC
  };

  explicit RingOutput(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  void Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) override;

  // The present content; it stays valid while more is written.
  std::vector<std::shared_ptr<const Kept>> Contents() const {
    return {packets_.begin(), packets_.end()};
  }

  uint64_t bytes() const { return bytes_; }
  uint64_t evicted_rows() const { return evicted_rows_; }
  // Events at this time or later are complete; 0 = nothing was overwritten.
  int64_t whole_since_ns() const { return whole_since_ns_; }

 private:
  uint64_t max_bytes_;
  uint64_t bytes_ = 0;
  uint64_t evicted_rows_ = 0;
  int64_t whole_since_ns_ = 0;
  std::deque<std::shared_ptr<const Kept>> packets_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_RING_OUTPUT_H_
