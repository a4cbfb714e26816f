// SPDX-License-Identifier: Apache-2.0
//
// Strings come from outside (thread names, command lines), protobuf strings must
// be UTF-8.
#ifndef LIBTRACE_STREAM_UTF8_H_
#define LIBTRACE_STREAM_UTF8_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace acceltrace::stream {

// Length of the valid UTF-8 character (RFC 3629) that `bytes` starts with, 0 if none.
size_t Utf8CharBytes(std::string_view bytes);

bool IsUtf8(std::string_view bytes);

// Each byte that is not part of a valid character becomes '?'.
std::string ToUtf8(std::string_view bytes);

// Does so in every string of a message, nested ones included.
void ReplaceInvalidUtf8(google::protobuf::Message* message);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_UTF8_H_
