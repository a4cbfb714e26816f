// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/late_times.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>

#include "libtrace/model/load/convert_many.h"

namespace acceltrace::model {
namespace {

constexpr size_t kRows = Column<uint64_t>::kRows;

class LateTimes : public IntervalSource {
 public:
  LateTimes(const Model& model, const Column<uint32_t>& device, const DeviceTimes& times)
      : model_(model), device_(device), times_(times) {}
  Interval At(size_t row) const override {
    if (times_.epoch[row] == clock::kNoEpoch) return {};  // there is no time
    return model_.devices[device_[row]].clock.Locate(times_.ticks[row], {}).host;
  }

 private:
  const Model& model_;
  const Column<uint32_t>& device_;
  const DeviceTimes& times_;
};

// Tells if ticks alone determine all of these times. Leaves what was read in `ticks`.
class PlainTicks {
 public:
  PlainTicks(const Model& model, const Column<uint32_t>& device) : model_(model), device_(device) {}

  // The rows must be in one chunk.
  bool Read(std::initializer_list<const DeviceTimes*> all, size_t first, size_t rows) {
    device_.Read(first, rows, devices);
    size_t t = 0;
    for (const DeviceTimes* times : all) times->ticks.Read(first, rows, ticks[t++]);
    for (size_t at = 0, end = 0; at < rows; at = end) {
      while (end < rows && devices[end] == devices[at]) ++end;
      const clock::Map& clock = model_.devices[devices[at]].clock;
      if (!clock.valid() || !clock.NeedsNoWindow()) return false;
      for (t = 0; t < all.size(); ++t) {
        if (!clock.AreTicksPlain({ticks[t] + at, end - at})) return false;
      }
    }
    return true;
  }

  uint32_t devices[kRows];
  uint64_t ticks[4][kRows];

 private:
  const Model& model_;
  const Column<uint32_t>& device_;
};

// Returns true if this holds for any ticks of each device.
bool AreAllPlain(const Model& model) {
  return std::all_of(model.devices.begin(), model.devices.end(), [](const Device& device) {
    return device.clock.valid() && device.clock.NeedsNoWindow() && device.clock.AreTicksPlain();
  });
}

// *long_stalls: receives the number of commands with long stalls. Returns false if the clock of a
// device needs more information.
bool CheckCommands(const Model& model, uint64_t* long_stalls) {
  const Commands& commands = model.commands;
  const auto plain = std::make_unique<PlainTicks>(model, commands.device);
  for (size_t first = 0; first < commands.size(); first += kRows) {
    const size_t rows = std::min(kRows, commands.size() - first);
    if (!plain->Read({&commands.fetched, &commands.start, &commands.end, &commands.head}, first,
                     rows)) {
      return false;
    }
    const uint64_t *end = plain->ticks[2], *head = plain->ticks[3];
    uint64_t held[kRows];
    for (size_t i = 0; i < rows; ++i) held[i] = end[i] - head[i];
    uint32_t places[kRows];
    commands.first_stall.Read(first, rows, places);
    *long_stalls += LongStalls(model, {plain->devices, rows}, places, held);
  }
  return true;
}

}  // namespace

bool LeaveCommandsLate(const Decoder& decoder, Model* model) {
  Commands& commands = model->commands;
  uint64_t long_stalls = 0;
  if (decoder.long_stalls.has_value() && AreAllPlain(*model)) {
    long_stalls = *decoder.long_stalls;
  } else if (!CheckCommands(*model, &long_stalls)) {
    return false;
  }
  for (DeviceTimes* times : {&commands.fetched, &commands.start, &commands.end, &commands.head}) {
    times->KeepLate();
  }
  model->load.long_stalls += long_stalls;
  return true;
}

bool LeaveJobsLate(const Model& model, DeviceJobs* jobs) {
  const auto plain = std::make_unique<PlainTicks>(model, jobs->device);
  const bool all = AreAllPlain(model);
  for (size_t first = 0; !all && first < jobs->size(); first += kRows) {
    const size_t rows = std::min(kRows, jobs->size() - first);
    if (!plain->Read({&jobs->fetched, &jobs->first_start, &jobs->last_end}, first, rows)) {
      return false;
    }
  }
  for (DeviceTimes* times : {&jobs->fetched, &jobs->first_start, &jobs->last_end}) {
    times->KeepLate();
  }
  return true;
}

void MoveLate(const std::vector<uint32_t>& rows, DeviceTimes* source, DeviceTimes* to) {
  uint64_t ticks[kRows];
  uint32_t epochs[kRows];
  for (size_t first = 0; first < rows.size(); first += kRows) {
    const size_t count = std::min(kRows, rows.size() - first);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t row = rows[first + i];
      ticks[i] = row != kNoRow ? source->ticks.At(row) : 0;
      epochs[i] = row != kNoRow ? source->epoch.At(row) : clock::kNoEpoch;
    }
    to->ticks.AppendValues(ticks, count);
    to->epoch.AppendValues(epochs, count);
  }
  *source = {};
}

void PlaceLate(const std::vector<uint32_t>& fields, Model* model) {
  using Batch = proto::CommandBatch;
  Commands& commands = model->commands;
  const std::pair<uint32_t, DeviceTimes*> instants[] = {
      {Batch::kFetchedTicksDeltaFieldNumber, &commands.fetched},
      {Batch::kHeadTicksAfterFieldNumber, &commands.head},
      {Batch::kStartTicksAfterFieldNumber, &commands.start},
      {Batch::kEndTicksAfterFieldNumber, &commands.end}};
  for (const auto& [field, times] : instants) {
    if (!IsLate(*times) || std::find(fields.begin(), fields.end(), field) == fields.end()) continue;
    times->host.Attach(nullptr);
    times->Resize(commands.size());
    const auto chunk = std::make_unique<DeviceTimesChunk>(times);
    uint32_t devices[kRows];
    for (size_t first = 0; first < commands.size(); first += kRows) {
      const size_t rows = std::min(kRows, commands.size() - first);
      commands.device.Read(first, rows, devices);
      chunk->Read(first, rows);
      for (size_t at = 0, end = 0; at < rows; at = end) {
        while (end < rows && devices[end] == devices[at]) ++end;
        chunk->Place(model->devices[devices[at]].clock, first + at, end - at);
      }
      chunk->Write();
    }
  }
}

void AttachLate(Model* model) {
  const auto attach = [&](const Column<uint32_t>& device, DeviceTimes* times) {
    if (IsLate(*times)) times->host.Attach(std::make_shared<LateTimes>(*model, device, *times));
  };
  Commands& commands = model->commands;
  for (DeviceTimes* times : {&commands.fetched, &commands.head, &commands.start, &commands.end}) {
    attach(commands.device, times);
  }
  Jobs& jobs = model->jobs;
  for (DeviceTimes* times : {&jobs.fetched, &jobs.first_start, &jobs.last_end}) {
    attach(jobs.device, times);
  }
}

}  // namespace acceltrace::model
