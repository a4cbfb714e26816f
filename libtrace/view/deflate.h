// SPDX-License-Identifier: Apache-2.0
//
// Bytes by deflate, in zlib's format (RFC 1950 and 1951), through ISA-L: a third of the time that
// zlib's own quickest level takes, two thirds of libdeflate's. The library chooses its code by the
// CPU: what is packed on another machine is the same when it is unpacked, not before. Internal.
#ifndef LIBTRACE_VIEW_DEFLATE_H_
#define LIBTRACE_VIEW_DEFLATE_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace acceltrace::view {

class Deflater {
 public:
  // The bytes packed, good until the next call; as they are if that cannot be.
  std::string_view Pack(std::string_view bytes);

 private:
  std::vector<uint8_t> work_, out_;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_DEFLATE_H_
