// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/tables/host_jobs.h"

#include <type_traits>
#include <utility>

#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::model {
void HostJobs::FindStretches(const uint32_t* rows, size_t count, std::vector<Stretch>* stretches) {
  stretches->clear();
  for (size_t begin = 0, end = 0; begin < count; begin = end) {
    const uint32_t first = rows[begin], step = first == kNone ? 0 : 1;
    size_t most = count;
    if (first != kNone) most = std::min(count, begin + kChunk - first % kChunk);
    for (end = begin + 1; end < most && rows[end] == rows[end - 1] + step;) ++end;
    stretches->push_back({first, end - begin});
  }
}

uint32_t HostJobs::Add(uint64_t key) {
  const auto next = static_cast<uint32_t>(keys_.size());
  if (rise_ && next > 0 && key <= keys_[next - 1]) {
    if (const uint32_t row = FindRising(key); row != kNone) return row;
    rise_ = false;
    keys_.KeepAll();
    for (uint32_t row = 0; row < next; ++row) index_.Add(keys_[row], row, KeyOf{keys_});
  }
  if (!rise_) {
    if (const uint32_t row = index_.Add(key, next, KeyOf{keys_}); row != next) return row;
  }
  keys_.push_back(key);
  if (next % kChunk == 0) {
    chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
    Chunk& chunk = *chunks_.back();
    EachHostJobField(chunk, chunk, [](auto& values, const auto&) {
      using T = typename std::remove_reference_t<decltype(values)>::value_type;
      stream::FillAll(values.data(), kChunk, kNotKnown<T>);
    });
    if (chunks_.size() > kOpen) Pack(chunks_.size() - 1 - kOpen);
  }
  return next;
}

HostJobs::Chunk* HostJobs::Open(size_t c) {
  reopened_ = true;
  auto chunk = std::make_unique_for_overwrite<Chunk>();
  EachHostJobField(packed_, *chunk, [c](const auto& column, auto& values) {
    column.Read(c * kChunk, kChunk, values.data());
  });
  return (chunks_[c] = std::move(chunk)).get();
}

// Chunks are packed once, in order.
void HostJobs::Pack(size_t c) {
  const std::unique_ptr<Chunk> chunk = std::move(chunks_[c]);
  EachHostJobField(packed_, *chunk, [](auto& column, const auto& values) {
    column.AppendValues(values.data(), kChunk);
  });
}

// Limits how often chunks are unpacked, because random lookups would repeat that too often.
constexpr size_t kMostTimes = 16;

HostJobs::Times HostJobs::TimesOf(uint32_t row) const {
  const size_t c = row / kChunk, at = row % kChunk;
  if (const Chunk* chunk = chunks_[c].get(); chunk != nullptr) {
    return {chunk->submit_ns[at], chunk->doorbell_ns[at], chunk->complete_ns[at]};
  }
  if (times_ == nullptr) times_ = std::make_unique<std::array<TimesSlot, kSlots>>();
  TimesSlot& slot = (*times_)[c % kSlots];
  if (slot.chunk != c) {
    if (unpacked_times_ > kMostTimes * chunks_.size()) {
      return {packed_.submit_ns[row], packed_.doorbell_ns[row], packed_.complete_ns[row]};
    }
    ++unpacked_times_;
    packed_.submit_ns.Read(c * kChunk, kChunk, slot.submit_ns.data());
    packed_.doorbell_ns.Read(c * kChunk, kChunk, slot.doorbell_ns.data());
    packed_.complete_ns.Read(c * kChunk, kChunk, slot.complete_ns.data());
    slot.chunk = c;
  }
  return {slot.submit_ns[at], slot.doorbell_ns[at], slot.complete_ns[at]};
}

}  // namespace acceltrace::model
