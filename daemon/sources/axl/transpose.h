// SPDX-License-Identifier: Apache-2.0
//
// Transposes command records, as written by the device, to columns of 64-bit words, four records at
// once.
#ifndef DAEMON_SOURCES_AXL_TRANSPOSE_H_
#define DAEMON_SOURCES_AXL_TRANSPOSE_H_

#include <cstddef>
#include <cstdint>

#include "kmod/uapi/axl_hw.h"

namespace acceltrace::daemon {

inline constexpr size_t kRecordWords = AXL_TRACE_RECORD_BYTES / sizeof(uint64_t);

// Word w of record i is stored in columns[w * stride + i]. Each word is read once; up to three
// values after the last row of each column are overwritten.
void Transpose(const axl_record* const* records, size_t count, uint64_t* columns, size_t stride);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_TRANSPOSE_H_
