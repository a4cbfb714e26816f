// SPDX-License-Identifier: Apache-2.0
#include "tests/scoring/simulator.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace acceltrace::scoring {

namespace {

constexpr double kHostStartNs = 1e12;

// The count at a host time, in long double, which has a mantissa of 64 bits.
class DeviceClock {
 public:
  explicit DeviceClock(const Scenario& scenario) : scenario_(scenario) {
    Part part;
    part.count = scenario.start_ticks;
    parts_.push_back(part);
    for (const ClockChange& change : scenario.changes) {
      Part next;
      next.from_s = change.at_s;
      next.ratio = change.ratio;
      next.count = change.reset ? 0 : CountAt(change.at_s) + change.jump_ticks;
      parts_.push_back(next);
    }
  }

  uint64_t Ticks(double host_ns) const {
    const auto count = static_cast<uint64_t>(
        std::floor(CountAt((static_cast<long double>(host_ns) - kHostStartNs) * 1e-9L)));
    return scenario_.bits == 64 ? count : count & ((uint64_t{1} << scenario_.bits) - 1);
  }

 private:
  struct Part {
    long double from_s = 0;
    long double ratio = 1;
    long double count = 0;
  };

  long double CountAt(long double s) const {
    const Part* part = &parts_.front();
    for (const Part& candidate : parts_) {
      if (candidate.from_s <= s) part = &candidate;
    }
    // Frequency is nominal * ratio * (1 + ppm + ramp * s).
    const long double ppm = scenario_.ppm * 1e-6L, ramp = scenario_.ramp_ppm_per_s * 1e-6L;
    const long double a = part->from_s, d = s - a;
    const long double cycles = d * (1 + ppm) + ramp * d * (s + a) / 2;
    return part->count + scenario_.nominal_hz * part->ratio * cycles;
  }

  Scenario scenario_;
  std::vector<Part> parts_;
};

class Traffic {
 public:
  explicit Traffic(uint64_t seed) : random_(seed) {}
  double Uniform(double from, double to) {
    return from + (to - from) * std::uniform_real_distribution<>(0, 1)(random_);
  }
  double Exponential(double mean) {
    return mean > 0 ? std::exponential_distribution<>(1 / mean)(random_) : 0;
  }
  bool Chance(double share) { return Uniform(0, 1) < share; }
  // One direction of a path: `minimum` plus random delays.
  double Leg(const Path& path, double minimum) {
    double ns = minimum + Exponential(path.jitter_ns);
    if (Chance(path.slow_share / 2)) ns += Exponential(path.slow_ns);
    if (Chance(path.preempted_share / 2)) ns += Uniform(0, path.preempted_ns);
    return ns;
  }

 private:
  std::mt19937_64 random_;
};

clock::Sample Read(const Scenario& scenario, const DeviceClock& device, double host_ns,
                   Traffic* traffic) {
  clock::Sample sample;
  const double at = host_ns + traffic->Leg(scenario.read, scenario.read.request_ns);
  const double back = at + traffic->Leg(scenario.read, scenario.read.return_ns);
  sample.host_before_ns = static_cast<int64_t>(std::floor(host_ns));
  sample.host_after_ns = static_cast<int64_t>(std::ceil(back));
  sample.device_ticks = device.Ticks(at);
  if (scenario.ptm) {
    sample.has_ptm = true;
    const double ptm = back + 100;
    sample.ptm_device_ticks = device.Ticks(ptm);
    sample.ptm_host_ns = static_cast<int64_t>(std::floor(ptm));
  }
  return sample;
}

}  // namespace

clock::MapBuilder Recording::Builder() const {
  clock::MapBuilder builder({scenario.nominal_hz, scenario.bits});
  for (const clock::Sample& sample : samples) builder.Add(sample);
  for (const Cut& cut : cuts) {
    builder.AddCut(cut.ticks, clock::Cut::kFrequency, cut.near_ns, cut.hz);
  }
  builder.AddConstraints(constraints);
  return builder;
}

