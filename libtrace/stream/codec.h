// SPDX-License-Identifier: Apache-2.0
//
// Bytes to fewer bytes and back. Internal.
#ifndef LIBTRACE_STREAM_CODEC_H_
#define LIBTRACE_STREAM_CODEC_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace acceltrace::stream {

// Zstandard frames; the packet around them has a checksum. level: as zstd counts.
class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  // Replaces *out. False: out of memory.
  bool Compress(std::string_view bytes, int level, std::string* out);
  // How many bytes they would take, about, from a quick try.
  size_t Estimate(std::string_view bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string scratch_;
};

// Exactly `size` bytes, which the caller has bounded, to *out; false if they are anything else.
bool Decompress(std::string_view bytes, size_t size, std::string* out);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_CODEC_H_
