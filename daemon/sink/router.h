// SPDX-License-Identifier: Apache-2.0
//
// Sends one recording's packets to its file or flight recorder, and to live readers.
#ifndef DAEMON_SINK_ROUTER_H_
#define DAEMON_SINK_ROUTER_H_

#include <functional>
#include <optional>

#include "daemon/sink/base_packets.h"
#include "daemon/sink/file_output.h"
#include "daemon/sink/live_output.h"
#include "daemon/sink/ring_output.h"

namespace acceltrace::daemon {

class Router : public PacketOutput {
 public:
  // ring_bytes 0 means writing straight to the file.
  explicit Router(uint64_t ring_bytes);

  // Switches to this file, which must outlive its use, beginning with the packets that others
  // depend on. part is the number of the file in the recording, from 1.
  void SetFile(FileOutput* file, uint64_t part);

  void Write(proto::Packet* packet, int64_t first_ns, uint32_t rows) override;

  // Ends the flight recorder: its contents and everything from now on go to the file.
  void EndRing();

  // Copies the flight recorder to a file. `between` is called periodically and may write to this
  // router.
  void Snapshot(FileOutput* file, const std::function<void()>& between);

  Status AddLiveReader(UniqueFd fd) { return live_.Add(std::move(fd), base_); }
  LiveOutput& live() { return live_; }
  const RingOutput* ring() const { return ring_ ? &*ring_ : nullptr; }
  bool ring_open() const { return ring_open_; }

 private:
  void CopyRing(FileOutput* file, const std::function<void()>& between);

  FileOutput* file_ = nullptr;
  std::optional<RingOutput> ring_;
  bool ring_open_;
  BasePackets base_;
  LiveOutput live_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SINK_ROUTER_H_
