// SPDX-License-Identifier: Apache-2.0
//
// A packet without the columns that nobody asks for: parsing them would cost most of reading it.
// Internal.
#ifndef LIBTRACE_STREAM_SOME_FIELDS_H_
#define LIBTRACE_STREAM_SOME_FIELDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/stream/packet_times.h"

namespace acceltrace::stream {

// packet: serialised, in its frame. *out: the same with these fields of its body alone, and what is
// no column, if its body has this number; else as it is. False: it is no message.
bool SomeFields(std::string_view packet, uint32_t body, const std::vector<uint32_t>& fields,
                std::string* out);

// The body of a packet, read piece by piece: all of it is summed up, some of it kept. To be used
// again, as memory that is touched first costs more than what is read into it.
class SomeOfPacket {
 public:
  // The frame that begins there and ends before `end`. fields: of a body with the number
  // `columns_of` only these; of another all. False: it is damaged, or not in the order in which
  // PacketEncoder writes it.
  bool Read(const Bytes& file, uint64_t begin, uint64_t end, uint32_t columns_of,
            const std::vector<uint32_t>& fields);
  uint32_t number() const { return number_; }  // of the body
  std::string_view body() const { return body_; }
  uint32_t checksum() const { return checksum_; }
  size_t packet_bytes() const { return packet_bytes_; }

 private:
  static constexpr size_t kPiece = size_t{32} << 10;
  bool Fill();
  bool Number(uint64_t* value);
  bool Take(uint64_t bytes, std::string* to);

  const Bytes* file_ = nullptr;
  std::unique_ptr<char[]> piece_;
  std::string_view left_;      // of the piece
  uint64_t at_ = 0, end_ = 0;  // in the file, behind the piece; of what is summed up
  uint32_t sum_ = 0, checksum_ = 0, number_ = 0;
  size_t packet_bytes_ = 0;
  std::string body_;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_SOME_FIELDS_H_
