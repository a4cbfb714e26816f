// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/convert.h"

#include <algorithm>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include "libtrace/clock/graph.h"
#include "libtrace/model/load/convert_losses.h"
#include "libtrace/model/load/convert_many.h"
#include "libtrace/model/load/converter.h"
#include "libtrace/model/load/job_orders.h"
#include "libtrace/model/load/late_times.h"
#include "libtrace/model/load/windows.h"
#include "libtrace/model/tables/permute.h"

namespace acceltrace::model {
namespace {

using proto::DeviceEventBatch;

class Conversion {
 public:
  Conversion(const HostJobs& host_jobs, DeviceOrders found, bool part, Decoder* decoder,
             Model* model)
      : host_jobs_(host_jobs),
        found_(std::move(found)),
        part_(part),
        decoder_(*decoder),
        model_(*model) {
    for (Device& device : model->devices) converters_.emplace_back(&device);
  }

  void Run() {
    windows_ = std::make_unique<Windows>(model_, decoder_, host_jobs_);
    decoder_.CountRepeatedRecords(windows_->in_step());
    FitClocks();
    ConvertJobs();
    ConvertCommands();
    DeviceEvents& events = model_.device_events;
    events.time.Resize(events.size());
    for (size_t i = 0; i < events.size(); ++i) {
      const bool asks = converters_[events.device[i]].asks_windows();
      Convert(events.device[i], asks ? windows_->OfEvent(i) : clock::Window(), &events.time, i);
    }
    events.time.Compact();
    OthersUse& others = model_.others;
    for (DeviceTimes* times : {&others.first_head, &others.last_end}) {
      times->Resize(others.size());
      for (size_t i = 0; i < others.size(); ++i) {
        Convert(others.device[i], windows_->OfStream(others.device[i], decoder_.near.others[i]),
                times, i);
      }
    }
    for (uint32_t d = 0; d < model_.devices.size(); ++d) {
      CounterSamples& samples = model_.devices[d].counters;
      samples.time.Resize(samples.size());
      for (size_t i = 0; i < samples.size(); ++i) {
        Convert(d, windows_->OfCounters(d, i), &samples.time, i);
      }
      samples.time.Compact();
    }
    ConvertLosses(windows_.get(), &decoder_, &model_);
  }

 private:
  void ConstrainJobs(std::vector<clock::Constraints>* constraints) {
    constexpr size_t kRows = DeviceTimesChunk::kRows;
    DeviceJobs& jobs = decoder_.device_jobs;
    if (windows_->in_step()) {
      (*constraints)[0].SetSource(std::make_shared<JobOrders>(jobs, *windows_));
    }
    const auto doorbells = std::make_unique<DeviceTimesChunk>(&jobs.doorbell);
    const auto completions = std::make_unique<DeviceTimesChunk>(&jobs.completion);
    const auto sides = std::make_unique<SideRows>();
    static_assert(SideRows::kRows == kRows);
    uint32_t devices[kRows];
    for (size_t first = 0; first < jobs.size(); first += kRows) {
      const size_t count = std::min(kRows, jobs.size() - first);
      windows_->LoadSides(first, sides.get());
      jobs.device.Read(first, count, devices);
      doorbells->Read(first, count), completions->Read(first, count);
      for (size_t i = first; i < first + count; ++i) {
        const uint32_t device = devices[i - first];
        const Windows::Side side = sides->At(i);
        if (side.doorbell_ns != kNoTime) {
          converters_[device].Anchor(doorbells->RawTicks(i), side.doorbell_ns);
          if (windows_->in_step()) return;  // JobOrders handles the other jobs
        }
        if (windows_->in_step()) continue;
        AddOrders(*windows_, i, side, doorbells->RawTicks(i), completions->RawTicks(i),
                  &(*constraints)[device]);
      }
    }
  }

