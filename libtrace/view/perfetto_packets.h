// SPDX-License-Identifier: Apache-2.0
//
// A Perfetto trace as its bytes: packets of one sequence, compressed some thousand at a time.
// Internal.
#ifndef LIBTRACE_VIEW_PERFETTO_PACKETS_H_
#define LIBTRACE_VIEW_PERFETTO_PACKETS_H_

#include <cstdint>
#include <string_view>

#include "libtrace/view/deflate.h"
#include "libtrace/view/export.h"
#include "libtrace/view/perfetto.pb.h"
#include "libtrace/view/proto_text.h"

namespace acceltrace::view {

inline constexpr uint32_t kPerfettoSequence = 1;
// The sequence's own: CLOCK_MONOTONIC as the time since the packet before, which takes a third
// less when it is packed.
inline constexpr uint32_t kPerfettoSincePacketBefore = 64;
// sequence_flags: interned names begin anew, and are needed.
inline constexpr uint32_t kPerfettoClearState = 1, kPerfettoNeedsState = 2;

class PerfettoPackets {
 public:
  explicit PerfettoPackets(const Sink& sink);

  // Sets its sequence.
  void Append(perfetto::TracePacket* packet);
  // Begins a packet: there is room for fields of so many bytes.
  ProtoCursor Begin(size_t most);
  // It ends here.
  void End(ProtoCursor end);
  // Writes what is left. After an error, which is kept, nothing is.
  Status Finish();
  const Status& status() const { return status_; }

 private:
  void Flush(std::string_view block);

  const Sink& sink_;
  Status status_;
  ProtoText buffer_, block_;
  size_t begin_ = 0;  // of the packet at hand
  Deflater deflater_;
  bool first_ = true;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_PERFETTO_PACKETS_H_
