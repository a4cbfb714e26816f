// SPDX-License-Identifier: Apache-2.0
//
// A finished trace in less room: small blocks become large ones, and all that is worth it is
// compressed. It says the same.
#ifndef LIBTRACE_STREAM_PACK_TRACE_H_
#define LIBTRACE_STREAM_PACK_TRACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "libtrace/stream/result.h"

namespace acceltrace::stream {

struct PackedSize {
  uint64_t before_bytes = 0, after_bytes = 0, events = 0;
};

// path: a file, read twice. write: takes the new one piece by piece.
// Errors: cannot be read; damaged, cut short or of a newer version (nothing was written then);
// what `write` says.
Result<PackedSize> PackTrace(const std::string& path,
                             const std::function<Status(std::string_view)>& write);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_PACK_TRACE_H_
