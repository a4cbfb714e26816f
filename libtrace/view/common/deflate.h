// SPDX-License-Identifier: Apache-2.0
//
// Compresses in zlib's format (RFC 1950 and 1951) through ISA-L, which takes a third of the time of
// zlib's fastest level and two thirds of libdeflate's. The library selects its code by the CPU, so
// that the compressed bytes may differ between machines. Internal.
#ifndef LIBTRACE_VIEW_COMMON_DEFLATE_H_
#define LIBTRACE_VIEW_COMMON_DEFLATE_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace acceltrace::view {

class Deflater {
 public:
  // Returns the compressed bytes, valid until the next call, or the original bytes if compression
  // fails.
  std::string_view Pack(std::string_view bytes);

 private:
  std::vector<uint8_t> work_, out_;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_COMMON_DEFLATE_H_