  void FitClocks() {
    std::vector<clock::Constraints> constraints(model_.devices.size());
    for (size_t d = 0; d < decoder_.latched.size(); ++d) {
      for (const clock::Constraint& latched : decoder_.latched[d]) constraints[d].Add(latched);
    }
    decoder_.latched.clear();
    ConstrainJobs(&constraints);
    const std::vector<bool> too_many = FindTooMany();
    const DeviceEvents& events = model_.device_events;
    for (size_t i = 0; i < events.size(); ++i) {
      if (too_many[events.device[i]]) continue;
      clock::Change change;
      change.ticks = events.time.RawTicks(i);
      change.when = windows_->OfEvent(i);
      if (events.kind[i] == DeviceEventBatch::KIND_CLOCK) {
        // The frequency is in mHz; for a jump, the ticks before it are recorded as well.
        change.hz = static_cast<double>(events.arg0[i]) / 1000;
        change.before = events.arg1[i];
        change.cut = change.before != 0 ? clock::Cut::kJump : clock::Cut::kFrequency;
      } else if (events.kind[i] == DeviceEventBatch::KIND_RESET) {
        change.cut = clock::Cut::kReset;
      } else {
        continue;
      }
      decoder_.clocks[events.device[i]].Add(change);
    }
    for (uint32_t d = 0; d < model_.devices.size(); ++d) {
      decoder_.clocks[d].AddConstraints(std::move(constraints[d]));
      if (!part_ || !decoder_.losses.empty()) NoteLosses(d);
    }
    const bool any = std::find(too_many.begin(), too_many.end(), true) != too_many.end();
    if (any || !FitGraph()) {
      for (uint32_t d = 0; d < model_.devices.size(); ++d) {
        if (!too_many[d]) converters_[d].Fit(decoder_.clocks[d]);
      }
    }
    decoder_.clocks.clear();  // their input is no longer needed
  }

  // Each change of a clock is looked up in each of its counts. The clock of a device that changed
  // it far more often than it was sampled cannot be used. By device.
  std::vector<bool> FindTooMany() {
    constexpr uint64_t kFreeChanges = 16'384, kLeastChangeBytes = 512;
    std::vector<uint64_t> changes(model_.devices.size());
    const DeviceEvents& events = model_.device_events;
    for (size_t i = 0; i < events.size(); ++i) {
      changes[events.device[i]] += events.kind[i] == DeviceEventBatch::KIND_CLOCK ||
                                   events.kind[i] == DeviceEventBatch::KIND_RESET;
    }
    std::vector<bool> too_many(changes.size());
    for (size_t d = 0; d < changes.size(); ++d) {
      too_many[d] = changes[d] > kFreeChanges + model_.read.bytes / kLeastChangeBytes;
      if (!too_many[d]) continue;
      model_.devices[d].clock_error = "the device reports " + std::to_string(changes[d]) +
                                      " changes of its clock, too many to follow";
    }
    return too_many;
  }

  // Records that were lost before or after all samples may have announced a change of the clock.
  void NoteLosses(uint32_t device) {
    uint64_t last_after = 0, first_before = 0;
    if (!windows_->Losses(device, &last_after, &first_before)) return;
    clock::MapBuilder& builder = decoder_.clocks[device];
    for (const clock::Window& when : windows_->WhenLost(device)) builder.AddLoss(when);
    const auto wanted = [&](uint32_t of, uint64_t record) {
      return of == device && (record == last_after || record == first_before);
    };
    const auto add = [&](uint64_t record, uint64_t ticks, const clock::Window& when) {
      if (record == last_after) builder.AddLossBefore(ticks, when);
      if (record == first_before) builder.AddLossAfter(ticks, when);
    };
    const DeviceJobs& jobs = decoder_.device_jobs;
    const auto see_job = [&](size_t i, uint32_t of, uint64_t record) {
      if (!wanted(of, record)) return true;
      const DeviceTimes& made = jobs.has_irq[i] ? jobs.irq : jobs.completion;
      add(record, made.RawTicks(i), windows_->OfJob(i, true));
      return true;
    };
    EachRow(see_job, jobs.device, jobs.record);
    const Commands& commands = model_.commands;
    const auto see_command = [&](size_t i, uint32_t of, uint64_t record) {
      if (wanted(of, record)) {
        add(record, commands.end.RawTicks(i), windows_->OfCommandMade(i));
      }
      return true;
    };
    EachRow(see_command, commands.device, commands.record);
    const DeviceEvents& events = model_.device_events;
    for (size_t i = 0; i < events.size(); ++i) {
      if (!wanted(events.device[i], decoder_.event_records[i])) continue;
      add(decoder_.event_records[i], events.time.RawTicks(i), windows_->OfEvent(i));
    }
  }

  // Fits all clocks together, if there are orders between devices and each clock can be fitted.
  bool FitGraph() {
    const DeviceOrders& found = found_;
    if (found.size() == 0) return false;
    const DeviceJobs& jobs = decoder_.device_jobs;
    std::unordered_map<uint64_t, size_t> rows;
    for (size_t i = 0; i < jobs.size(); ++i) rows[JobKey(jobs.device[i], jobs.job[i])] = i;
    std::vector<clock::Edge> edges;
    DeviceOrders& orders = model_.orders;
    for (size_t i = 0; i < found.size(); ++i) {
      const auto from = rows.find(JobKey(found.from_device[i], found.from_job[i]));
      const auto to = rows.find(JobKey(found.to_device[i], found.to_job[i]));
      if (from == rows.end() || to == rows.end()) continue;
      edges.push_back({{found.from_device[i], jobs.completion.RawTicks(from->second),
                        windows_->OfJob(from->second, false)},
                       {found.to_device[i], jobs.doorbell.RawTicks(to->second),
                        windows_->OfDoorbell(to->second)}});
      orders.from_device.push_back(found.from_device[i]);
      orders.from_job.push_back(found.from_job[i]);
      orders.to_device.push_back(found.to_device[i]);
      orders.to_job.push_back(found.to_job[i]);
    }
    Result<clock::Graph> graph = clock::BuildGraph(decoder_.clocks, edges);
    if (!graph.ok()) {
      orders = {};
      return false;
    }
    for (uint32_t d = 0; d < model_.devices.size(); ++d) converters_[d].Set(graph->maps[d]);
    orders.slack = std::move(graph->slack);
    return true;
  }

