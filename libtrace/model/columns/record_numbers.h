// SPDX-License-Identifier: Apache-2.0
//
// Finds devices' record numbers that are out of order or repeated. Internal.
//
// The tables' columns already have the numbers, except for those of omitted rows.
#ifndef LIBTRACE_MODEL_COLUMNS_RECORD_NUMBERS_H_
#define LIBTRACE_MODEL_COLUMNS_RECORD_NUMBERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "libtrace/model/columns/column.h"
#include "libtrace/model/columns/row_numbers.h"

namespace acceltrace::model {

class RecordNumbers {
 public:
  enum class Table : uint8_t { kCommands, kJobs, kDeviceEvents };
  static constexpr size_t kTables = 3;
  // The columns of a table.
  struct Columns {
    const Column<uint32_t>* device;
    const Column<uint64_t>* record;
  };

  // Takes the numbers of rows of a device before the rows are added to a table with `rows` rows;
  // `kept` is how many of them are added. Returns how many numbers do not rise within their table.
  uint64_t Note(uint32_t device, Table table, const RowNumbers& numbers, size_t rows, size_t kept);
  // The same for rows without numbers.
  void Skip(Table table, size_t rows, size_t kept);

  // Returns how many numbers were seen before. tables: by Table.
  uint64_t CountRepeated(const std::array<Columns, kTables>& tables) const;
  // Returns true if each number is in its table, and there are no more of them than the device
  // counts before it wraps.
  bool AreDistinctIfRising(const std::array<Columns, kTables>& tables) const;

 private:
  // Calls visit(device, numbers, count).
  template <typename Visit>
  void Each(const std::array<Columns, kTables>& tables, const Visit& visit) const;

  std::map<std::pair<uint32_t, Table>, uint32_t> last_;  // by device and table
  // Ranges of rows of tables whose numbers must not be read there.
  std::array<std::vector<std::pair<size_t, size_t>>, kTables> elsewhere_;
  std::map<uint32_t, std::vector<uint32_t>> others_;  // by device
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_COLUMNS_RECORD_NUMBERS_H_
