// SPDX-License-Identifier: Apache-2.0
//
// How the columns of batches lie in their bytes. Internal.
#ifndef LIBTRACE_STREAM_BATCH_FIELDS_H_
#define LIBTRACE_STREAM_BATCH_FIELDS_H_

#include <cstdint>
#include <span>

namespace acceltrace::stream {

// Deltas: sums of what is there. Signed: as sint64, or sint32. Narrow: of 32 bits.
enum class FieldKind : uint8_t { kNone, kDeltas, kSigned, kWide, kNarrow };

struct BatchField {
  FieldKind kind = FieldKind::kNone;
  int in_block = 0;  // its number in blocks
};

// Of the batch with this number in Packet, by their numbers: of commands, jobs, host events and API
// calls; else none.
std::span<const BatchField> BatchFields(uint32_t body);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_BATCH_FIELDS_H_
