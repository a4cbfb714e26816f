// SPDX-License-Identifier: Apache-2.0
//
// The host events that laws still ask for once the jobs have theirs. Internal.
#ifndef LIBTRACE_MODEL_CHECKED_EVENTS_H_
#define LIBTRACE_MODEL_CHECKED_EVENTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "libtrace/model/host_rows.h"

namespace acceltrace::model {

// Takes events in order of time, and leaves those of calls and of contexts, and all that share
// their time with another, which may be the same event twice. Where each is alone only what laws
// ask of it is left: when, of which kind, job and call it was.
class CheckedEvents {
 public:
  // before, after: whether the first one shares its time with the one before it, the last one with
  // the one behind it.
  void Add(const HostRows& rows, size_t count, bool before, bool after);
  void Done(HostEvents* host);

 private:
  static constexpr size_t kRows = Column<uint8_t>::kRows;

  // A column of the rows that stay.
  template <typename T>
  class Left {
   public:
    // The next ones of it: of a chunk's values those at `places`.
    void Add(const T* values, const uint16_t* places, size_t rows);
    void AddNone(size_t rows);
    Column<T> Done();

   private:
    // Chunks are packed once, when they are full.
    void PutWhole(size_t rows) {
      count_ += rows;
      if (count_ < kRows) return;
      column_.AppendValues(next_, kRows);
      count_ -= kRows;
      std::copy_n(next_ + kRows, count_, next_);
    }

    Column<T> column_;
    size_t nones_ = 0;  // rows without a value, as long as there were no others
    T next_[2 * kRows];
    size_t count_ = 0;
  };

  void AddChunk(const HostRows& rows, size_t count, bool before, bool after);

  HostEventFields<Left> left_;
  uint64_t alone_ = 0;
};

// Of all of them, after CollectHostJobs().
void KeepChecked(HostEvents* host);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_CHECKED_EVENTS_H_
