// SPDX-License-Identifier: Apache-2.0
//
// The times of the rows of a packet, as stored in the index of a file. Internal.
#ifndef LIBTRACE_STREAM_FILE_PACKET_TIMES_H_
#define LIBTRACE_STREAM_FILE_PACKET_TIMES_H_

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/file/index.h"

namespace acceltrace::stream {

// Returns when the rows of a packet were, without validating it: the times in the header of a
// block, or else the first and the last of its times. Unknown for packets without rows or without
// such a column.
PacketTimes TimesOf(const proto::Packet& packet);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FILE_PACKET_TIMES_H_