  void Convert(uint32_t device, const clock::Window& window, DeviceTimes* times, size_t i) {
    times->Set(
        i, converters_[device].Convert(times->RawTicks(i), window, &model_.load.unconverted_times));
  }

  // Converts times that followed each other in this order: if the ticks of one are ambiguous, its
  // neighbours limit it. windows: of each time.
  void ConvertInOrder(uint32_t device, std::span<const uint64_t> raw_ticks,
                      std::span<clock::Window> windows, std::span<DeviceTime> times) {
    bool open = false, known = false;
    for (size_t i = 0; i < times.size(); ++i) {
      times[i] =
          converters_[device].Convert(raw_ticks[i], windows[i], &model_.load.unconverted_times);
      (times[i].epoch == clock::kNoEpoch ? open : known) = true;
    }
    if (!open || !known) return;
    if (!model_.devices[device].clock.valid()) return;
    const clock::Map& clock = model_.devices[device].clock;
    const auto again = [&](size_t i) {
      if (times[i].epoch != clock::kNoEpoch) return;
      times[i] = clock.Locate(times[i].raw_ticks, windows[i]);
    };
    for (size_t i = 1; i < times.size(); ++i) {
      const int64_t lo_ns = times[i - 1].host.lo_ns;
      if (lo_ns > windows[i].hi_ns) continue;
      windows[i].lo_ns = std::max(windows[i].lo_ns, lo_ns);
      again(i);
    }
    for (size_t i = times.size() - 1; i-- > 0;) {
      const int64_t hi_ns = times[i + 1].host.hi_ns;
      if (hi_ns < windows[i].lo_ns) continue;
      windows[i].hi_ns = std::min(windows[i].hi_ns, hi_ns);
      again(i);
    }
  }

  // Processes times by chunks, between reading and writing each: calls many(first, rows, clock) for
  // rows of a device whose clock needs no windows, and one(row) for each of the others, then
  // done(first, rows).
  template <typename Many, typename One, typename Done>
  void InChunks(std::span<DeviceTimesChunk> times, const Column<uint32_t>& device_of,
                const Many& many, const One& one, const Done& done) {
    uint32_t devices[DeviceTimesChunk::kRows];
    for (size_t first = 0; first < device_of.size(); first += DeviceTimesChunk::kRows) {
      const size_t count = std::min(DeviceTimesChunk::kRows, device_of.size() - first);
      device_of.Read(first, count, devices);
      for (DeviceTimesChunk& chunk : times) chunk.Read(first, count);
      for (size_t at = 0, end = 0; at < count; at = end) {
        while (end < count && devices[end] == devices[at]) ++end;
        if (converters_[devices[at]].asks_windows()) {
          for (size_t i = at; i < end; ++i) one(first + i);
        } else {
          many(first + at, end - at, model_.devices[devices[at]].clock);
        }
      }
      done(first, count);
      for (DeviceTimesChunk& chunk : times) chunk.Write();
    }
  }

  static std::vector<DeviceTimesChunk> ChunksOf(std::initializer_list<DeviceTimes*> all,
                                                size_t rows) {
    std::vector<DeviceTimesChunk> chunks;
    for (DeviceTimes* times : all) {
      times->Resize(rows);
      if (rows > 0) chunks.emplace_back(times);
    }
    return chunks;
  }

  static constexpr double kNotHeldBackNs = 1e8;

