// SPDX-License-Identifier: Apache-2.0
//
// The border: what a packet may contain. Room: libtrace/stream.
//
// Checks everything that one packet tells by itself: columns as long as each
// other, numbers within their limits, enumerations known, times that cannot
// overflow. What needs other packets (string ids, units of a device) is the
// model's to check.
#ifndef LIBTRACE_STREAM_VALIDATE_H_
#define LIBTRACE_STREAM_VALIDATE_H_

#include <cstddef>
#include <cstdint>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/result.h"

namespace acceltrace::stream {

inline constexpr size_t kMaxRows = size_t{1} << 20;  // in one batch
inline constexpr uint32_t kMaxDevices = 256;
inline constexpr int kMaxUnits = 64;
inline constexpr int kMaxStalls = 32;
inline constexpr int kMaxCounters = 4096;
inline constexpr int kMaxNames = 4096;  // opcodes, limiters, statuses
inline constexpr size_t kMaxStringBytes = 65536;
// Host times lie in [0, kMaxTimeNs] and so do durations: a sum cannot overflow.
inline constexpr int64_t kMaxTimeNs = int64_t{1} << 62;

Status Validate(const proto::Packet& packet);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_VALIDATE_H_
