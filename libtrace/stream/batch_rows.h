// SPDX-License-Identifier: Apache-2.0
//
// Batches to rows of a table from their bytes, without a message between them. Internal.
//
// Most columns stay bytes until somebody reads them: many are never asked for.
#ifndef LIBTRACE_STREAM_BATCH_ROWS_H_
#define LIBTRACE_STREAM_BATCH_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/reader.h"
#include "libtrace/stream/table_rows.h"

namespace acceltrace::stream {

class BatchRows {
 public:
  // bytes: a Packet, which must outlive its rows. Of a batch of commands, jobs, host events or API
  // calls, packed or not, that Validate() finds sound *packet gets all but the rows. False: it is
  // anything else, or written in another way than PacketEncoder's; the packet is as it was, and
  // protobuf's parser knows. written_bytes: of the packet, if these are some of its columns.
  bool Open(std::string_view bytes, size_t written_bytes, proto::Packet* packet);
  // What the last one was written as, its batch or a packed body, and how many bytes it counts for.
  uint32_t written_body() const { return written_body_; }
  size_t worth() const { return worth_; }
  // Of the last one that was opened.
  const TableRows& rows() const { return rows_; }
  // When they were, as TimesOf() finds it in its bytes; unknown, where that is not sure.
  PacketTimes Times() const;

 private:
  struct Part {  // a column
    std::string_view bytes;
    size_t numbers = 0;
  };
  static constexpr size_t kFields = 23;  // one more than the highest of a batch
  static constexpr size_t kDecoded = 8;  // columns that are decoded at once, at most

  bool Take(uint32_t body, std::string_view batch);
  bool Describe(uint32_t body);
  bool AddColumn(uint32_t body, uint32_t field);
  const uint64_t* Decode(const Part& part, bool zigzag, bool narrow, bool sums);

  uint32_t body_ = 0, written_body_ = 0;
  size_t worth_ = 0;
  std::string unpacked_;   // a body that came packed
  bool in_order_ = false;  // its fields rise
  uint64_t device_ = 0;
  std::array<Part, kFields> parts_;
  TableRows rows_;
  // Its room is kept for the next batch's.
  std::array<std::vector<uint64_t>, kDecoded> decoded_;
  size_t num_decoded_ = 0;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_BATCH_ROWS_H_
