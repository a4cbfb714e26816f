// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli, as in iSCSI, RFC 3720 appendix B.4).
#ifndef LIBTRACE_STREAM_CRC32C_H_
#define LIBTRACE_STREAM_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace acceltrace::stream {

// Uses the processor's instruction where there is one, found out at run time.
uint32_t Crc32c(std::string_view bytes);
// Of bytes that follow others, whose checksum is `before` (of none: 0).
uint32_t Crc32cMore(uint32_t before, std::string_view bytes);

// The same in plain C++, for other processors and for the test that compares both.
uint32_t Crc32cPortable(std::string_view bytes, uint32_t before = 0);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_CRC32C_H_
