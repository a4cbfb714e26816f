// SPDX-License-Identifier: Apache-2.0
//
// Reads some columns of a packet in parts of several rows. Internal.
#ifndef LIBTRACE_STREAM_COLUMNS_FEW_COLUMNS_H_
#define LIBTRACE_STREAM_COLUMNS_FEW_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns/block_columns.h"
#include "libtrace/stream/columns/packet_decoder.h"

namespace acceltrace::stream {

class FewColumns {
 public:
  static constexpr size_t kAtOnce = 1024;  // rows per part

  // body: the number of the batch in Packet; it must be that of commands, jobs, host events or API
  // calls. fields: the numbers of the batch's fields.
  FewColumns(uint32_t body, std::vector<uint32_t> fields);

  // Opens a packet with rows of that table. Returns false if it is damaged or of another table.
  // Columns that were not requested are not checked.
  bool Open(std::string_view packet);
  const std::vector<uint32_t>& fields() const { return fields_; }
  size_t rows() const { return rows_.rows(); }
  uint32_t device() const { return device_; }  // for commands and jobs
  // Returns the columns of a block of host jobs, or nullptr for other packets. Such a block has no
  // parts because each of its rows is several events.
  const BlockColumns* host_jobs() const { return host_jobs_ ? &host_ : nullptr; }
  // The same for host waits if the arg1 of KIND_WAKE was requested; otherwise, a block of them has
  // no rows.
  const BlockColumns* host_waits() const { return host_waits_ ? &host_ : nullptr; }

  // Goes to the next part and returns how many rows it has.
  size_t Next();
  bool has(size_t field) const { return rows_.has(columns_[field].column); }
  // Returns the values of fields[field] in the rows of the part.
  const uint64_t* Column(size_t field);
  // For commands if their stalls were requested, which Column() does not provide: the number of
  // causes, and the sum over the causes for each row of the part.
  size_t stalls() const { return has_stalls_ ? rows_.stalls() : 0; }
  const uint64_t* StallSums();
  // Returns the ticks of one cause in a row of the part.
  uint64_t StallTicks(size_t cause, size_t row) const {
    return rows_.of(proto::Block::COLUMN_STALL_TICKS + static_cast<int>(cause))[begin_ + row];
  }

 private:
  struct Of {
    int column = 0;  // number in TableRows
    bool narrow = false;
    std::vector<uint64_t> values;  // for the part that begins at `part`
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
  size_t begin_ = 0, end_ = 0;  // range of the part
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMNS_FEW_COLUMNS_H_
