// SPDX-License-Identifier: Apache-2.0
//
// Finds out what a file lacks of what was written to it, according to its footer. Internal.
#ifndef LIBTRACE_MODEL_TABLES_PARTS_H_
#define LIBTRACE_MODEL_TABLES_PARTS_H_

#include <array>
#include <cstdint>

#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// Counts packets and rows of each kind as they are read, and finally compares the counts with the
// footer's index and with the accounts.
class PartCounter {
 public:
  // rows: number of rows as written.
  void Add(const proto::Packet& packet, uint64_t rows);
  // Must be called after the last packet.
  Missing Done(const stream::ReadStats& read) const;

 private:
  static constexpr size_t kKinds = 34;  // greater than all field numbers of Packet's bodies
  struct Count {
    uint64_t packets = 0, rows = 0;
  };
  void List(const proto::Footer& footer);

  std::array<Count, kKinds> read_{}, written_{};
  std::array<Count, kKinds> listed_{};  // by the parts of the index so far
  uint64_t listed_packets_ = 0;
  bool has_index_ = false;
  uint64_t rows_ = 0, rows_put_out_ = 0;  // read; by the accounts, which come last
  bool after_accounts_ = false;           // true if the last packet was Accounts
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_PARTS_H_
