// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/convert_many.h"

#include <algorithm>

namespace acceltrace::model {

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
  uint8_t sent[DeviceTimesChunk::kRows];
  has_irq.Read(first, rows, sent);
  for (size_t i = 0; i < rows; ++i) {
    // Nothing that happened: beside the completion, so that it widens nothing.
    if (!sent[i]) times[5].Set(first + i, times[4].At(first + i));
  }
}

uint64_t LongStalls(const Model& model, size_t first, size_t rows,
                    std::span<const DeviceTimesChunk> times) {
  const DeviceTimesChunk &end = times[2], &head = times[3];
  uint32_t devices[DeviceTimesChunk::kRows], places[DeviceTimesChunk::kRows];
  model.commands.device.Read(first, rows, devices);
  model.commands.first_stall.Read(first, rows, places);
  uint64_t found = 0, stalls[stream::kMaxStalls];
  for (size_t i = 0; i < rows; ++i) {
    if (places[i] == kNoRow) continue;
    const uint32_t epoch = head.EpochAt(first + i);
    if (epoch == clock::kNoEpoch || epoch != end.EpochAt(first + i)) continue;
    const auto count = static_cast<size_t>(model.devices[devices[i]].about.stalls_size());
    model.stall_ticks.Read(places[i], count, stalls);
    uint64_t left = end.TicksAt(first + i) - head.TicksAt(first + i);
    for (size_t s = 0; s < count; ++s) {
      if (stalls[s] > left) {
        ++found;
        break;
      }
      left -= stalls[s];
    }
  }
  return found;
}

}  // namespace acceltrace::model