Recording Simulate(const Scenario& scenario) {
  Recording recording;
  recording.scenario = scenario;
  const DeviceClock device(scenario);
  Traffic traffic(scenario.seed);
  const double end_ns = kHostStartNs + scenario.duration_s * 1e9;

  const auto lost = [&](double host_ns) {
    const double s = (host_ns - kHostStartNs) * 1e-9;
    return s >= scenario.lost_from_s && s < scenario.lost_to_s;
  };
  double free_ns = kHostStartNs;  // the sampler is one thread
  const auto sample = [&](double host_ns) {
    host_ns = std::max(host_ns, free_ns);
    recording.samples.push_back(Read(scenario, device, host_ns, &traffic));
    free_ns = static_cast<double>(recording.samples.back().host_after_ns) + 1000;
  };
  for (int i = 0; i < scenario.burst; ++i) sample(kHostStartNs + 1e6 * i);
  for (double ns = kHostStartNs + 1e6 * scenario.burst; ns < end_ns;
       ns += scenario.period_s * 1e9 * traffic.Uniform(0.8, 1.2)) {
    if (!lost(ns)) sample(ns);
  }
  for (int i = 0; i < scenario.burst; ++i) sample(end_ns + 1e6 * i);

  for (double ns = kHostStartNs + 1e6; ns < end_ns;
       ns += traffic.Exponential(1e9 / scenario.jobs_per_s)) {
    const double rung = ns + traffic.Leg(scenario.doorbell, scenario.doorbell.request_ns);
    const double done = rung + traffic.Uniform(2e3, 1.5e9 / scenario.jobs_per_s);
    const double seen = done + traffic.Leg(scenario.interrupt, scenario.interrupt.return_ns);
    const auto near_ns = static_cast<int64_t>(std::floor(ns));
    using Order = clock::Constraint::Order;
    recording.constraints.push_back({device.Ticks(rung), near_ns, Order::kHostFirst});
    recording.constraints.push_back(
        {device.Ticks(done), static_cast<int64_t>(std::floor(seen)), Order::kDeviceFirst});
    recording.events.push_back({device.Ticks(rung), near_ns, rung});
    for (int i = 1; i <= 3; ++i) {
      const double at = rung + (done - rung) * traffic.Uniform(0, 1);
      recording.events.push_back({device.Ticks(at), near_ns, at});
    }
    recording.events.push_back({device.Ticks(done), near_ns, done});
  }
  if (scenario.announced) {
    for (const ClockChange& change : scenario.changes) {
      const double at = kHostStartNs + change.at_s * 1e9;
      // The record is made at the first tick of the new count or rate.
      recording.cuts.push_back({device.Ticks(at + 1), static_cast<int64_t>(at) - 1000,
                                scenario.nominal_hz * change.ratio * (1 + scenario.ppm * 1e-6)});
    }
  }
  return recording;
}

std::vector<Scenario> FaultMatrix(bool quiet) {
  Scenario base;
  if (quiet) {
    base.read = {40, 40, 1.5, 0, 0, 0, 0};
    base.doorbell = {30, 0, 3, 0, 0, 0, 0};
    base.interrupt = {0, 400, 100, 0, 0, 0, 0};
  }
  std::vector<Scenario> cells;
  const auto add = [&](const std::string& name, auto&& change) {
    Scenario cell = base;
    cell.name = name;
    cell.ppm = 37;
    change(cell);
    cell.seed = 1000 + cells.size();
    cells.push_back(cell);
  };
  for (int ppm : {0, 20, -20, 200, -200}) {
    add("ppm " + std::to_string(ppm), [&](Scenario& s) { s.ppm = ppm; });
  }
  add("ramp 1 ppm/s", [](Scenario& s) { s.ramp_ppm_per_s = 1, s.ppm = 20; });
  for (double ratio : {0.5, 1.25}) {
    const std::string name = ratio < 1 ? "step to 0.5x" : "step to 1.25x";
    add(name + ", announced", [&](Scenario& s) { s.changes = {{7.3331, ratio}}; });
    add(name + ", not announced", [&](Scenario& s) {
      s.changes = {{7.3331, ratio}};
      s.announced = false;
    });
  }
  add("steps there and back, announced", [&](Scenario& s) {
    s.changes = {{7.3331, 0.5}, {7.3411, 1.0}, {12.1, 1.25}, {14.2, 1.0}};
  });
  add("32-bit wrap", [](Scenario& s) { s.bits = 32; });
  for (int ns : {300, 1000}) {
    add("read asymmetry " + std::to_string(ns) + " ns",
        [&](Scenario& s) { s.read.return_ns += ns; });
  }
  add("preempted", [](Scenario& s) { s.read.preempted_share = 0.3; });
  add("samples lost for 10 s",
      [](Scenario& s) { s.duration_s = 30, s.lost_from_s = 12, s.lost_to_s = 22; });
  add("samples lost for 10 s, 32-bit wrap",
      [](Scenario& s) { s.duration_s = 30, s.lost_from_s = 12, s.lost_to_s = 22, s.bits = 32; });
  add("device reset", [](Scenario& s) {
    s.changes = {{9.87654, 1.0, 0, true}};
    s.announced = false;
  });
  add("jump of 3 ms", [](Scenario& s) {
    s.changes = {{9.87654, 1.0, 3e6, false}};
    s.announced = false;
  });
  add("ppm -20, cross-timestamps", [](Scenario& s) { s.ppm = -20, s.ptm = true; });
  add("ramp 1 ppm/s, cross-timestamps",
      [](Scenario& s) { s.ramp_ppm_per_s = 1, s.ppm = 20, s.ptm = true; });
  return cells;
}

}  // namespace acceltrace::scoring
