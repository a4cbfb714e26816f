// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/common/deflate.h"

#include <isa-l/igzip_lib.h>

#include <cstring>
#include <limits>
#include <string>

namespace acceltrace::view {

std::string_view Deflater::Pack(std::string_view bytes) {
  // A byte takes at most nine bits, and a stream some tens of bytes.
  const size_t most = bytes.size() + bytes.size() / 8 + 512;
  if (most > std::numeric_limits<uint32_t>::max()) return bytes;
  if (work_.empty()) work_.resize(ISAL_DEF_LVL1_DEFAULT);
  if (out_.size() < most) out_.resize(most);
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  // Use the whole window. If this were left uninitialised, the bytes would differ from run to run.
  stream.hist_bits = 0;
  stream.end_of_stream = 1;
  stream.flush = NO_FLUSH;
  stream.gzip_flag = IGZIP_ZLIB;
  stream.level = 1;
  stream.level_buf = work_.data();
  stream.level_buf_size = static_cast<uint32_t>(work_.size());
  // The library only reads from it.
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uint32_t>(bytes.size());
  stream.next_out = out_.data();
  stream.avail_out = static_cast<uint32_t>(most);
  if (isal_deflate_stateless(&stream) != COMP_OK) return bytes;
  return {reinterpret_cast<const char*>(out_.data()), stream.total_out};
}

}  // namespace acceltrace::view
