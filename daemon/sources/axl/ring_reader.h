// SPDX-License-Identifier: Apache-2.0
//
// The consumer's end of a mapped device trace ring. Knows nothing of ioctls, so
// that tests and the fuzzer run it on plain memory.
#ifndef DAEMON_SOURCES_AXL_RING_READER_H_
#define DAEMON_SOURCES_AXL_RING_READER_H_

#include <cstddef>
#include <cstdint>

#include "kmod/uapi/axl.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// The account of a ring. Records carry numbers that count dropped ones too, so the
// device's own count of losses is checked against the numbers that are missing.
struct RingCounts {
  uint64_t out = 0;           // records handed over, loss records included
  uint64_t lost = 0;          // dropped, as the device counts
  uint64_t bad_index = 0;     // drains that found a producer index that makes no sense
  uint64_t bad_sequence = 0;  // record numbers that went backwards
  uint64_t missing = 0;       // record numbers never seen

  uint64_t in() const { return out + AllLost(); }
  // At the end of a recording: losses that the device did not own up to included.
  uint64_t AllLost() const { return lost > missing ? lost : missing; }
};

class RingReader {
 public:
  // map: the header page and the records, writable (the consumer index is in it).
  // It must outlive the reader. Errors: too small, wrong magic or record size.
  static Result<RingReader> Open(void* map, size_t map_bytes);

  // Hands what waits, at most max_records of it, to the handler, which is called with spans of
  // the ring as (const axl_record*, size_t), and frees its place. The device may write to a
  // record at any time: the handler reads each field once. Returns how full the ring was, in
  // permille.
  template <typename Handler>
  uint32_t Drain(size_t max_records, Handler&& handler) {
    const size_t capacity = size_t{1} << log2_records_;
    const size_t waiting = Waiting();
    size_t left = waiting < max_records ? waiting : max_records;
    while (left > 0) {
      const size_t at = consumed_ & (capacity - 1);
      const size_t count = left < capacity - at ? left : capacity - at;
      CheckSequences(records_ + at, count);
      handler(records_ + at, count);
      consumed_ += count;
      left -= count;
      Free(count);
    }
    return static_cast<uint32_t>(waiting * 1000 / capacity);
  }
  // Records left in the ring by the last Drain.
  bool more() const { return more_ > 0; }

  // How full the ring is now; from any thread.
  uint32_t FillPermille() const;

  // Where the ring ends now, as the device says; and whether Drain() has come so far.
  uint64_t Mark() const;
  bool Passed(uint64_t mark) const { return static_cast<int64_t>(consumed_ - mark) >= 0; }

  const RingCounts& counts() const { return counts_; }

 private:
  RingReader(axl_trace_header* header, const axl_record* records, uint32_t log2_records)
      : header_(header), records_(records), log2_records_(log2_records) {}

  size_t Waiting();
  void Free(size_t count);
  void CheckSequences(const axl_record* records, size_t count);

  axl_trace_header* header_;
  const axl_record* records_;
  uint32_t log2_records_;
  uint64_t consumed_ = 0;
  size_t more_ = 0;
  uint32_t next_sequence_ = 0;
  bool have_sequence_ = false;
  RingCounts counts_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_RING_READER_H_
