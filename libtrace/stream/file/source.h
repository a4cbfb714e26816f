// SPDX-License-Identifier: Apache-2.0
//
// The sources of a reader's bytes. Internal.
#ifndef LIBTRACE_STREAM_FILE_SOURCE_H_
#define LIBTRACE_STREAM_FILE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/base/result.h"

namespace acceltrace::stream {

// A sequence of bytes with a position.
class Source {
 public:
  virtual ~Source() = default;
  // Returns the bytes from the position on: at least `want`, or fewer at the end of the input.
  // Valid until the next call.
  virtual std::string_view Peek(size_t want) = 0;
  virtual void Consume(size_t count) = 0;
  // Returns why the input ended early, or an empty string if it did not.
  virtual std::string error() const = 0;
  // Returns true if the bytes can be read again with Rewind(), from the first one on.
  virtual bool CanRewind() const { return false; }
  virtual void Rewind() {}
};

std::unique_ptr<Source> MakeMemorySource(std::string_view bytes);

// fd: is not closed and must outlive the source.
std::unique_ptr<Source> MakeDescriptorSource(int fd);

// path: a file, "-" for standard input, or a Unix stream socket. Files are read and not mapped: if
// another process truncated a mapped file, SIGBUS would end this process, and sequential reads are
// as fast.
Result<std::unique_ptr<Source>> OpenSource(const std::string& path);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FILE_SOURCE_H_
