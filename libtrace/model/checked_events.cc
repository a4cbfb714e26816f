// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/checked_events.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "libtrace/model/permute.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::model {
namespace {

using proto::HostBatch;

// What stays whenever it was, and of what more is asked for than of others.
enum Asked : uint8_t { kStays = 1, kContext = 2, kWakes = 4 };

// By kind: as analysis::Coverage and the laws of calls have it.
constexpr std::array<uint8_t, 256> kAsked = [] {
  std::array<uint8_t, 256> asked{};
  for (const auto kind : {HostBatch::KIND_SUBMIT, HostBatch::KIND_DOORBELL,
                          HostBatch::KIND_SUBMIT_END, HostBatch::KIND_WAIT}) {
    asked[kind] = kStays;
  }
  asked[HostBatch::KIND_WAKE] = kStays | kWakes;
  asked[HostBatch::KIND_CONTEXT] = kStays | kContext;
  return asked;
}();

constexpr size_t kRows = Column<uint8_t>::kRows;
static_assert(kRows <= UINT16_MAX);

// Rows of a chunk that stay, and whether any is there of which more is asked for than when it was,
// of which kind, and of which job and call: whether it is another one's equal, or what a context
// was; or whose call a thread's waiting was.
struct Kept {
  size_t rows = 0;
  bool all = false, wakes = false;
};

// places: of those that stay. before, after: whether the first row shares its time with the one
// before it, the last with the one behind it.
Kept Choose(const uint8_t* kinds, const int64_t* times_ns, size_t rows, bool before, bool after,
            uint16_t* places) {
  bool shared = before | after;
  for (size_t i = 1; i < rows; ++i) shared |= times_ns[i] == times_ns[i - 1];
  size_t kept = 0;
  uint8_t any = 0;
  for (size_t i = 0; i < rows; ++i) {
    uint8_t asked = kAsked[kinds[i]];
    if (shared) {
      const bool next = i + 1 < rows ? times_ns[i] == times_ns[i + 1] : after;
      if (before || next) asked |= kStays;
      before = next;
    }
    places[kept] = static_cast<uint16_t>(i);
    kept += asked & kStays, any |= asked;
  }
  return {kept, shared || (any & kContext) != 0, (any & kWakes) != 0};
}

// A column of the rows that stay.
template <typename T>
class Left {
 public:
  // The next ones of it: of a chunk's values those at `places`.
  void Add(const T* values, const uint16_t* places, size_t rows) {
    for (size_t i = 0; i < rows; ++i) next_[count_ + i] = values[places[i]];
    PutWhole(rows);
  }
  void AddNone(size_t rows) {
    std::fill_n(next_ + count_, rows, T{});
    PutWhole(rows);
  }
  Column<T> Done() {
    column_.AppendValues(next_, count_);
    return std::move(column_);
  }

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
  T next_[2 * kRows];
  size_t count_ = 0;
};

// places: of all chunks, one behind the other.
template <typename T, typename Wanted>
void Keep(const std::vector<Kept>& chunks, const std::vector<uint16_t>& places,
          const Wanted& wanted, Column<T>* column) {
  if (std::none_of(chunks.begin(), chunks.end(), wanted)) {
    return column->assign(places.size(), T{});
  }
  Left<T> left;
  T values[kRows];
  const uint16_t* place = places.data();
  for (size_t c = 0; c < chunks.size(); ++c) {
    const size_t rows = chunks[c].rows;
    if (wanted(chunks[c])) {
      column->Read(c * kRows, kRows, values);
      left.Add(values, place, rows);
    } else {
      left.AddNone(rows);
    }
    place += rows;
  }
  *column = left.Done();
}

}  // namespace

void KeepChecked(HostEvents* host) {
  std::vector<Kept> chunks;
  std::vector<uint16_t> places(host->size());
  size_t kept = 0;
  Left<uint8_t> kind;
  Left<int64_t> time_ns;
  const auto choose = [&](size_t first, size_t rows, const uint8_t* kinds,
                          const int64_t* times_ns) {
    const size_t end = first + rows;
    const bool before = first > 0 && *times_ns == *(times_ns - 1);
    const bool after = end < host->size() && host->time_ns.At(end) == times_ns[rows - 1];
    uint16_t* const stay = places.data() + kept;
    chunks.push_back(Choose(kinds, times_ns, rows, before, after, stay));
    kept += chunks.back().rows;
    kind.Add(kinds, stay, chunks.back().rows), time_ns.Add(times_ns, stay, chunks.back().rows);
    return true;
  };
  EachChunk(choose, host->kind, host->time_ns);
  if (kept == places.size()) return;
  host->alone += places.size() - kept;
  places.resize(kept);
  host->kind = kind.Done(), host->time_ns = time_ns.Done();
  const auto keep = [&](const auto& wanted, auto*... columns) {
    (Keep(chunks, places, wanted, columns), ...);
  };
  keep([](const Kept&) { return true; }, &host->job, &host->correlation);
  keep([](const Kept& chunk) { return chunk.all; }, &host->cpu, &host->pid, &host->tid,
       &host->device, &host->context, &host->queue, &host->sequence, &host->arg0);
  keep([](const Kept& chunk) { return chunk.all || chunk.wakes; }, &host->arg1);
}

}  // namespace acceltrace::model
