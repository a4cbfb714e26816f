// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/deflate.h"

#include <libdeflate.h>

namespace acceltrace::view {

void Deflater::Free::operator()(libdeflate_compressor* compressor) const {
  libdeflate_free_compressor(compressor);
}

std::string_view Deflater::Pack(std::string_view bytes) {
  constexpr int kQuickest = 1;
  if (!compressor_) compressor_.reset(libdeflate_alloc_compressor(kQuickest));
  if (!compressor_) return bytes;
  const size_t most = libdeflate_zlib_compress_bound(compressor_.get(), bytes.size());
  if (out_.size() < most) out_.resize(most);
  return {out_.data(), libdeflate_zlib_compress(compressor_.get(), bytes.data(), bytes.size(),
                                                out_.data(), out_.size())};
}

}  // namespace acceltrace::view
