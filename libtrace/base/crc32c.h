// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli, as in iSCSI, RFC 3720 appendix B.4).
#ifndef LIBTRACE_BASE_CRC32C_H_
#define LIBTRACE_BASE_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace acceltrace {

// Uses the processor's instruction if a check at run time finds it.
uint32_t Crc32c(std::string_view bytes);
// Continues the checksum `before` of preceding bytes (0 if there are none).
uint32_t Crc32cMore(uint32_t before, std::string_view bytes);

// The same in portable C++, for other processors and for the test that compares both.
uint32_t Crc32cPortable(std::string_view bytes, uint32_t before = 0);

}  // namespace acceltrace

#endif  // LIBTRACE_BASE_CRC32C_H_
