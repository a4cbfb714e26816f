// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/columns/record_numbers.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::model {
namespace {

constexpr size_t kRows = Column<uint64_t>::kRows;

// The set of a device's numbers.
struct Numbers {
  void Widen(const uint32_t* of, size_t rows) {
    stream::WidenTo(of, rows, &low, &high);
    count += rows;
  }
  // If numbers are mostly consecutive over the tables, they are stored as bits.
  bool are_dense() const { return (high - low) / 16 <= count; }
  void Add(const uint32_t* of, size_t rows) {
    if (!are_dense()) return (void)list.insert(list.end(), of, of + rows);
    bits.resize((high - low) / 64 + 1);
    for (size_t i = 0; i < rows; ++i) bits[(of[i] - low) / 64] |= uint64_t{1} << (of[i] - low) % 64;
  }
  uint64_t CountRepeated() {
    uint64_t different = 0;
    for (const uint64_t word : bits) different += static_cast<uint64_t>(std::popcount(word));
    std::sort(list.begin(), list.end());
    different += static_cast<uint64_t>(std::unique(list.begin(), list.end()) - list.begin());
    return count - different;
  }

  uint32_t low = std::numeric_limits<uint32_t>::max(), high = 0;
  uint64_t count = 0;
  std::vector<uint64_t> bits;
  std::vector<uint32_t> list;  // if they are not dense
};

}  // namespace

void RecordNumbers::Skip(Table table, size_t rows, size_t kept) {
  auto& ranges = elsewhere_[static_cast<size_t>(table)];
  if (ranges.empty() || ranges.back().second != rows) ranges.emplace_back(rows, rows);
  ranges.back().second += kept;
}

uint64_t RecordNumbers::Note(uint32_t device, Table table, const RowNumbers& numbers, size_t rows,
                             size_t kept) {
  const size_t count = numbers.rows();
  if (count == 0) return 0;
  std::vector<uint32_t> cut;
  // The device counts modulo 2^32, so that a base does not change differences.
  const uint32_t* narrow = numbers.view().narrow;
  auto base = static_cast<uint32_t>(numbers.view().base);
  if (narrow == nullptr || kept != count) {
    cut.resize(count), numbers.view().Read(0, count, cut.data());
    narrow = cut.data(), base = 0;
  }
  const auto [last, fresh] = last_.try_emplace({device, table});
  const bool falls = !fresh && static_cast<int32_t>(base + narrow[0] - last->second) <= 0;
  last->second = base + narrow[count - 1];
  if (kept != count) {
    Skip(table, rows, kept);
    auto& others = others_[device];
    others.insert(others.end(), cut.begin(), cut.end());
  }
  return stream::CountFalls(narrow, count) + falls;
}

template <typename Visit>
void RecordNumbers::Each(const std::array<Columns, kTables>& tables, const Visit& visit) const {
  uint32_t devices[kRows], numbers[kRows];
  uint64_t records[kRows];
  for (size_t t = 0; t < kTables; ++t) {
    auto skipped = elsewhere_[t].begin();
    const size_t rows = tables[t].device->size();
    for (size_t first = 0, count = 0; first < rows; first += count) {
      count = std::min(kRows - first % kRows, rows - first);
      if (skipped != elsewhere_[t].end()) {
        if (skipped->first <= first) {
          count = (skipped++)->second - first;
          continue;
        }
        count = std::min(count, skipped->first - first);
      }
      tables[t].device->Read(first, count, devices);
      tables[t].record->Read(first, count, records);
      stream::ToNumbers(records, count, 0, sizeof(*numbers), reinterpret_cast<uint8_t*>(numbers));
      for (size_t at = 0, end = 0; at < count; at = end) {
        while (end < count && devices[end] == devices[at]) ++end;
        visit(devices[at], numbers + at, end - at);
      }
    }
  }
  for (const auto& [device, others] : others_) visit(device, others.data(), others.size());
}

uint64_t RecordNumbers::CountRepeated(const std::array<Columns, kTables>& tables) const {
  std::map<uint32_t, Numbers> all;
  Each(tables,
       [&](uint32_t device, const uint32_t* of, size_t rows) { all[device].Widen(of, rows); });
  Each(tables,
       [&](uint32_t device, const uint32_t* of, size_t rows) { all[device].Add(of, rows); });
  uint64_t repeated = 0;
  for (auto& [device, numbers] : all) repeated += numbers.CountRepeated();
  return repeated;
}

bool RecordNumbers::AreDistinctIfRising(const std::array<Columns, kTables>& tables) const {
  uint64_t low = std::numeric_limits<uint64_t>::max(), high = 0;
  for (size_t t = 0; t < kTables; ++t) {
    const Column<uint64_t>& records = *tables[t].record;
    if (!elsewhere_[t].empty()) return false;
    if (!records.empty())
      low = std::min(low, records.front()), high = std::max(high, records.back());
  }
  return high <= low || high - low <= std::numeric_limits<uint32_t>::max();
}

}  // namespace acceltrace::model
