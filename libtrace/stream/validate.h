// SPDX-License-Identifier: Apache-2.0
//
// The border: what a packet may contain.
//
// Checks everything that can be checked on one packet alone: columns as long as each
// other, numbers within their limits, enumerations known, times that cannot
// overflow. What needs other packets (string ids, units of a device) is the
// model's to check. The values of the four tables that also come as blocks are
// checked once they are columns, by RowDecoder.
#ifndef LIBTRACE_STREAM_VALIDATE_H_
#define LIBTRACE_STREAM_VALIDATE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/result.h"

namespace acceltrace::stream {

inline constexpr size_t kMaxRows = size_t{1} << 20;  // in one batch
// Reading a row takes many times the memory that one with default values takes in the file.
// Batches of more rows than this have at least so many bytes for each: LeastRowBytes().
inline constexpr size_t kFreeRows = 64;
// Of one packet: numbers in columns, and other parts (strings, names).
inline constexpr size_t kMaxValues = size_t{1} << 21;
inline constexpr size_t kMaxParts = size_t{1} << 17;
inline constexpr uint32_t kMaxDevices = 256;
inline constexpr int kMaxUnits = 64;
inline constexpr int kMaxStalls = 32;
inline constexpr int kMaxCounters = 4096;
inline constexpr uint32_t kMaxSystemCounters = 65536;
inline constexpr uint32_t kMaxStacks = 1 << 20;  // numbers of them
inline constexpr uint32_t kMaxFrames = 128;      // of a stack
inline constexpr int kMaxNames = 4096;           // opcodes, limiters, statuses, probes, notes
inline constexpr size_t kMaxCells = 16384;       // units x (stall causes + limiters) of a device
inline constexpr size_t kMaxNameBytes = 256;     // of what a Device, a probe or a hop is called
inline constexpr size_t kMaxStringBytes = 65536;
// Host times lie in [0, kMaxTimeNs] and so do durations: a sum cannot overflow.
inline constexpr int64_t kMaxTimeNs = int64_t{1} << 62;

// The least bytes for a row of a batch of this kind, on average.
size_t LeastRowBytes(proto::Packet::BodyCase body);

// Whether parsing these bytes of a packet takes little more memory than they are.
bool IsModest(std::string_view packet);

// bytes: the size of the packet as it came.
Status Validate(const proto::Packet& packet, size_t bytes);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_VALIDATE_H_
