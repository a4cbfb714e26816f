// SPDX-License-Identifier: Apache-2.0
//
// A stream from a file descriptor that is open already.
#ifndef LIBTRACE_STREAM_DESCRIPTOR_H_
#define LIBTRACE_STREAM_DESCRIPTOR_H_

#include <memory>
#include <string>

#include "libtrace/stream/reader.h"
#include "libtrace/stream/result.h"

namespace acceltrace::stream {

// fd: read from where it is, not closed; must outlive the reader. name: for messages. Waits until
// the first packet is there.
Result<std::unique_ptr<Reader>> OpenDescriptor(int fd, const std::string& name);

// Descriptors 0 to 2 are open from now on: else the first file that is opened would be taken for
// the standard input or output. What is opened fails as a closed one does: it cannot be read, or
// not be written to. more_flags: O_CLOEXEC, where they are to stay closed in other programs.
void OpenStandardDescriptors(int more_flags = 0);

// A stream socket that is connected to a Unix socket's path, or -errno. It is the caller's.
int ConnectSocket(const std::string& path);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_DESCRIPTOR_H_