  void ConvertJobs() {
    DeviceJobs& jobs = decoder_.device_jobs;
    const bool late = decoder_.late_times && LeaveJobsLate(model_, &jobs);
    // Doorbell; fetched, first start, last end, completion; interrupt.
    std::vector<DeviceTimesChunk> times =
        late ? ChunksOf({&jobs.doorbell, &jobs.completion, &jobs.irq}, jobs.size())
             : ChunksOf({&jobs.doorbell, &jobs.fetched, &jobs.first_start, &jobs.last_end,
                         &jobs.completion, &jobs.irq},
                        jobs.size());
    const auto many = [&](size_t first, size_t rows, const clock::Map& clock) {
      PlaceJobs(clock, jobs.has_irq, first, rows, times);
    };
    const auto one = [&](size_t i) {
      const uint32_t device = jobs.device[i];
      uint64_t* const unconverted = &model_.load.unconverted_times;
      const Converter& converter = converters_[device];
      times[0].Set(i,
                   converter.Convert(times[0].RawTicks(i), windows_->OfDoorbell(i), unconverted));
      clock::Window windows[4];
      std::fill_n(windows, 4, windows_->OfJob(i, false));
      uint64_t raw_ticks[4];
      for (size_t t = 0; t < 4; ++t) raw_ticks[t] = times[1 + t].RawTicks(i);
      DeviceTime inner[4];
      ConvertInOrder(device, raw_ticks, windows, inner);
      for (size_t t = 0; t < 4; ++t) times[1 + t].Set(i, inner[t]);
      const DeviceTime& completion = inner[3];
      if (!jobs.has_irq[i]) {
        // There was no interrupt: the completion's time does not widen any bounds.
        times[5].Set(i, completion);
        return;
      }
      // The record is written with the interrupt, which may be late.
      clock::Window irq = windows_->OfJob(i, true);
      irq.lo_ns = std::max(irq.lo_ns, completion.host.lo_ns);
      if (irq.hi_ns == clock::Window::kMax && irq.near_ns == clock::Map::kNoHint) {
        irq.near_ns = completion.host.mid_ns;
      }
      DeviceTime sent = converter.Convert(times[5].RawTicks(i), irq, unconverted);
      // The host may have acted on another job's interrupt, but an interrupt is not delayed by as
      // long as a clock takes to wrap: if possible, it was before the host consumed the job.
      if (converter.wrap_ns() > kNotHeldBackNs) {
        clock::Window consumed = windows_->OfJob(i, false);
        consumed.lo_ns = std::max(consumed.lo_ns, completion.host.lo_ns);
        sent = converter.Within(consumed, sent);
      }
      times[5].Set(i, sent);
    };
    InChunks(times, jobs.device, many, one, [](size_t, size_t) {});
  }

  void ConvertCommands() {
    if (decoder_.late_times && LeaveCommandsLate(decoder_, &model_)) return;
    Commands& commands = model_.commands;
    std::vector<DeviceTimesChunk> times = ChunksOf(
        {&commands.fetched, &commands.start, &commands.end, &commands.head}, commands.size());
    const auto many = [&](size_t first, size_t rows, const clock::Map& clock) {
      PlaceCommands(clock, first, rows, times);
    };
    const auto one = [&](size_t i) {
      const uint32_t device = commands.device[i];
      const uint64_t raw_ticks[] = {times[0].RawTicks(i), times[1].RawTicks(i),
                                    times[2].RawTicks(i)};
      const uint64_t raw_head = times[3].RawTicks(i);
      // It was recorded as a difference that may exceed the clock's width, or was computed across a
      // wrap.
      uint64_t waited_ticks = raw_ticks[1] - raw_head;
      if (waited_ticks >> 63 != 0) waited_ticks &= MaskOf(model_.devices[device]);
      clock::Window windows[3];
      windows_->OfCommand(i, &windows[0], &windows[2]);
      windows[1] = windows[0];
      DeviceTime read[3], head;
      ConvertInOrder(device, raw_ticks, windows, read);
      for (size_t t = 0; t < 3; ++t) times[t].Set(i, read[t]);
      // The device does not read this time, but subtracts the wait at the head of the queue from
      // the start.
      const Device& about = model_.devices[device];
      if (about.clock.valid()) {
        head = about.clock.Before(read[1], waited_ticks);
      } else {
        head = converters_[device].Convert(raw_head, windows[1], &model_.load.unconverted_times);
      }
      times[3].Set(i, head);
    };
    InChunks(times, commands.device, many, one, [&](size_t first, size_t rows) {
      model_.load.long_stalls += LongStalls(model_, first, rows, times);
    });
  }

  static uint64_t MaskOf(const Device& device) { return TickMask(device.about.clock().bits()); }

  const HostJobs& host_jobs_;
  const DeviceOrders found_;
  const bool part_;
  Decoder& decoder_;
  Model& model_;
  std::vector<Converter> converters_;
  std::unique_ptr<Windows> windows_;
};

}  // namespace

void ConvertTimes(const HostJobs& host_jobs, DeviceOrders found, bool part, Decoder* decoder,
                  Model* model) {
  Conversion(host_jobs, std::move(found), part, decoder, model).Run();
}

}  // namespace acceltrace::model
