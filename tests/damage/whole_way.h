// SPDX-License-Identifier: Apache-2.0
//
// Does everything that the reading commands do with a trace, and discards the output.
#ifndef TESTS_DAMAGE_WHOLE_WAY_H_
#define TESTS_DAMAGE_WHOLE_WAY_H_

#include <string_view>

namespace acceltrace::test {

// Loads, reports as text and JSON, verifies as both, exports every format. Returns false if the
// bytes are refused.
bool GoTheWholeWay(std::string_view bytes);

// The memory that the commands may use for a file of this size, besides the program itself.
constexpr size_t AllowedBytes(size_t file_bytes) { return (size_t{64} << 20) + 8 * file_bytes; }

}  // namespace acceltrace::test

#endif  // TESTS_DAMAGE_WHOLE_WAY_H_
