// SPDX-License-Identifier: Apache-2.0
//
// Strings come from outside (thread names, command lines), protobuf strings must
// be UTF-8.
#ifndef LIBTRACE_STREAM_UTF8_H_
#define LIBTRACE_STREAM_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace acceltrace::stream {

// Length of the valid UTF-8 character (RFC 3629) that `bytes` starts with, 0 if none.
size_t Utf8CharBytes(std::string_view bytes);

// The character at text[*at], which moves past it; kNoCharacter for a byte that is of none.
constexpr char32_t kNoCharacter = 0xffffffff;
char32_t NextCharacter(std::string_view text, size_t* at);

bool IsUtf8(std::string_view bytes);

// Each byte that is not part of a valid character becomes '?'.
std::string ToUtf8(std::string_view bytes);

// Text of others for a terminal. Control characters, what turns the direction of what follows, ends
// a line or cannot be seen at all, and bytes that are no character become '?': they could hide or
// counterfeit what is printed around them.
std::string Printable(std::string_view text);

// Does ToUtf8() in every string of a message, nested ones included.
void ReplaceInvalidUtf8(google::protobuf::Message* message);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_UTF8_H_
