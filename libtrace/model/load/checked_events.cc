// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/checked_events.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::model {
namespace {

using proto::HostBatch;

// Which kinds are always kept, and which have more columns kept than others.
enum Asked : uint8_t { kStays = 1, kContext = 2, kWakes = 4 };

// By kind, for analysis::Coverage and the laws of calls.
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

// The rows of a chunk that are kept, and whether any needs columns other than time, kind, job and
// call: to compare it with an equal one, for a context's id, or for the call of a waiting thread.
struct Kept {
  size_t rows = 0;
  bool all = false, wakes = false;
};

// places: of the rows that are kept. before, after: true if the first row shares its time with the
// one before it, or the last one with the one after it.
Kept Choose(const uint8_t* kinds, const int64_t* times_ns, size_t rows, bool before, bool after,
            uint16_t* places) {
  const bool shared = before || after || !stream::AllRise(times_ns, rows);  // they never fall
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

}  // namespace

template <typename T>
void CheckedEvents::Left<T>::Add(const T* values, const uint16_t* places, size_t rows) {
  if (nones_ > 0) {  // these are the first values
    column_.resize(nones_ / kRows * kRows);
    std::fill_n(next_, count_ = nones_ % kRows, T{});
    nones_ = 0;
  }
  for (size_t i = 0; i < rows; ++i) next_[count_ + i] = values[places[i]];
  PutWhole(rows);
}

template <typename T>
void CheckedEvents::Left<T>::AddNone(size_t rows) {
  if (count_ == 0 && column_.empty()) return void(nones_ += rows);
  std::fill_n(next_ + count_, rows, T{});
  PutWhole(rows);
}

template <typename T>
Column<T> CheckedEvents::Left<T>::Done() {
  column_.AppendValues(next_, count_);
  column_.resize(column_.size() + nones_);
  return std::move(column_);
}

void CheckedEvents::Add(const HostRows& rows, size_t count, bool before, bool after) {
  for (size_t first = 0; first < count; first += kRows) {
    const size_t end = std::min(count, first + kRows);
    const bool starts = first > 0 ? rows.time_ns[first] == rows.time_ns[first - 1] : before;
    const bool ends = end < count ? rows.time_ns[end] == rows.time_ns[end - 1] : after;
    AddChunk(RowsFrom(rows, first), end - first, starts, ends);
  }
}

void CheckedEvents::AddChunk(const HostRows& rows, size_t count, bool before, bool after) {
  uint16_t places[kRows];
  const Kept kept = Choose(rows.kind, rows.time_ns, count, before, after, places);
  alone_ += count - kept.rows;
  const auto keep = [&](bool wanted, const auto* values, auto* left) {
    wanted ? left->Add(values, places, kept.rows) : left->AddNone(kept.rows);
  };
  const auto keep_if_all = [&](const auto* values, auto* left) { keep(kept.all, values, left); };
  keep(true, rows.kind, &left_.kind), keep(true, rows.time_ns, &left_.time_ns);
  keep(true, rows.job, &left_.job), keep(true, rows.correlation, &left_.correlation);
  keep_if_all(rows.cpu, &left_.cpu), keep_if_all(rows.pid, &left_.pid);
  keep_if_all(rows.tid, &left_.tid), keep_if_all(rows.device, &left_.device);
  keep_if_all(rows.context, &left_.context), keep_if_all(rows.queue, &left_.queue);
  keep_if_all(rows.sequence, &left_.sequence), keep_if_all(rows.arg0, &left_.arg0);
  keep(kept.all || kept.wakes, rows.arg1, &left_.arg1);
}

void CheckedEvents::Done(HostEvents* host) {
  EachHostField(left_, *host, [](auto& left, auto& column) { column = left.Done(); });
  host->alone += std::exchange(alone_, 0);
}

void KeepChecked(HostEvents* host) {
  const auto checked = std::make_unique<CheckedEvents>();
  const size_t all = host->size();
  EachHostChunk(*host, [&](size_t first, size_t rows, const HostRows& events) {
    const size_t end = first + rows;
    const bool before = first > 0 && host->time_ns.At(first - 1) == events.time_ns[0];
    const bool after = end < all && host->time_ns.At(end) == events.time_ns[rows - 1];
    checked->Add(events, rows, before, after);
  });
  checked->Done(host);
}

}  // namespace acceltrace::model
