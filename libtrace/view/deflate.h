// SPDX-License-Identifier: Apache-2.0
//
// Bytes by deflate, in zlib's format (RFC 1950 and 1951), through libdeflate: half of the time that
// zlib's own quickest level takes. Internal.
#ifndef LIBTRACE_VIEW_DEFLATE_H_
#define LIBTRACE_VIEW_DEFLATE_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

struct libdeflate_compressor;

namespace acceltrace::view {

class Deflater {
 public:
  // The bytes packed, good until the next call; as they are if there is no memory for that.
  std::string_view Pack(std::string_view bytes);

 private:
  struct Free {
    void operator()(libdeflate_compressor* compressor) const;
  };
  std::unique_ptr<libdeflate_compressor, Free> compressor_;
  std::vector<char> out_;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_DEFLATE_H_
