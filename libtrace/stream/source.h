// SPDX-License-Identifier: Apache-2.0
//
// Where a reader's bytes come from. Internal.
#ifndef LIBTRACE_STREAM_SOURCE_H_
#define LIBTRACE_STREAM_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/stream/result.h"

namespace acceltrace::stream {

// A sequence of bytes with a position.
class Source {
 public:
  virtual ~Source() = default;
  // The bytes from the position on: at least `want`, fewer only at the end of the
  // input. Valid until the next call.
  virtual std::string_view Peek(size_t want) = 0;
  virtual void Consume(size_t count) = 0;
  // Why the input ended early, empty if it simply ended.
  virtual std::string error() const = 0;
  // Whether its bytes can be had once more, from the first one on, and back to there.
  virtual bool CanRewind() const { return false; }
  virtual void Rewind() {}
};

std::unique_ptr<Source> MakeMemorySource(std::string_view bytes);

// fd: not closed, must outlive the source.
std::unique_ptr<Source> MakeDescriptorSource(int fd);

// path: a file, "-" for standard input, or a Unix stream socket. Files are read
// and not mapped: a file that another process cuts short while we read it would
// end this process with SIGBUS, and sequential reads cost the same.
Result<std::unique_ptr<Source>> OpenSource(const std::string& path);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_SOURCE_H_
