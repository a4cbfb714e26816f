// SPDX-License-Identifier: Apache-2.0
//
// Reads the packets of a trace in order; for long traces, one thread reads while another one
// processes them. Internal.
#ifndef LIBTRACE_STREAM_FILE_READ_AHEAD_H_
#define LIBTRACE_STREAM_FILE_READ_AHEAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/file/reader.h"

namespace acceltrace::stream {

// A packet, and what its Reader returns after it.
struct PacketRead {
  proto::Packet packet;
  const TableRows* columns = nullptr;
  uint64_t written_rows = 0;
  uint64_t bytes = 0, worth_bytes = 0;  // from ReadStats
};

// Calls take() for each packet, with its columns kept, on this thread, until it returns false or
// the input ends. For traces of at least kAheadFromBytes, another thread reads ahead unless
// `threads` is 1. The reader must not be used otherwise until this returns.
inline constexpr uint64_t kAheadFromBytes = uint64_t{16} << 20;
void EachPacket(Reader* reader, size_t threads, const std::function<bool(const PacketRead&)>& take,
                uint64_t ahead_from_bytes = kAheadFromBytes);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FILE_READ_AHEAD_H_
