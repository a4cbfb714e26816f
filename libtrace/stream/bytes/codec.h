// SPDX-License-Identifier: Apache-2.0
//
// Compression and decompression of bytes. Internal.
#ifndef LIBTRACE_STREAM_BYTES_CODEC_H_
#define LIBTRACE_STREAM_BYTES_CODEC_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace acceltrace::stream {

// Writes Zstandard frames without checksums, because the packet around them has one. level: as zstd
// counts.
class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  // Replaces *out. Returns false if there is not enough memory.
  bool Compress(std::string_view bytes, int level, std::string* out);
  // Estimates the compressed size with a fast trial compression.
  size_t Estimate(std::string_view bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string scratch_;
};

// Decompresses exactly `size` bytes to *out; the caller has bounded the size. Returns false if the
// content has another size or is invalid.
bool Decompress(std::string_view bytes, size_t size, std::string* out);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_BYTES_CODEC_H_
