// SPDX-License-Identifier: Apache-2.0
//
// The times of the packets that a part of the index lists, stored beside its other columns.
// Internal.
#ifndef LIBTRACE_STREAM_FILE_INDEX_TIMES_H_
#define LIBTRACE_STREAM_FILE_INDEX_TIMES_H_

#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/file/index.h"

namespace acceltrace::stream {

// Adds them to a footer or another part of the index that has none yet: docs/stream.md, Order.
void SetIndexTimes(const std::vector<PacketTimes>& times, proto::Footer* part);
// Returns the times of all packets that the part lists, or an empty vector if it has none.
std::vector<PacketTimes> IndexTimesOf(const proto::Footer& part);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FILE_INDEX_TIMES_H_
