// SPDX-License-Identifier: Apache-2.0
//
// Assembles the bytes of a Perfetto trace: packets of one sequence, compressed in groups of some
// thousand. Internal.
#ifndef LIBTRACE_VIEW_TIMELINE_PERFETTO_PACKETS_H_
#define LIBTRACE_VIEW_TIMELINE_PERFETTO_PACKETS_H_

#include <cstdint>
#include <string_view>

#include "libtrace/view/common/deflate.h"
#include "libtrace/view/common/export.h"
#include "libtrace/view/timeline/perfetto.pb.h"
#include "libtrace/view/timeline/proto_text.h"

namespace acceltrace::view {

inline constexpr uint32_t kPerfettoSequence = 1;
// A clock of the sequence itself: CLOCK_MONOTONIC as the time since the previous packet, which
// compresses to a third less.
inline constexpr uint32_t kPerfettoSincePacketBefore = 64;
// Values of sequence_flags: interned names start again, or are needed.
inline constexpr uint32_t kPerfettoClearState = 1, kPerfettoNeedsState = 2;

class PerfettoPackets {
 public:
  explicit PerfettoPackets(const Sink& sink);

  // Also sets the packet's sequence.
  void Append(perfetto::TracePacket* packet);
  // Begins a packet and reserves space for fields of up to `most` bytes.
  ProtoCursor Begin(size_t most);
  // Ends the packet.
  void End(ProtoCursor end);
  // Writes the remaining packets. After an error, which is kept, does nothing.
  Status Finish();
  const Status& status() const { return status_; }

 private:
  void Flush(std::string_view block);

  const Sink& sink_;
  Status status_;
  ProtoText buffer_, block_;
  size_t begin_ = 0;  // begin of the current packet
  Deflater deflater_;
  bool first_ = true;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TIMELINE_PERFETTO_PACKETS_H_
