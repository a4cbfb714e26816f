// SPDX-License-Identifier: Apache-2.0
//
// Converts messages from and to lines of JSON, by protobuf's own mapping.
#ifndef LIBTRACE_CONTROL_JSON_H_
#define LIBTRACE_CONTROL_JSON_H_

#include <string>
#include <string_view>

#include "libtrace/base/result.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace acceltrace::control {

// Returns one line without a newline. Bytes that are not UTF-8 become '?'.
std::string ToJson(const google::protobuf::Message& message);

// The text is untrusted. Members that the message does not know are errors unless they are
// ignored, and so are texts with a NUL, which would end a path early.
enum class UnknownMembers { kRefused, kIgnored };
Status FromJson(std::string_view text, UnknownMembers unknown, google::protobuf::Message* message);

}  // namespace acceltrace::control

#endif  // LIBTRACE_CONTROL_JSON_H_
