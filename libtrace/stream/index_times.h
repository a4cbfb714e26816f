// SPDX-License-Identifier: Apache-2.0
//
// When the packets were that a part of the index lists, beside its other columns. Internal.
#ifndef LIBTRACE_STREAM_INDEX_TIMES_H_
#define LIBTRACE_STREAM_INDEX_TIMES_H_

#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/index.h"

namespace acceltrace::stream {

// Puts them into a footer or another part of the index, which has none yet: docs/stream.md, Order.
void SetIndexTimes(const std::vector<PacketTimes>& times, proto::Footer* part);
// As many as the part lists packets, or none: it does not say.
std::vector<PacketTimes> IndexTimesOf(const proto::Footer& part);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_INDEX_TIMES_H_
