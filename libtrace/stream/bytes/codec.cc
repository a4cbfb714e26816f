// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/bytes/codec.h"

#include <zstd.h>

#include <memory>

namespace acceltrace::stream {

struct Compressor::Impl {
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context{ZSTD_createCCtx(), ZSTD_freeCCtx};
};

Compressor::Compressor() : impl_(std::make_unique<Impl>()) {}
Compressor::~Compressor() = default;

bool Compressor::Compress(std::string_view bytes, int level, std::string* out) {
  out->resize(ZSTD_compressBound(bytes.size()));
  if (impl_->context == nullptr) return false;
  const size_t size = ZSTD_compressCCtx(impl_->context.get(), out->data(), out->size(),
                                        bytes.data(), bytes.size(), level);
  if (ZSTD_isError(size) != 0) return false;
  out->resize(size);
  return true;
}

size_t Compressor::Estimate(std::string_view bytes) {
  return Compress(bytes, 1, &scratch_) ? scratch_.size() : bytes.size();
}

bool Decompress(std::string_view bytes, size_t size, std::string* out) {
  static thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context{
      ZSTD_createDCtx(), ZSTD_freeDCtx};
  if (size == 0) {
    out->clear();
    return bytes.empty();
  }
  // The frame's header has its size: nothing is allocated for a wrong one.
  if (context == nullptr || ZSTD_getFrameContentSize(bytes.data(), bytes.size()) != size) {
    return false;
  }
  out->resize(size);  // does not clear what was there before
  return ZSTD_decompressDCtx(context.get(), out->data(), size, bytes.data(), bytes.size()) == size;
}

}  // namespace acceltrace::stream
