// SPDX-License-Identifier: Apache-2.0
//
// Validates packets at the trust boundary.
//
// Checks everything that a single packet allows to check: equal lengths of columns, numbers within
// their limits, known enumeration values, times that cannot overflow. The model checks what depends
// on other packets (string ids, units of a device). RowDecoder checks the values of the four tables
// that may also be blocks once they are decoded to columns.
#ifndef LIBTRACE_STREAM_COLUMNS_VALIDATE_H_
#define LIBTRACE_STREAM_COLUMNS_VALIDATE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "libtrace/base/result.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::stream {

inline constexpr size_t kMaxRows = size_t{1} << 20;  // in one batch
// A row takes many times more memory than a row of default values takes in the file. Batches with
// more rows than kFreeRows must have at least LeastRowBytes() for each.
inline constexpr size_t kFreeRows = 64;
// Limits for one packet: numbers in columns, and other parts (strings, names).
inline constexpr size_t kMaxValues = size_t{1} << 21;
inline constexpr size_t kMaxParts = size_t{1} << 17;
inline constexpr uint32_t kMaxDevices = 256;
inline constexpr int kMaxUnits = 64;
inline constexpr int kMaxStalls = 32;
inline constexpr int kMaxCounters = 4096;
inline constexpr uint32_t kMaxSystemCounters = 65536;
inline constexpr uint32_t kMaxStacks = 1 << 20;  // range of stack numbers
inline constexpr uint32_t kMaxFrames = 128;      // in one stack
inline constexpr int kMaxNames = 4096;           // opcodes, limiters, statuses, probes, notes
inline constexpr size_t kMaxCells = 16384;       // units x (stall causes + limiters) of a device
inline constexpr size_t kMaxNameBytes = 256;     // for names in a Device, of probes and of hops
inline constexpr size_t kMaxStringBytes = 65536;
// Host times are in [0, kMaxTimeNs], and so are durations, so that a sum cannot overflow.
inline constexpr int64_t kMaxTimeNs = int64_t{1} << 62;

// Returns the least average size of a row in a batch of this kind.
size_t LeastRowBytes(proto::Packet::BodyCase body);

// Returns true if parsing these bytes of a packet takes little more memory than their size.
bool IsModest(std::string_view packet);

// bytes: the size of the packet as it was read.
Status Validate(const proto::Packet& packet, size_t bytes);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMNS_VALIDATE_H_
