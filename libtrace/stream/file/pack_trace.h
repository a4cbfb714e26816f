// SPDX-License-Identifier: Apache-2.0
//
// Makes a finished trace smaller: small blocks are merged into large ones, and packets are
// compressed if that is worthwhile. The content stays the same.
#ifndef LIBTRACE_STREAM_FILE_PACK_TRACE_H_
#define LIBTRACE_STREAM_FILE_PACK_TRACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "libtrace/base/result.h"

namespace acceltrace::stream {

struct PackedSize {
  uint64_t before_bytes = 0, after_bytes = 0, events = 0;
};

// path: a file, which is read twice. write: receives the new trace piece by piece. Fails if the
// file cannot be read, is damaged, truncated or of a newer version (nothing was written then), or
// with the error of `write`.
Result<PackedSize> PackTrace(const std::string& path,
                             const std::function<Status(std::string_view)>& write);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FILE_PACK_TRACE_H_
