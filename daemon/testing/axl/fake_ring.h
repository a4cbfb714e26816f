// SPDX-License-Identifier: Apache-2.0
//
// A device trace ring in plain memory, with the device's side of it.
#ifndef DAEMON_TESTING_AXL_FAKE_RING_H_
#define DAEMON_TESTING_AXL_FAKE_RING_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "daemon/testing/axl/records.h"
#include "kmod/uapi/axl.h"

namespace acceltrace::daemon {

class FakeRing {
 public:
  static constexpr uint32_t kLog2 = 5;
  static constexpr uint64_t kRecords = 1 << kLog2;

  FakeRing() : memory_(AXL_TRACE_HEADER_BYTES + kRecords * AXL_TRACE_RECORD_BYTES) {
    header().magic = AXL_TRACE_MAGIC;
    header().record_bytes = AXL_TRACE_RECORD_BYTES;
    header().log2_records = kLog2;
  }
  axl_trace_header& header() { return *reinterpret_cast<axl_trace_header*>(memory_.data()); }
  void* data() { return memory_.data(); }
  size_t size() const { return memory_.size(); }

  // As the hardware does: drops records when full, and numbers dropped ones too.
  void Produce(uint32_t job) {
    const uint32_t sequence = next_sequence_++;
    if (header().produced - header().consumed == kRecords) {
      ++header().lost;
      return;
    }
    const axl_record record = CommandRecord(job, 0, sequence);
    std::memcpy(
        memory_.data() + AXL_TRACE_HEADER_BYTES + (header().produced % kRecords) * sizeof(record),
        &record, sizeof(record));
    ++header().produced;
  }

 private:
  std::vector<char> memory_;
  uint32_t next_sequence_ = 7;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_TESTING_AXL_FAKE_RING_H_
