// SPDX-License-Identifier: Apache-2.0
//
// Compares the times of a loaded history with the true ones.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tests/scoring/history.h"

namespace acceltrace::scoring {

namespace {

class Checker {
 public:
  Checker(const model::Model& model, const History& history)
      : model_(model), truth_(history.truth) {}

  Verdict Run() {
    CheckJobs();
    CheckCommands();
    CheckRest();
    return std::move(verdict_);
  }

 private:
  uint32_t Number(uint32_t row) const { return model_.devices[row].about.device(); }

  void Outside(double by_ns, const std::string& what) {
    if (by_ns <= verdict_.worst_ns && !verdict_.worst.empty()) return;
    verdict_.worst_ns = by_ns;
    verdict_.worst = what;
  }

  void See(uint32_t device, const model::DeviceTime& time, double true_ns, const char* what,
           uint64_t id) {
    ++verdict_.times;
    const proto::Clock& clock = model_.devices[device].about.clock();
    const bool is_long =
        std::ldexp(1.0, static_cast<int>(clock.bits())) >= static_cast<double>(clock.nominal_hz());
    verdict_.long_times += is_long;
    const auto lo = static_cast<double>(time.host.lo_ns);
    const auto hi = static_cast<double>(time.host.hi_ns);
    if (time.epoch == clock::kNoEpoch) {
      ++verdict_.open;
      verdict_.long_open += is_long;
    } else {
      const double trip = std::max<double>(
          1, static_cast<double>(model_.devices[device].clock.quality().round_trip_min_ns));
      const double tick = 1e9 / static_cast<double>(clock.nominal_hz());
      verdict_.widths.push_back((hi - lo) / (trip + tick));
    }
    const double outside = std::max(lo - true_ns, true_ns - hi);
    if (outside <= 0) return;
    ++verdict_.outside;
    char text[300];
    std::snprintf(text, sizeof text,
                  "%s %llu of device %u: true %.1f, in [%.0f, %.0f], raw %llu, epoch %d", what,
                  static_cast<unsigned long long>(id), device, true_ns - kStartNs, lo - kStartNs,
                  hi - kStartNs, static_cast<unsigned long long>(time.raw_ticks),
                  static_cast<int>(time.epoch));
    if (std::getenv("CLOCK_ALL") != nullptr) std::printf("    %s\n", text);
    Outside(outside, text);
  }

  void CheckJobs() {
    const model::Jobs& jobs = model_.jobs;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const auto found = truth_.jobs.find({Number(jobs.device[i]), jobs.job[i]});
      if (!jobs.on_device[i] || found == truth_.jobs.end()) continue;
      const TrueJob& t = found->second;
      const auto see = [&](const model::DeviceTimes& times, double ns, const char* what) {
        See(jobs.device[i], times.At(i), ns, what, jobs.job[i]);
      };
      see(jobs.doorbell, t.doorbell, "doorbell");
      see(jobs.fetched, t.fetched, "job fetched");
      see(jobs.first_start, t.first_start, "first start");
      see(jobs.last_end, t.last_end, "last end");
      see(jobs.completion, t.completion, "completion");
      if (jobs.has_irq[i]) see(jobs.irq, t.irq, "irq");
    }
  }

  void Took(const model::Device& device, const model::DeviceTime& begin,
            const model::DeviceTime& end, double true_ns, const char* what, uint64_t id) {
    ++verdict_.durations;
    const model::Interval took = device.Duration(begin, end);
    const double outside = std::max(static_cast<double>(took.lo_ns) - true_ns,
                                    true_ns - static_cast<double>(took.hi_ns));
    if (outside <= 0 && took.lo_ns >= 0) return;
    ++verdict_.durations_outside;
    char text[200];
    std::snprintf(text, sizeof text, "%s of job %llu: true %.1f, in [%lld, %lld]", what,
                  static_cast<unsigned long long>(id), true_ns, static_cast<long long>(took.lo_ns),
                  static_cast<long long>(took.hi_ns));
    Outside(outside, text);
  }

  void CheckCommands() {
    const model::Commands& commands = model_.commands;
    for (size_t i = 0; i < commands.size(); ++i) {
      const auto found =
          truth_.commands.find({Number(commands.device[i]), commands.job[i], commands.index[i]});
      if (found == truth_.commands.end()) continue;
      const TrueCommand& t = found->second;
      const auto see = [&](const model::DeviceTimes& times, double ns, const char* what) {
        See(commands.device[i], times.At(i), ns, what, commands.job[i]);
      };
      see(commands.fetched, t.fetched, "fetched");
      see(commands.head, t.head, "head");
      see(commands.start, t.start, "start");
      see(commands.end, t.end, "end");
      const model::Device& device = model_.devices[commands.device[i]];
      Took(device, commands.start.At(i), commands.end.At(i), t.end - t.start, "start to end",
           commands.job[i]);
      Took(device, commands.head.At(i), commands.end.At(i), t.end - t.head, "head to end",
           commands.job[i]);
      Took(device, commands.fetched.At(i), commands.end.At(i), t.end - t.fetched, "fetched to end",
           commands.job[i]);
    }
  }

  void CheckRest() {
    const model::DeviceEvents& events = model_.device_events;
    for (size_t i = 0; i < events.size(); ++i) {
      const bool of_clock = events.kind[i] == proto::DeviceEventBatch::KIND_CLOCK;
      const uint64_t id = of_clock ? events.arg2[i] : events.arg0[i];
      const auto found = truth_.events.find({Number(events.device[i]), events.kind[i], id});
      if (found == truth_.events.end()) continue;
      See(events.device[i], events.time.At(i), found->second, of_clock ? "clock event" : "event",
          id);
    }
    for (uint32_t d = 0; d < model_.devices.size(); ++d) {
      const model::CounterSamples& samples = model_.devices[d].counters;
      for (size_t i = 0; i < samples.size(); ++i) {
        const auto found = truth_.counters.find({Number(d), samples.At(i, 0)});
        if (found == truth_.counters.end()) continue;
        See(d, samples.time.At(i), found->second, "counters", samples.At(i, 0));
      }
    }
    for (const model::Loss& loss : model_.losses) {
      if (!loss.has_times) continue;
      const auto found = truth_.losses.find({Number(loss.device), loss.count});
      if (found == truth_.losses.end()) continue;
      See(loss.device, loss.first, found->second.first, "loss", loss.count);
      See(loss.device, loss.last, found->second.second, "loss", loss.count);
    }
  }

  static constexpr double kStartNs = 5e12;
  const model::Model& model_;
  const HistoryTruth& truth_;
  Verdict verdict_;
};

}  // namespace

Verdict CheckTimes(const model::Model& model, const History& history) {
  return Checker(model, history).Run();
}

}  // namespace acceltrace::scoring
