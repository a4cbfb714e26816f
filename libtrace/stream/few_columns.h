// SPDX-License-Identifier: Apache-2.0
//
// Some columns of a packet, some rows at a time, from its bytes: what a message of it would take in
// memory costs more than what is asked for. Internal.
#ifndef LIBTRACE_STREAM_FEW_COLUMNS_H_
#define LIBTRACE_STREAM_FEW_COLUMNS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/stream/batch_fields.h"
#include "libtrace/stream/block_columns.h"
#include "libtrace/stream/some_fields.h"

namespace acceltrace::stream {

class FewColumns {
 public:
  static constexpr size_t kAtOnce = 1024;  // rows of a part

  // fields: of the batch with this number in Packet, by their numbers; the first says how many rows
  // there are. Of commands, jobs, host events and API calls.
  FewColumns(uint32_t body, std::vector<uint32_t> fields);

  // A packet's body, which has the fields and must outlive this. False: it is damaged, or written
  // in another way than PacketEncoder's, which only protobuf's parser knows. Of columns that are
  // not asked for nothing is checked.
  bool Open(const SomeOfPacket& packet);
  // The same of a body with this number in Packet. bytes: of the packet.
  bool Open(uint32_t number, std::string_view body, size_t bytes);
  const std::vector<uint32_t>& fields() const { return fields_; }
  size_t rows() const { return rows_; }
  uint32_t device() const { return device_; }  // of commands and jobs
  // It came as a block, in which a column that is not there is zero.
  bool is_block() const { return is_block_; }
  // Not nullptr: it is a block of host jobs, a row of which is several events. It has no parts.
  const BlockColumns* host_jobs() const { return host_jobs_ ? &block_ : nullptr; }

  // The same of host waits, if KIND_WAKE's arg1 is asked for; else these have no rows.
  const BlockColumns* host_waits() const { return host_waits_ ? &block_ : nullptr; }

  // To the next part; how many rows it has.
  size_t Next();
  bool has(size_t field) const { return columns_[field].there; }
  // Of commands, if their stalls are asked for, which Column() does not have: how many each has,
  // and what they are together in the rows of the part.
  size_t stalls() const { return stalls_; }
  const uint64_t* StallSums();
  // Of its rows the values of fields[field].
  const uint64_t* Column(size_t field);
  // False: a value that was asked for is none.
  bool fine() const { return fine_; }

 private:
  struct Of {
    FieldKind kind = FieldKind::kWide;
    int in_block = 0;  // its number in blocks
    bool there = false;
    std::string_view left;  // of a batch, from row `at` on
    BlockColumn of_block;
    size_t at = 0;
    uint64_t before = 0;
    std::vector<uint64_t> values;  // of the part that begins at `part`
    size_t part = SIZE_MAX;
  };

  bool OpenBatch(std::string_view batch, size_t worth);
  bool OpenPacked(std::string_view packed, size_t worth);
  bool OpenBlock(std::string_view bytes, bool packed, size_t worth);
  void Decode(Of* column);

  const uint32_t body_;
  const std::vector<uint32_t> fields_;
  std::vector<Of> columns_;
  BlockColumns block_;
  std::string unpacked_;
  bool is_block_ = false, host_jobs_ = false, host_waits_ = false, fine_ = true;
  uint32_t device_ = 0;
  size_t rows_ = 0, begin_ = 0, end_ = 0;  // of the part
  size_t stall_field_ = SIZE_MAX, stalls_ = 0;
  std::vector<uint64_t> stall_ticks_;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FEW_COLUMNS_H_
