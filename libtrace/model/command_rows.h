// SPDX-License-Identifier: Apache-2.0
//
// Some rows of commands, as PartialTrace::EachCommand() gives them: numbers as they are wanted,
// decoded when they are asked for, and gone with the next rows.
#ifndef LIBTRACE_MODEL_COMMAND_ROWS_H_
#define LIBTRACE_MODEL_COMMAND_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "libtrace/stream/few_columns.h"

namespace acceltrace::model {

class CommandRows {
 public:
  static constexpr size_t kAtOnce = stream::FewColumns::kAtOnce;

  uint32_t device() const { return device_; }  // row in Model::devices
  size_t rows() const { return rows_; }
  // Of a field of proto::CommandBatch that was asked for, but none of an instant or stalls.
  const uint64_t* Field(uint32_t field) { return columns_->Column(place_[field]); }
  // The ticks of the instant that has this field; it and those before it were asked for.
  const uint64_t* Ticks(uint32_t field);
  // As Model::BusyTicks(); start, end and stalls were asked for.
  const uint64_t* BusyTicks();
  // String ids of what the commands were called; the tag was asked for.
  const uint64_t* Ops() const { return ops_->data(); }

 private:
  friend class AllCommands;
  static constexpr size_t kInstants = 4, kFields = 32;

  // Of the next rows; columns: open.
  void Set(uint32_t device, size_t rows) {
    device_ = device, rows_ = rows;
    have_.fill(false);
  }

  stream::FewColumns* columns_ = nullptr;
  const std::vector<uint64_t>* ops_ = nullptr;
  std::array<size_t, kFields> place_ = {};  // of fields in the columns
  uint32_t device_ = 0;
  size_t rows_ = 0;
  std::array<bool, kInstants> have_ = {};
  std::array<std::vector<uint64_t>, kInstants> ticks_;
  std::vector<uint64_t> busy_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_COMMAND_ROWS_H_
