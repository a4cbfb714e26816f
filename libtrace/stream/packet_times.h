// SPDX-License-Identifier: Apache-2.0
//
// The times of the rows of a packet, as stored in the index of a file. Internal.
#ifndef LIBTRACE_STREAM_PACKET_TIMES_H_
#define LIBTRACE_STREAM_PACKET_TIMES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "libtrace/stream/index.h"

namespace acceltrace::stream {

class Bytes {
 public:
  virtual ~Bytes() = default;
  // Returns the number of bytes read, which is less than `size` only at the end.
  virtual size_t ReadTo(uint64_t offset, char* to, size_t size) const = 0;
  std::string Read(uint64_t offset, uint64_t bytes) const {
    std::string data(std::min(bytes, size() - std::min(size(), offset)), '\0');
    data.resize(ReadTo(offset, data.data(), data.size()));
    return data;
  }
  virtual uint64_t size() const = 0;
};

// The bytes must outlive it.
class BytesInMemory : public Bytes {
 public:
  explicit BytesInMemory(std::string_view bytes) : bytes_(bytes) {}
  size_t ReadTo(uint64_t offset, char* to, size_t size) const override {
    return offset < bytes_.size() ? bytes_.copy(to, size, offset) : 0;
  }
  uint64_t size() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

// Returns when the rows of a packet were, without validating it: the times in the header of a
// block, or else the first and the last of its times. Unknown for packets without rows or without
// such a column.
PacketTimes TimesOf(const proto::Packet& packet);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_PACKET_TIMES_H_
