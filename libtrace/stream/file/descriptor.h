// SPDX-License-Identifier: Apache-2.0
//
// Streams from file descriptors that are already open.
#ifndef LIBTRACE_STREAM_FILE_DESCRIPTOR_H_
#define LIBTRACE_STREAM_FILE_DESCRIPTOR_H_

#include <memory>
#include <string>

#include "libtrace/base/result.h"
#include "libtrace/stream/file/reader.h"

namespace acceltrace::stream {

// Opens a stream from a descriptor at its current position and waits until the first packet has
// arrived. fd: is not closed and must outlive the reader. name: for messages.
Result<std::unique_ptr<Reader>> OpenDescriptor(int fd, const std::string& name);

// Opens those of the descriptors 0 to 2 that are closed; otherwise, the first opened file would be
// mistaken for the standard input or output. As with closed descriptors, reading from or writing to
// them fails. more_flags: O_CLOEXEC if they must stay closed in other programs.
void OpenStandardDescriptors(int more_flags = 0);

// Connects a stream socket to the path of a Unix socket. Returns a descriptor that the caller owns,
// or -errno.
int ConnectSocket(const std::string& path);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FILE_DESCRIPTOR_H_
