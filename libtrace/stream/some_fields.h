// SPDX-License-Identifier: Apache-2.0
//
// A packet without the columns that nobody asks for: parsing them would cost most of reading it.
// Internal.
#ifndef LIBTRACE_STREAM_SOME_FIELDS_H_
#define LIBTRACE_STREAM_SOME_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace acceltrace::stream {

// packet: serialised, in its frame. *out: the same with these fields of its body alone, and what is
// no column, if its body has this number; else as it is. False: it is no message.
bool SomeFields(std::string_view packet, uint32_t body, const std::vector<uint32_t>& fields,
                std::string* out);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_SOME_FIELDS_H_
