// SPDX-License-Identifier: Apache-2.0
//
// The keys of jobs by row. Internal.
#ifndef LIBTRACE_MODEL_COLUMNS_JOB_KEYS_H_
#define LIBTRACE_MODEL_COLUMNS_JOB_KEYS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace acceltrace::model {

// A driver numbers its jobs consecutively: as long as most keys follow the previous one, only the
// starts of runs are stored. Not thread-safe.
class JobKeys {
 public:
  size_t size() const { return size_; }
  uint64_t operator[](size_t row) const {
    if (!all_.empty()) return all_[row];
    const Run& run = runs_[last_];
    // Most lookups are in order.
    const bool known = row >= run.row && (last_ + 1 == runs_.size() || row < runs_[last_ + 1].row);
    return known ? run.key + (row - run.row) : Far(row);
  }
  // Reads `rows` rows from `first` on.
  void Read(size_t first, size_t rows, uint64_t* out) const {
    for (size_t done = 0; done < rows;) {
      const uint64_t key = (*this)[first + done];
      size_t end = done + 1;
      if (all_.empty()) {
        const size_t next = last_ + 1 < runs_.size() ? runs_[last_ + 1].row : size_;
        end = std::min(rows, next - first);
      }
      for (size_t i = done; i < end; ++i) out[i] = key + (i - done);
      done = end;
    }
  }
  void push_back(uint64_t key) {
    const size_t row = size_++;
    if (!all_.empty()) return all_.push_back(key);
    if (row > 0 && key == runs_.back().key + (row - runs_.back().row)) return;
    runs_.push_back({key, row});
    if (runs_.size() > kFreeRuns + row / kLeastOfRun) KeepAll();
  }
  // Prepares for lookups in any order.
  void KeepAll() {
    if (!all_.empty()) return;
    all_.reserve(size_);
    for (size_t r = 0; r < runs_.size(); ++r) {
      const size_t end = r + 1 < runs_.size() ? runs_[r + 1].row : size_;
      for (size_t i = 0; i < end - runs_[r].row; ++i) all_.push_back(runs_[r].key + i);
    }
    runs_ = {};
  }
  // Returns the row of a key, if any. Keys must rise.
  std::optional<size_t> Find(uint64_t key) const {
    if (!all_.empty()) {
      const auto found = std::lower_bound(all_.begin(), all_.end(), key);
      if (found == all_.end() || *found != key) return {};
      return static_cast<size_t>(found - all_.begin());
    }
    const auto after =
        std::upper_bound(runs_.begin(), runs_.end(), key,
                         [](uint64_t wanted, const Run& run) { return wanted < run.key; });
    if (after == runs_.begin()) return {};
    const Run& run = after[-1];
    const size_t rows = (after == runs_.end() ? size_ : after->row) - run.row;
    if (key - run.key >= rows) return {};
    return run.row + (key - run.key);
  }

 private:
  struct Run {
    uint64_t key;
    size_t row;  // first row
  };
  static constexpr size_t kFreeRuns = 64, kLeastOfRun = 8;

  uint64_t Far(size_t row) const {
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), row,
                                        [](size_t at, const Run& run) { return at < run.row; });
    last_ = static_cast<size_t>(after - runs_.begin()) - 1;
    return runs_[last_].key + (row - runs_[last_].row);
  }

  size_t size_ = 0;
  std::vector<Run> runs_;
  std::vector<uint64_t> all_;  // replaces the runs if there are many
  mutable size_t last_ = 0;    // last run that was used
};

// Reads keys in order of their rows, many at once.
class JobKeyReader {
 public:
  explicit JobKeyReader(const JobKeys& keys) : keys_(keys) {}
  uint64_t operator[](size_t row) {
    if (row - first_ >= kRows) Load(row);
    return read_[row - first_];
  }

 private:
  static constexpr size_t kRows = 1024;
  void Load(size_t row) {
    first_ = row;
    keys_.Read(row, std::min(kRows, keys_.size() - row), read_.data());
  }

  const JobKeys& keys_;
  size_t first_ = SIZE_MAX / 2;
  std::array<uint64_t, kRows> read_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_COLUMNS_JOB_KEYS_H_
