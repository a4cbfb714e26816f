// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/convert.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "libtrace/clock/graph.h"
#include "libtrace/model/orders.h"

namespace acceltrace::model {
namespace {

using proto::DeviceEventBatch;

// One device's conversion; without a usable clock, times are placed by the
// nominal frequency from the first doorbell on and bounded by nothing.
class Converter {
 public:
  explicit Converter(Device* device)
      : device_(*device),
        hz_(static_cast<double>(device->about.clock().nominal_hz())),
        bits_(device->about.clock().bits()) {}

  void Fit(const clock::MapBuilder& builder) {
    Result<clock::Map> map = builder.Build();
    if (map.ok()) {
      device_.clock = std::move(map).value();
    } else {
      device_.clock_error = map.message();
    }
  }
  void Set(clock::Map map) { device_.clock = std::move(map); }
  void Anchor(uint64_t ticks, int64_t host_ns) {
    if (anchored_) return;
    anchored_ = true;
    anchor_ticks_ = ticks;
    anchor_ns_ = host_ns;
  }

  DeviceTime Convert(uint64_t raw_ticks, const clock::Window& window, uint64_t* unconverted) const {
    if (device_.clock.valid()) return device_.clock.Locate(raw_ticks, window);
    ++*unconverted;
    const uint64_t mask = bits_ == 0 || bits_ >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits_) - 1;
    DeviceTime time;
    time.raw_ticks = time.ticks = raw_ticks & mask;
    const double ahead = static_cast<double>(static_cast<int64_t>(raw_ticks - anchor_ticks_));
    const double ns = hz_ > 0 ? ahead * 1e9 / hz_ : ahead;
    const int64_t mid_ns = anchor_ns_ + static_cast<int64_t>(std::clamp(ns, -1e18, 1e18));
    time.host = {-kUnboundedNs, mid_ns, kUnboundedNs};
    return time;
  }

 private:
  static constexpr int64_t kUnboundedNs = int64_t{1} << 61;
  Device& device_;
  double hz_;
  uint32_t bits_;
  bool anchored_ = false;
  uint64_t anchor_ticks_ = 0;
  int64_t anchor_ns_ = 0;
};

class Conversion {
 public:
  Conversion(const HostJobs& host_jobs, Decoder* decoder, Model* model)
      : host_jobs_(host_jobs), decoder_(*decoder), model_(*model) {
    for (Device& device : model->devices) converters_.emplace_back(&device);
  }

  void Run() {
    FitClocks();
    DeviceJobs& jobs = decoder_.device_jobs;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const HostJob& side = SideOf(jobs.device[i], jobs.job[i]);
      if (side.submit_ns != kNoTime) jobs.near_ns[i] = side.submit_ns;
    }
    for (DeviceTimes* times : {&jobs.doorbell, &jobs.fetched, &jobs.first_start, &jobs.last_end,
                               &jobs.completion, &jobs.irq}) {
      ConvertColumn(jobs.device, jobs.near_ns, times);
    }
    Commands& commands = model_.commands;
    for (size_t i = 0; i < commands.size(); ++i) {
      const HostJob& side = SideOf(commands.device[i], commands.job[i]);
      if (side.submit_ns != kNoTime) decoder_.near.commands[i] = side.submit_ns;
    }
    for (DeviceTimes* times : {&commands.fetched, &commands.head, &commands.start, &commands.end}) {
      ConvertColumn(commands.device, decoder_.near.commands, times);
    }
    ConvertColumn(model_.device_events.device, decoder_.near.device_events,
                  &model_.device_events.time);
    for (uint32_t d = 0; d < model_.devices.size(); ++d) {
      DeviceTimes& times = model_.devices[d].counters.time;
      const std::vector<uint32_t> rows(times.raw_ticks.size(), d);
      ConvertColumn(rows, decoder_.near.counters[d], &times);
    }
    ConvertLosses();
  }

 private:
  const HostJob& SideOf(uint32_t device, uint32_t job) const {
    static const HostJob kNone;
    const auto found = host_jobs_.find(JobKey(device, job));
    return found == host_jobs_.end() ? kNone : found->second;
  }

  // What the order of events tells of a job's device times.
  void Constrain(size_t i, const HostJob& side, std::vector<clock::Constraint>* constraints) {
    using Order = clock::Constraint::Order;
    const DeviceJobs& jobs = decoder_.device_jobs;
    if (side.doorbell_ns != kNoTime) {
      converters_[jobs.device[i]].Anchor(jobs.doorbell.raw_ticks[i], side.doorbell_ns);
      constraints->push_back({jobs.doorbell.raw_ticks[i], side.doorbell_ns, Order::kHostFirst});
    }
    // Not the handler's entry: one that was entered before the completion was
    // written may still have found it.
    if (side.complete_ns == kNoTime) return;
    constraints->push_back({jobs.completion.raw_ticks[i], side.complete_ns, Order::kDeviceFirst});
  }

