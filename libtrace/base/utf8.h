// SPDX-License-Identifier: Apache-2.0
//
// Strings come from outside (thread names, command lines), but protobuf strings must be UTF-8.
#ifndef LIBTRACE_BASE_UTF8_H_
#define LIBTRACE_BASE_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace acceltrace {

// Returns the length of the valid UTF-8 character (RFC 3629) at the start of `bytes`, or 0.
size_t Utf8CharBytes(std::string_view bytes);

// Decodes the character at text[*at] and advances *at. Returns kNoCharacter for a byte that is not
// part of a valid one.
constexpr char32_t kNoCharacter = 0xffffffff;
char32_t NextCharacter(std::string_view text, size_t* at);

bool IsUtf8(std::string_view bytes);

// Replaces each byte that is not part of a valid character by '?'.
std::string ToUtf8(std::string_view bytes);

// Makes untrusted text safe for a terminal. Control characters, direction changes, line ends,
// invisible characters and invalid bytes become '?': they could hide or forge what is printed
// around them.
std::string Printable(std::string_view text);

// Applies ToUtf8() to every string of a message, including nested ones.
void ReplaceInvalidUtf8(google::protobuf::Message* message);

}  // namespace acceltrace

#endif  // LIBTRACE_BASE_UTF8_H_
