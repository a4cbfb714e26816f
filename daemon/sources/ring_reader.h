// SPDX-License-Identifier: Apache-2.0
//
// The consumer's end of a mapped device trace ring. Knows nothing of ioctls, so
// that tests and the fuzzer run it on plain memory. Room: daemon/sources.
#ifndef DAEMON_SOURCES_RING_READER_H_
#define DAEMON_SOURCES_RING_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "daemon/sources/record_check.h"
#include "kmod/uapi/axl.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// The books of a ring. Records carry numbers that count dropped ones too, so the
// device's own count of losses is checked against the numbers that are missing.
struct RingCounts {
  uint64_t out = 0;           // valid records handed over, loss records included
  uint64_t lost = 0;          // dropped, as the device counts
  uint64_t bad = 0;           // refused by CheckRecord
  uint64_t bad_index = 0;     // drains that found a producer index that makes no sense
  uint64_t bad_sequence = 0;  // record numbers that went backwards
  uint64_t missing = 0;       // record numbers never seen

  uint64_t in() const { return out + bad + AllLost(); }
  // At the end of a recording: losses that the device did not own up to included.
  uint64_t AllLost() const { return lost > missing ? lost : missing; }
};

class RingReader {
 public:
  using Handler = std::function<void(const axl_record&)>;

  // map: the header page and the records, writable (the consumer index is in it).
  // It must outlive the reader. Errors: too small, wrong magic or record size.
  static Result<RingReader> Open(void* map, size_t map_bytes, const RecordLimits& limits);

  // Hands each waiting record, at most one ring full, to the handler and frees
  // its place. Returns how full the ring was, in permille.
  uint32_t Drain(const Handler& handler);

  const RingCounts& counts() const { return counts_; }

 private:
  RingReader(axl_trace_header* header, const axl_record* records, uint32_t log2_records,
             const RecordLimits& limits)
      : header_(header), records_(records), log2_records_(log2_records), limits_(limits) {}

  void CheckSequence(uint32_t sequence);

  axl_trace_header* header_;
  const axl_record* records_;
  uint32_t log2_records_;
  RecordLimits limits_;
  uint64_t consumed_ = 0;
  uint32_t next_sequence_ = 0;
  bool have_sequence_ = false;
  RingCounts counts_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_RING_READER_H_
