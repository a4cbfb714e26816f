// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/convert_many.h"

#include <algorithm>
#include <cstring>

namespace acceltrace::model {
namespace {

typedef uint64_t Lanes __attribute__((vector_size(32)));
constexpr size_t kLanes = sizeof(Lanes) / sizeof(uint64_t);

#define STALLS_INLINE inline __attribute__((always_inline))

// Returns true if the sum of the stalls exceeds the duration of the command.
bool AreLonger(std::span<const uint64_t> stalls, uint64_t held) {
  for (const uint64_t ticks : stalls) {
    if (ticks > held) return true;
    held -= ticks;
  }
  return false;
}

// Counts rows of `count` consecutive stalls whose sum exceeds their duration, and collects the bits
// of all stalls. It reads beyond the last row, where further rows must exist.
STALLS_INLINE uint64_t SumsAbove(const uint64_t* stalls, size_t count, const uint64_t* held,
                                 size_t rows, uint64_t* all_bits) {
  const size_t last = (count - 1) / kLanes * kLanes;
  Lanes bits = {}, mask = {};
  for (size_t lane = 0; lane < kLanes; ++lane) mask[lane] = last + lane < count ? ~uint64_t{0} : 0;
  uint64_t found = 0;
  for (size_t row = 0; row < rows; ++row, stalls += count) {
    Lanes sum, next;
    std::memcpy(&sum, stalls + last, sizeof(sum));
    sum &= mask;
    bits |= sum;
    for (size_t at = 0; at < last; at += kLanes) {
      std::memcpy(&next, stalls + at, sizeof(next));
      sum += next, bits |= next;
    }
    found += sum[0] + sum[1] + sum[2] + sum[3] > held[row];
  }
  *all_bits = bits[0] | bits[1] | bits[2] | bits[3];
  return found;
}

#define SUMS_FOR(NAME, TARGET)                                                                \
  TARGET uint64_t SumsAbove##NAME(const uint64_t* stalls, size_t count, const uint64_t* held, \
                                  size_t rows, uint64_t* all_bits) {                          \
    return SumsAbove(stalls, count, held, rows, all_bits);                                    \
  }

SUMS_FOR(Baseline, )
#if defined(__x86_64__)
SUMS_FOR(Avx2, __attribute__((target("avx2"))))
#endif

}  // namespace

void PlaceCommands(const clock::Map& clock, size_t first, size_t rows,
                   std::span<DeviceTimesChunk> times) {
  for (DeviceTimesChunk& one : times) one.Place(clock, first, rows);
  // The head is computed from the start: where the clock is not known, that is more precise than
  // its ticks.
  DeviceTimesChunk &start = times[1], &head = times[3];
  for (size_t row = first; row < first + rows; ++row) {
    if (start.EpochAt(row) != clock::kNoEpoch && head.EpochAt(row) != clock::kNoEpoch) continue;
    head.Set(row, clock.Before(start.At(row), start.RawTicks(row) - head.RawTicks(row)));
  }
}

void PlaceJobs(const clock::Map& clock, const Column<uint8_t>& has_irq, size_t first, size_t rows,
               std::span<DeviceTimesChunk> times) {
  for (DeviceTimesChunk& one : times) one.Place(clock, first, rows);
  DeviceTimesChunk &irq = times.back(), &completion = times[times.size() - 2];
  uint8_t sent[DeviceTimesChunk::kRows];
  has_irq.Read(first, rows, sent);
  for (size_t i = 0; i < rows; ++i) {
    // There was no interrupt: the completion's time does not widen any bounds.
    if (!sent[i]) irq.Set(first + i, completion.At(first + i));
  }
}

uint64_t LongStalls(const Model& model, size_t first, size_t rows,
                    std::span<const DeviceTimesChunk> times) {
  const DeviceTimesChunk &end = times[2], &head = times[3];
  uint32_t devices[DeviceTimesChunk::kRows], places[DeviceTimesChunk::kRows];
  uint64_t held[DeviceTimesChunk::kRows];
  model.commands.device.Read(first, rows, devices);
  model.commands.first_stall.Read(first, rows, places);
  for (size_t i = 0; i < rows; ++i) {
    const uint32_t epoch = head.EpochAt(first + i);
    if (epoch == clock::kNoEpoch || epoch != end.EpochAt(first + i)) places[i] = kNoRow;
    held[i] = end.TicksAt(first + i) - head.TicksAt(first + i);
  }
  return LongStalls(model, {devices, rows}, places, held);
}

uint64_t LongStalls(const Model& model, std::span<const uint32_t> devices, const uint32_t* places,
                    const uint64_t* held_ticks) {
  // Stalls are unpacked in parts of this size, because those of consecutive rows are consecutive.
  constexpr size_t kStalls = 32 * stream::kMaxStalls;
  uint64_t found = 0, stalls[kStalls];
  size_t have_from = 0, have_to = 0;  // range of unpacked stalls
  for (size_t i = 0, end = 0; i < devices.size(); i = end) {
    end = i + 1;
    if (places[i] == kNoRow) continue;
    const auto count = static_cast<size_t>(model.devices[devices[i]].about.stalls_size());
    if (places[i] < have_from || places[i] + count > have_to) {
      have_from = places[i], have_to = have_from + kStalls;
      model.stall_ticks.Read(have_from, kStalls, stalls);
    }
    size_t next = places[i] + count;
    while (end < devices.size() && places[end] == next && next + count <= have_to &&
           devices[end] == devices[i]) {
      ++end, next += count;
    }
    found += CountLonger(stalls + (places[i] - have_from), count, held_ticks + i, end - i);
  }
  return found;
}

uint64_t CountLonger(const uint64_t* stalls, size_t count, const uint64_t* held, size_t rows) {
  if (count == 0) return 0;
  auto sums_above = SumsAboveBaseline;
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2) sums_above = SumsAboveAvx2;
#endif
  // There may be no memory to read after the last row.
  const size_t last = ((count - 1) / kLanes * kLanes + kLanes - 1) / count;
  size_t row = rows - std::min(last, rows);
  uint64_t bits = 0, found = sums_above(stalls, count, held, row, &bits);
  // Sums may have exceeded 2^64.
  if (bits >= UINT64_MAX / stream::kMaxStalls) row = found = 0;
  for (; row < rows; ++row) found += AreLonger({stalls + row * count, count}, held[row]);
  return found;
}

}  // namespace acceltrace::model
