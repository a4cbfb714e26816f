// SPDX-License-Identifier: Apache-2.0
//
// The consumer of a mapped device trace ring. It uses no ioctls, so that tests and the fuzzer can
// run it on plain memory.
#ifndef DAEMON_SOURCES_AXL_RING_READER_H_
#define DAEMON_SOURCES_AXL_RING_READER_H_

#include <cstddef>
#include <cstdint>

#include "kmod/uapi/axl.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

// The account of a ring. Record numbers also count dropped records, so the device's own count of
// losses is compared with the missing numbers.
struct RingCounts {
  uint64_t out = 0;           // records passed on, including loss records
  uint64_t lost = 0;          // dropped, according to the device
  uint64_t bad_index = 0;     // drains that found an invalid producer index
  uint64_t bad_sequence = 0;  // record numbers that decreased
  uint64_t missing = 0;       // record numbers that were never seen

  uint64_t in() const { return out + AllLost(); }
  // At the end of a recording; includes losses that the device did not report.
  uint64_t AllLost() const { return lost > missing ? lost : missing; }
};

class RingReader {
 public:
  // `map` is the header page and the records. It must be writable, since it has the consumer index,
  // and must outlive the reader. Fails if it is too small or has the wrong magic or record size.
  static Result<RingReader> Open(void* map, size_t map_bytes);

  // Passes at most max_records waiting records to the handler and frees their space. The handler is
  // called with spans of the ring as (const axl_record*, size_t). The device may write to a record
  // at any time, so the handler must read each field once. Returns the ring's fill level in
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
  // Returns true if the last Drain left records.
  bool more() const { return more_ > 0; }

  // The ring's current fill level. May be called from any thread.
  uint32_t FillPermille() const;

  // Mark() returns the current end of the ring, according to the device; Passed() whether Drain()
  // has read up to it.
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
