// SPDX-License-Identifier: Apache-2.0
//
// When the rows of a packet were, by the few of its bytes that say so. Internal.
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
  // How many there were, fewer at the end only.
  virtual size_t ReadTo(uint64_t offset, char* to, size_t size) const = 0;
  std::string Read(uint64_t offset, uint64_t bytes) const {
    std::string data(std::min(bytes, size() - std::min(size(), offset)), '\0');
    data.resize(ReadTo(offset, data.data(), data.size()));
    return data;
  }
  virtual uint64_t size() const = 0;
};

// They must outlive it.
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

// The columns of a batch that say when: begins or times as differences, and lengths; 0: none.
struct TimeColumns {
  uint32_t begin = 0, length = 0;
  bool of_device = false;
};
TimeColumns TimeColumnsOf(uint32_t body);

// Of rows of such a batch, from its columns. lengths: nullptr, if there are none.
PacketTimes TimesOfRows(uint32_t body, uint32_t device, const uint64_t* begins,
                        const uint64_t* lengths, size_t rows);

// Of the packet whose frame lies in [begin, end), which need not be one. Nothing is checked: a
// wrong answer is possible where the packet is damaged.
PacketTimes TimesOf(const Bytes& file, uint64_t begin, uint64_t end);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_PACKET_TIMES_H_
