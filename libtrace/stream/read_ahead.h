// SPDX-License-Identifier: Apache-2.0
//
// Packets one after the other, of long traces read by one thread while another one takes them.
// Internal.
#ifndef LIBTRACE_STREAM_READ_AHEAD_H_
#define LIBTRACE_STREAM_READ_AHEAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/reader.h"

namespace acceltrace::stream {

// A packet, and what its Reader says after it.
struct PacketRead {
  proto::Packet packet;
  const TableRows* columns = nullptr;
  uint64_t written_rows = 0;
  uint64_t bytes = 0, worth_bytes = 0;  // of ReadStats
};

// take() of each packet, with its columns kept, on this thread, until it says false or there are no
// more. From this many bytes on the next ones are read meanwhile, unless `threads` is 1. The reader
// is for nobody else until this returns.
inline constexpr uint64_t kAheadFromBytes = uint64_t{16} << 20;
void EachPacket(Reader* reader, size_t threads, const std::function<bool(const PacketRead&)>& take,
                uint64_t ahead_from_bytes = kAheadFromBytes);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_READ_AHEAD_H_
