// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/convert_many.h"

#include <algorithm>

namespace acceltrace::model {
namespace {

// Whether stalls are longer, all together, than a command took.
bool AreLonger(std::span<const uint64_t> stalls, uint64_t held) {
  constexpr uint64_t kMost = UINT64_MAX / stream::kMaxStalls;
  uint64_t sum = 0, any = 0;
  for (const uint64_t ticks : stalls) sum += ticks, any |= ticks;
  if (any < kMost) return sum > held;
  for (const uint64_t ticks : stalls) {
    if (ticks > held) return true;
    held -= ticks;
  }
  return false;
}

}  // namespace

void PlaceCommands(const clock::Map& clock, size_t first, size_t rows,
                   std::span<DeviceTimesChunk> times) {
  for (DeviceTimesChunk& one : times) one.Place(clock, first, rows);
  // The head is taken off the start: beyond where the clock is known that says more than its ticks.
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
    // Nothing that happened: beside the completion, so that it widens nothing.
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
  // So many stalls are unpacked at once: rows have theirs one after the other.
  constexpr size_t kStalls = 32 * stream::kMaxStalls;
  uint64_t found = 0, stalls[kStalls];
  size_t have_from = 0, have_to = 0;  // of them
  size_t count = 0;                   // of each row, as its device has
  for (size_t i = 0; i < devices.size(); ++i) {
    if (i == 0 || devices[i] != devices[i - 1]) {
      count = static_cast<size_t>(model.devices[devices[i]].about.stalls_size());
    }
    if (places[i] == kNoRow) continue;
    if (places[i] < have_from || places[i] + count > have_to) {
      have_from = places[i], have_to = have_from + kStalls;
      model.stall_ticks.Read(have_from, kStalls, stalls);
    }
    found += AreLonger({stalls + (places[i] - have_from), count}, held_ticks[i]);
  }
  return found;
}

}  // namespace acceltrace::model
