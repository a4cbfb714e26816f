// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/ring_reader.h"

#include <algorithm>
#include <string>

#include "libtrace/stream/bytes/lanes.h"

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kMinLog2Records = 5;
constexpr uint32_t kMaxLog2Records = 20;

uint64_t LoadAcquire(const __u64* value) { return __atomic_load_n(value, __ATOMIC_ACQUIRE); }

}  // namespace

Result<RingReader> RingReader::Open(void* map, size_t map_bytes) {
  if (map_bytes < AXL_TRACE_HEADER_BYTES) return Status::Error("trace ring: mapping too small");
  auto* header = static_cast<axl_trace_header*>(map);
  const uint32_t magic = __atomic_load_n(&header->magic, __ATOMIC_ACQUIRE);
  const uint32_t record_bytes = __atomic_load_n(&header->record_bytes, __ATOMIC_RELAXED);
  const uint32_t log2_records = __atomic_load_n(&header->log2_records, __ATOMIC_RELAXED);
  if (magic != AXL_TRACE_MAGIC || record_bytes != AXL_TRACE_RECORD_BYTES) {
    return Status::Error("trace ring: header has magic " + std::to_string(magic) +
                         " and records of " + std::to_string(record_bytes) +
                         " bytes: driver and acceltraced are of different versions");
  }
  if (log2_records < kMinLog2Records || log2_records > kMaxLog2Records ||
      map_bytes - AXL_TRACE_HEADER_BYTES < (size_t{AXL_TRACE_RECORD_BYTES} << log2_records)) {
    return Status::Error("trace ring: header says 2^" + std::to_string(log2_records) +
                         " records, the mapping has " + std::to_string(map_bytes) + " bytes");
  }
  const auto* records =
      reinterpret_cast<const axl_record*>(static_cast<const char*>(map) + AXL_TRACE_HEADER_BYTES);
  RingReader reader(header, records, log2_records);
  reader.consumed_ = LoadAcquire(&header->consumed);
  return reader;
}

void RingReader::CheckSequences(const axl_record* records, size_t count) {
  uint32_t next = have_sequence_ ? next_sequence_ : records[0].h.sequence;
  ACCELTRACE_UNROLL
  for (size_t i = 0; i < count; ++i) {
    const uint32_t sequence = __atomic_load_n(&records[i].h.sequence, __ATOMIC_RELAXED);
    if (sequence != next) {
      const uint32_t missing = sequence - next;
      if (missing > UINT32_MAX / 2) {
        ++counts_.bad_sequence;
      } else {
        counts_.missing += missing;
      }
    }
    next = sequence + 1;
  }
  have_sequence_ = true;
  next_sequence_ = next;
  counts_.out += count;
}

size_t RingReader::Waiting() {
  const uint64_t produced = LoadAcquire(&header_->produced);
  // Never decreases, whatever the device writes.
  counts_.lost = std::max<uint64_t>(counts_.lost, LoadAcquire(&header_->lost));
  const uint64_t waiting = produced - consumed_;
  more_ = 0;
  if (waiting > uint64_t{1} << log2_records_) {
    // A device that obeys the consumer index cannot be more than a ring ahead. Nothing is read
    // until the index is valid again.
    ++counts_.bad_index;
    return 0;
  }
  more_ = waiting;
  return waiting;
}

uint64_t RingReader::Mark() const { return LoadAcquire(&header_->produced); }

uint32_t RingReader::FillPermille() const {
  const uint64_t waiting = LoadAcquire(&header_->produced) - LoadAcquire(&header_->consumed);
  return static_cast<uint32_t>(
      std::min<uint64_t>(1000, (std::min<uint64_t>(waiting, UINT32_MAX) * 1000) >> log2_records_));
}

void RingReader::Free(size_t count) {
  more_ -= count;
  __atomic_store_n(&header_->consumed, consumed_, __ATOMIC_RELEASE);
}

}  // namespace acceltrace::daemon
