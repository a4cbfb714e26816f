// SPDX-License-Identifier: Apache-2.0
//
// Devices' own numbers of their records: which come out of order, and which are there twice.
// Internal.
//
// They are in the tables' columns already, but for those of rows that were left out.
#ifndef LIBTRACE_MODEL_RECORD_NUMBERS_H_
#define LIBTRACE_MODEL_RECORD_NUMBERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "libtrace/model/column.h"
#include "libtrace/model/row_numbers.h"

namespace acceltrace::model {

class RecordNumbers {
 public:
  enum class Table : uint8_t { kCommands, kJobs, kDeviceEvents };
  static constexpr size_t kTables = 3;
  // Of a table, as it was filled.
  struct Columns {
    const Column<uint32_t>* device;
    const Column<uint64_t>* record;
  };

  // Rows of a device, before they are added to a table that has so many: as many of them as are
  // kept. How many of their numbers do not rise within their table.
  uint64_t Note(uint32_t device, Table table, const RowNumbers& numbers, size_t rows, size_t kept);
  // The same of rows that have no numbers.
  void Skip(Table table, size_t rows, size_t kept);

  // How many were seen before. tables: by Table.
  uint64_t CountRepeated(const std::array<Columns, kTables>& tables) const;
  // Each is in its table, and they are no more than the device counts before it begins again.
  bool AreDistinctIfRising(const std::array<Columns, kTables>& tables) const;

 private:
  // visit(device, numbers, count)
  template <typename Visit>
  void Each(const std::array<Columns, kTables>& tables, const Visit& visit) const;

  std::map<std::pair<uint32_t, Table>, uint32_t> last_;  // by device
  // Rows of tables whose numbers are not to be looked at there: from one to another.
  std::array<std::vector<std::pair<size_t, size_t>>, kTables> elsewhere_;
  std::map<uint32_t, std::vector<uint32_t>> others_;  // by device
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_RECORD_NUMBERS_H_
