// SPDX-License-Identifier: Apache-2.0
//
// Some columns of the rows of a packet, some rows at a time. Internal.
#ifndef LIBTRACE_STREAM_FEW_COLUMNS_H_
#define LIBTRACE_STREAM_FEW_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/block_columns.h"
#include "libtrace/stream/packet_decoder.h"

namespace acceltrace::stream {

class FewColumns {
 public:
  static constexpr size_t kAtOnce = 1024;  // rows of a part

  // fields: of the batch with this number in Packet, by their numbers. Of commands, jobs, host
  // events and API calls.
  FewColumns(uint32_t body, std::vector<uint32_t> fields);

  // Opens a packet with rows of that table. Returns false if it is damaged, or another one. Of
  // columns that are not asked for nothing is checked.
  bool Open(std::string_view packet);
  const std::vector<uint32_t>& fields() const { return fields_; }
  size_t rows() const { return rows_.rows(); }
  uint32_t device() const { return device_; }  // of commands and jobs
  // Not nullptr if the packet is a block of host jobs, a row of which is several events: that has
  // no parts.
  const BlockColumns* host_jobs() const { return host_jobs_ ? &host_ : nullptr; }
  // The same of host waits, if the arg1 of KIND_WAKE is asked for; else a block of them has no
  // rows.
  const BlockColumns* host_waits() const { return host_waits_ ? &host_ : nullptr; }

  // Goes to the next part and returns how many rows it has.
  size_t Next();
  bool has(size_t field) const { return rows_.has(columns_[field].column); }
  // The values of fields[field] in the rows of the part.
  const uint64_t* Column(size_t field);
  // Of commands, if their stalls are asked for, which Column() does not have: how many causes there
  // are, and the sum over them for each row of the part.
  size_t stalls() const { return has_stalls_ ? rows_.stalls() : 0; }
  const uint64_t* StallSums();
  // The ticks of one cause in a row of the part.
  uint64_t StallTicks(size_t cause, size_t row) const {
    return rows_.of(proto::Block::COLUMN_STALL_TICKS + static_cast<int>(cause))[begin_ + row];
  }

 private:
  struct Of {
    int column = 0;  // in TableRows
    bool narrow = false;
    std::vector<uint64_t> values;  // of the part that begins at `part`
    size_t part = SIZE_MAX;
  };

  bool OpenHost(const proto::Block& block, bool packed);

  const uint32_t body_;
  const std::vector<uint32_t> fields_;
  std::vector<Of> columns_;
  Of stall_sums_;
  proto::Packet packet_;
  PacketDecoder decoder_;
  BlockColumns host_;
  TableRows rows_;
  bool host_jobs_ = false, host_waits_ = false, has_stalls_ = false;
  uint32_t device_ = 0;
  size_t begin_ = 0, end_ = 0;  // of the part
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FEW_COLUMNS_H_
