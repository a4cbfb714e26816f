// SPDX-License-Identifier: Apache-2.0
//
// The host events that laws need in addition to HostJobs. Internal.
#ifndef LIBTRACE_MODEL_LOAD_CHECKED_EVENTS_H_
#define LIBTRACE_MODEL_LOAD_CHECKED_EVENTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "libtrace/model/tables/host_rows.h"

namespace acceltrace::model {

// Takes events in order of time. Keeps those of calls and of contexts, and all that share their
// time with another one, because they may be the same event twice. Of the rest, it only keeps what
// laws read: time, kind, job and call.
class CheckedEvents {
 public:
  // before, after: true if the first event shares its time with the one before it, or the last one
  // with the one after it.
  void Add(const HostRows& rows, size_t count, bool before, bool after);
  void Done(HostEvents* host);

 private:
  static constexpr size_t kRows = Column<uint8_t>::kRows;

  // A column of the rows that are kept.
  template <typename T>
  class Left {
   public:
    // Appends the values at `places` of a chunk.
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
    size_t nones_ = 0;  // leading rows without a value
    T next_[2 * kRows];
    size_t count_ = 0;
  };

  void AddChunk(const HostRows& rows, size_t count, bool before, bool after);

  HostEventFields<Left> left_;
  uint64_t alone_ = 0;
};

// Does the same for all events, after CollectHostJobs().
void KeepChecked(HostEvents* host);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_CHECKED_EVENTS_H_