  void FitClocks() {
    const DeviceJobs& jobs = decoder_.device_jobs;
    std::vector<std::vector<clock::Constraint>> constraints = std::move(decoder_.latched);
    for (size_t i = 0; i < jobs.size(); ++i) {
      Constrain(i, SideOf(jobs.device[i], jobs.job[i]), &constraints[jobs.device[i]]);
    }
    const DeviceEvents& events = model_.device_events;
    for (size_t i = 0; i < events.size(); ++i) {
      const int64_t near_ns = decoder_.near.device_events[i];
      clock::MapBuilder& builder = decoder_.clocks[events.device[i]];
      if (events.kind[i] == DeviceEventBatch::KIND_CLOCK) {
        builder.AddCut(events.time.raw_ticks[i], clock::Cut::kFrequency, near_ns,
                       static_cast<double>(events.arg0[i]) / 1000);
      } else if (events.kind[i] == DeviceEventBatch::KIND_RESET) {
        builder.AddCut(events.time.raw_ticks[i], clock::Cut::kReset, near_ns);
      }
    }
    for (uint32_t d = 0; d < model_.devices.size(); ++d) {
      decoder_.clocks[d].AddConstraints(constraints[d]);
    }
    if (FitGraph()) return;
    for (uint32_t d = 0; d < model_.devices.size(); ++d) converters_[d].Fit(decoder_.clocks[d]);
  }

  // All clocks together, if there are orders between devices and each can be fitted.
  bool FitGraph() {
    DeviceOrders found = FindOrders(model_.host);
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
      const auto near = [&](uint32_t device, uint32_t job) {
        const int64_t submit_ns = SideOf(device, job).submit_ns;
        return submit_ns == kNoTime ? clock::Map::kNoHint : submit_ns;
      };
      edges.push_back({{found.from_device[i], jobs.completion.raw_ticks[from->second],
                        near(found.from_device[i], found.from_job[i])},
                       {found.to_device[i], jobs.doorbell.raw_ticks[to->second],
                        near(found.to_device[i], found.to_job[i])}});
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

  void ConvertColumn(const std::vector<uint32_t>& devices, const std::vector<int64_t>& near_ns,
                     DeviceTimes* times) {
    times->Resize(times->raw_ticks.size());
    for (size_t i = 0; i < times->raw_ticks.size(); ++i) {
      clock::Window window;
      window.near_ns = near_ns[i];
      times->Set(i, converters_[devices[i]].Convert(times->raw_ticks[i], window,
                                                    &model_.load.unconverted_times));
    }
  }

  void ConvertLosses() {
    for (const proto::LossBatch& batch : decoder_.losses) {
      for (int i = 0; i < batch.count_size(); ++i) {
        const auto at = [i](const auto& column) { return i < column.size() ? column.Get(i) : 0; };
        Loss loss;
        loss.hop = model_.strings.Get(at(batch.hop()));
        loss.count = batch.count(i);
        loss.from_device = at(batch.in_ticks()) != 0;
        loss.first_ns = at(batch.first());
        loss.last_ns = at(batch.last());
        const uint32_t row = decoder_.DeviceRow(at(batch.device()));
        if (row != kNoRow) loss.device = row;
        if (loss.from_device) {
          const bool known = row != kNoRow && model_.devices[row].clock.valid();
          if (known) {
            const clock::Map& clock = model_.devices[row].clock;
            loss.has_times = true;
            loss.first = clock.Locate(static_cast<uint64_t>(loss.first_ns), {});
            loss.last = clock.Locate(static_cast<uint64_t>(loss.last_ns), {});
          }
          loss.first_ns = known ? loss.first.host.mid_ns : kNoTime;
          loss.last_ns = known ? loss.last.host.mid_ns : kNoTime;
        } else if (loss.first_ns == 0) {
          loss.first_ns = loss.last_ns = kNoTime;
        }
        model_.losses.push_back(std::move(loss));
      }
    }
  }

  const HostJobs& host_jobs_;
  Decoder& decoder_;
  Model& model_;
  std::vector<Converter> converters_;
};

}  // namespace

void ConvertTimes(const HostJobs& host_jobs, Decoder* decoder, Model* model) {
  Conversion(host_jobs, decoder, model).Run();
}

}  // namespace acceltrace::model
