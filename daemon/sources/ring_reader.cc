// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/ring_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kMinLog2Records = 5;
constexpr uint32_t kMaxLog2Records = 20;

uint64_t LoadAcquire(const __u64* value) { return __atomic_load_n(value, __ATOMIC_ACQUIRE); }

}  // namespace

Result<RingReader> RingReader::Open(void* map, size_t map_bytes, const RecordLimits& limits) {
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
  RingReader reader(header, records, log2_records, limits);
  reader.consumed_ = LoadAcquire(&header->consumed);
  return reader;
}

void RingReader::CheckSequence(uint32_t sequence) {
  if (have_sequence_ && sequence != next_sequence_) {
    const uint32_t missing = sequence - next_sequence_;
    if (missing > UINT32_MAX / 2) {
      ++counts_.bad_sequence;
    } else {
      counts_.missing += missing;
    }
  }
  have_sequence_ = true;
  next_sequence_ = sequence + 1;
}

uint32_t RingReader::Drain(const Handler& handler) {
  const uint64_t capacity = 1ULL << log2_records_;
  const uint64_t produced = LoadAcquire(&header_->produced);
  // Never goes down, whatever the device writes.
  counts_.lost = std::max<uint64_t>(counts_.lost, LoadAcquire(&header_->lost));
  const uint64_t waiting = produced - consumed_;
  if (waiting > capacity) {
    // A device that obeys the consumer index cannot be more than a ring ahead.
    // Nothing is read until the index makes sense again.
    ++counts_.bad_index;
    return 0;
  }
  for (uint64_t i = 0; i < waiting; ++i) {
    // A copy: the device may write the original at any time.
    axl_record record;
    std::memcpy(&record, &records_[(consumed_ + i) & (capacity - 1)], sizeof(record));
    CheckSequence(record.h.sequence);
    if (CheckRecord(record, limits_) != nullptr) {
      ++counts_.bad;
    } else {
      ++counts_.out;
      handler(record);
    }
  }
  consumed_ += waiting;
  __atomic_store_n(&header_->consumed, consumed_, __ATOMIC_RELEASE);
  return static_cast<uint32_t>(waiting * 1000 / capacity);
}

}  // namespace acceltrace::daemon
