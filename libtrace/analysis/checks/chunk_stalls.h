// SPDX-License-Identifier: Apache-2.0
//
// Unpacks the stall ticks of all commands of a chunk at once. Internal.
#ifndef LIBTRACE_ANALYSIS_CHECKS_CHUNK_STALLS_H_
#define LIBTRACE_ANALYSIS_CHECKS_CHUNK_STALLS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "libtrace/analysis/checks/law_pass.h"
#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::analysis {

class ChunkStalls {
 public:
  // `causes` is the number of the device's stall causes.
  void Find(const model::Column<uint64_t>& ticks, const CommandChunk& chunk, size_t causes) {
    ticks_ = &ticks;
    none_ = CommandChunk::kRows * causes;
    near_.resize(none_ + causes), elsewhere_.resize(causes);
    // The rows' stall ticks are stored in order.
    const uint32_t* places = chunk.first_stall;
    const auto any = std::find_if(places, places + chunk.rows,
                                  [](uint32_t place) { return place != model::kNoRow; });
    if (any == places + chunk.rows) return void(from_ = last_ = 0);
    from_ = *any, last_ = none_ - causes;
    ticks.Read(from_, none_, near_.data());
  }
  // Returns the stall ticks of a row, given the place of the first. They are read from the column
  // if they are not among the unpacked ones.
  const uint64_t* At(size_t place) {
    if (IsNear(place)) return NearAt(place);
    ticks_->Read(place, elsewhere_.size(), elsewhere_.data());
    return elsewhere_.data();
  }
  // Returns true if the stall ticks of all rows of the chunk have been unpacked.
  bool AreNear(const CommandChunk& chunk) const {
    uint32_t low = chunk.first_stall[0], high = low;
    stream::WidenTo(chunk.first_stall, chunk.rows, &low, &high);
    if (high != model::kNoRow) return IsNear(low) && IsNear(high) && low >= from_;
    return std::all_of(chunk.first_stall, chunk.first_stall + chunk.rows,
                       [this](uint32_t place) { return IsNear(place); });
  }
  const uint64_t* NearAt(size_t place) const {
    return near_.data() + (place - from_ <= last_ ? place - from_ : none_);
  }

 private:
  bool IsNear(size_t place) const { return place == model::kNoRow || place - from_ <= last_; }

  const model::Column<uint64_t>* ticks_ = nullptr;
  size_t from_ = 0, last_ = 0;  // the first place, and the largest distance from it
  size_t none_ = 0;             // offset of the zeros for rows without stall ticks
  std::vector<uint64_t> near_;  // the unpacked ones, followed by zeros
  std::vector<uint64_t> elsewhere_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CHECKS_CHUNK_STALLS_H_
