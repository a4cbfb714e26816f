// SPDX-License-Identifier: Apache-2.0
#include "tests/scoring/history.h"

#include <algorithm>
#include <cmath>

#include "libtrace/model/part/partial.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/file/reader.h"
#include "libtrace/stream/file/writer.h"
#include "tests/scoring/history_machine.h"
#include "tests/scoring/history_random.h"

namespace acceltrace::scoring {

namespace {

using proto::DeviceEventBatch;
using proto::HostBatch;
using stream::DeltaEncoder;

constexpr double kStartNs = 5e12;
constexpr double kMs = 1e6, kSecond = 1e9;

class Maker {
 public:
  Maker(uint64_t seed, bool harsh)
      : random_(seed * 0x9e3779b97f4a7c15ULL + (harsh ? 2 : 1)),
        again_(seed * 0x9e3779b97f4a7c15ULL + (harsh ? 4 : 3)),
        harsh_(harsh) {
    history_.seed = seed;
  }

  History Make() {
    const int devices = random_.Chance(0.7) ? 1 : 2 + random_.Below(2);
    const double seconds = random_.Uniform(2, 6);
    end_ns_ = kStartNs + seconds * kSecond;
    history_.text = fmt("%.1f s", seconds);
    host_loss_ = random_.Chance(0.3) ? 0.02 : 0;
    device_loss_ = random_.Chance(0.3) ? 0.02 : 0;
    if (harsh_) {
      host_loss_ = random_.Chance(0.5) ? random_.LogUniform(0.01, 0.5) : 0;
      device_loss_ = random_.Chance(0.5) ? random_.LogUniform(0.01, 0.3) : 0;
    }
    for (int d = 0; d < devices; ++d) AddMachine(static_cast<uint32_t>(d));
    WritePackets(machines_, std::move(host_), event_records_, end_ns_, &history_);
    for (Machine& machine : machines_) history_.truth.clocks.push_back(machine.c());
    return std::move(history_);
  }

 private:
  double Leg(const Machine& machine, double minimum) {
    double ns = minimum + random_.Exponential(machine.jitter_ns + 0.01);
    if (random_.Chance(machine.slow_share)) ns += random_.Exponential(20'000);
    return ns;
  }

  void AddMachine(uint32_t number) {
    Machine& machine = machines_.emplace_back();
    machine.number = number;
    const int bits[] = {16, 20, 24, 28, 32, 32, 32, 40, 48, 64, 64, 64};
    machine.bits = static_cast<uint32_t>(bits[random_.Below(12)]);
    const double rates[] = {1e6, 24.576e6, 100e6, 312.5e6, 1e9, 1e9, 1e9, 2.5e9, 4e9};
    machine.hz =
        random_.Chance(0.6) ? rates[random_.Below(9)] : std::round(random_.LogUniform(1e6, 4e9));
    machine.ppm = random_.Uniform(-200, 200);
    machine.ptm = random_.Chance(0.3);
    const bool calm = random_.Chance(0.5);
    machine.request_ns = random_.LogUniform(calm ? 40 : 200, 1000);
    machine.return_ns = random_.Chance(0.3) ? random_.LogUniform(40, 3000) : machine.request_ns;
    machine.jitter_ns = calm ? random_.Uniform(0, 3) : random_.Uniform(5, 100);
    machine.slow_share = calm ? 0 : random_.Uniform(0, 0.05);
    uint64_t start = random_.Chance(0.3) ? ~uint64_t{0} - static_cast<uint64_t>(machine.hz)
                                         : static_cast<uint64_t>(random_.Uniform(0, 9e17));
    machine.clock.emplace_back(machine.hz, machine.bits, start, static_cast<int64_t>(kStartNs));
    history_.text += fmt("; axl%u %u bits at %.6g Hz, %+.0f ppm%s", number, machine.bits,
                         machine.hz, machine.ppm, machine.ptm ? ", PTM" : "");
    period_ns_ = random_.Chance(0.7) ? 100 * kMs : random_.LogUniform(10 * kMs, 200 * kMs);
    ChangeClock(&machine);
    Sample(&machine);
    Work(&machine);
    Watch(&machine);
    Number(&machine);
  }

  // There must have been a sample between two unannounced changes.
  bool MayBeUnseen(double at_ns) const { return at_ns > unseen_ns_ + 1.2 * period_ns_; }

  // seen: large enough to show in samples.
  void Announce(Machine* machine, double at_ns, bool jump, bool seen) {
    Event event;
    event.lost = harsh_ && seen && MayBeUnseen(at_ns) && random_.Chance(0.3);
    if (event.lost) {
      history_.text += " (lost)";
      unseen_ns_ = at_ns;
    }
    event.at_ns = at_ns;
    event.kind = DeviceEventBatch::KIND_CLOCK;
    event.arg0 = static_cast<uint64_t>(machine->hz * machine->c().RatioAt(at_ns) * 1e3);
    event.arg1 = jump ? machine->c().RawBefore(at_ns) : 0;
    machine->events.push_back(event);
  }

  void SetRatio(Machine* machine, double at_ns, double ratio, double wander) {
    machine->ratio = ratio;
    machine->clock.front().SetRate(at_ns, ratio * (1 + machine->ppm * 1e-6), wander);
  }

  // The size that it seems to have, with whole wraps removed.
  static double SeenJump(const Machine& machine, int64_t ticks) {
    const double wrap = std::ldexp(1.0, static_cast<int>(machine.bits));
    return std::abs(std::remainder(static_cast<double>(ticks), wrap));
  }

  int64_t JumpTicks(const Machine& machine, double least_ns) {
    const int64_t known[] = {12345678, -777, -123456789, -54321};
    const double least = least_ns * 1e-9 * machine.hz;
    for (int i = 0; i < 100; ++i) {
      auto ticks =
          random_.Chance(0.4)
              ? known[random_.Below(4)]
              : static_cast<int64_t>(random_.LogUniform(1, 1e10) * (random_.Chance(0.5) ? -1 : 1));
      // Unannounced ones must be visible, with whole wraps removed.
      if (SeenJump(machine, ticks) >= least) return ticks;
    }
    return static_cast<int64_t>(4 * least) + 1;
  }

  void ChangeClock(Machine* machine) {
    TrueClock& clock = machine->clock.front();
    const double wander = random_.Chance(0.5) ? random_.Uniform(-1, 1) : 0;
    SetRatio(machine, kStartNs, 1, wander);
    double at = kStartNs + random_.Uniform(-0.2, 1.5) * kSecond;
    // An unannounced change is detected if no other happens nearby.
    const double usual_ns = 6 * period_ns_ + 20 * kMs;
    const double trip = machine->request_ns + machine->return_ns + 10 * machine->jitter_ns;
    const double least_ticks = (3 * trip * 1e-9 * machine->hz) + 3;
    const int changes = random_.Below(harsh_ ? 13 : 7);
    bool last_unannounced = false;
    unseen_ns_ = 0;
    for (int i = 0; i < changes && at < end_ns_; ++i) {
      const int what = random_.Below(8);
      const bool unannounced = what >= 6;
      at = std::max(at, kStartNs + 1);
      const double alone_ns = harsh_ ? usual_ns * random_.Uniform(0, 0.5) : usual_ns;
      if (unannounced || last_unannounced) at += alone_ns;
      if (harsh_ && unannounced && !MayBeUnseen(at)) at = unseen_ns_ + 1.3 * period_ns_;
      if (at > end_ns_ - (unannounced ? alone_ns : 0)) break;
      last_unannounced = unannounced;
      if (unannounced) unseen_ns_ = at;
      const double ratio_before = machine->ratio;
      int64_t jumped = 0;
      if (what <= 2) {
        const int64_t ticks = JumpTicks(*machine, 0);
        clock.Jump(at, ticks);
        history_.text +=
            fmt(", jump %+lld at %.6f", static_cast<long long>(ticks), (at - kStartNs) * 1e-9);
        // A count of zero before a jump means that there was none.
        if (clock.RawBefore(at) == 0)
          clock.Jump(at, -ticks);
        else
          Announce(machine, at, true, SeenJump(*machine, ticks) >= least_ticks);
      } else if (what <= 4) {
        const double ratio = random_.Chance(0.5)
                                 ? random_.Uniform(0.4, 1.6)
                                 : machine->ratio * (1 + random_.Uniform(-3e-4, 3e-4));
        const bool seen = std::abs(ratio / machine->ratio - 1) > 0.02;
        history_.text += fmt(", rate %.6f at %.6f", ratio, (at - kStartNs) * 1e-9);
        SetRatio(machine, at, ratio, wander);
        Announce(machine, at, false, seen);
      } else if (what == 5) {
        const double from = machine->ratio;
        const double to = random_.Chance(0.5) ? from * random_.Uniform(0.9, 1.1)
                                              : from * (1 + random_.Uniform(-1e-5, 1e-5));
        const double step = random_.LogUniform(1, 20) * kMs;
        history_.text +=
            fmt(", ramp to %.6f from %.6f by %.1f ms", to, (at - kStartNs) * 1e-9, step / kMs);
        for (int s = 1; s <= 64 && at < end_ns_; ++s, at += step) {
          SetRatio(machine, at, from + (to - from) * s / 64, wander);
          Announce(machine, at, false, false);
        }
      } else if (what == 6) {
        // On a clock that wraps fast a reset may look like a negligible change.
        const double least_ns = 3 * trip + 3e9 / machine->hz;
        const auto shown = static_cast<int64_t>(clock.RawBefore(at));
        if (random_.Chance(0.3) && SeenJump(*machine, shown) >= least_ns * 1e-9 * machine->hz) {
          clock.Reset(at);
          history_.text += fmt(", reset at %.6f", (at - kStartNs) * 1e-9);
        } else {
          const int64_t ticks = JumpTicks(*machine, least_ns);
          clock.Jump(at, ticks);
          jumped = ticks;
          history_.text += fmt(", unannounced jump %+lld at %.6f", static_cast<long long>(ticks),
                               (at - kStartNs) * 1e-9);
        }
      } else {
        double ratio = machine->ratio;
        while (std::abs(ratio / machine->ratio - 1) < 0.02) ratio = random_.Uniform(0.5, 1.5);
        SetRatio(machine, at, ratio, wander);
        history_.text += fmt(", unannounced rate %.6f at %.6f", ratio, (at - kStartNs) * 1e-9);
      }
      if (unannounced && again_.Chance(harsh_ ? 0.4 : 0.2)) {
        const double next = at + again_.LogUniform(0.01 * kMs, 0.8 * period_ns_);
        if (next < end_ns_ - alone_ns) {
          at = unseen_ns_ = next;
          ChangeAgain(machine, at, ratio_before, jumped, wander, least_ticks);
        }
      }
      at += unannounced           ? alone_ns
            : random_.Chance(0.4) ? random_.LogUniform(0.01, 30) * kMs
                                  : random_.Uniform(0.1, 1.5) * kSecond;
    }
  }

  // A second unannounced change, mostly between the same two samples. Samples show both together,
  // so changes that cancel out are invisible.
  void ChangeAgain(Machine* machine, double at, double ratio_before, int64_t jumped, double wander,
                   double least_ticks) {
    const double at_s = (at - kStartNs) * 1e-9;
    // On a clock that wraps within a few round trips it is invisible.
    const bool can_be_seen = std::ldexp(1.0, static_cast<int>(machine->bits)) > 8 * least_ticks;
    if (again_.Chance(0.5) && can_be_seen) {
      int64_t ticks = 0;
      do {
        ticks = static_cast<int64_t>(again_.LogUniform(least_ticks, 1e10)) *
                (again_.Chance(0.5) ? -1 : 1);
      } while (SeenJump(*machine, ticks) < least_ticks ||
               SeenJump(*machine, jumped + ticks) < least_ticks);
      machine->clock.front().Jump(at, ticks);
      history_.text += fmt(", unannounced jump %+lld at %.6f", static_cast<long long>(ticks), at_s);
      return;
    }
    const auto near = [](double a, double b) { return std::abs(a / b - 1) < 0.02; };
    double ratio = machine->ratio;
    while (near(ratio, machine->ratio) || near(ratio, ratio_before)) {
      ratio = again_.Uniform(0.5, 1.5);
    }
    SetRatio(machine, at, ratio, wander);
    history_.text += fmt(", unannounced rate %.6f at %.6f", ratio, at_s);
  }

  double Read(Machine* machine, double at, clock::Sample* sample) {
    const double seen = at + Leg(*machine, machine->request_ns);
    const double back = seen + Leg(*machine, machine->return_ns);
    sample->host_before_ns = static_cast<int64_t>(std::floor(at));
    sample->host_after_ns = static_cast<int64_t>(std::ceil(back));
    sample->device_ticks = machine->c().Raw(seen);
    return back;
  }

  void Sample(Machine* machine) {
    const bool lost = random_.Chance(0.2);
    const double lost_from = random_.Uniform(kStartNs + 0.3 * kSecond, end_ns_);
    const double lost_to = lost_from + random_.Uniform(0.2, 1.5) * kSecond;
    const auto take = [&](double at) {
      clock::Sample sample;
      const double back = Read(machine, at, &sample);
      if (machine->ptm) {
        const double pair = back + random_.Uniform(50, 300);
        sample.has_ptm = true;
        sample.ptm_device_ticks = machine->c().Raw(pair);
        sample.ptm_host_ns = static_cast<int64_t>(std::floor(pair + random_.Uniform(-0.5, 0.5)));
      }
      if (!(lost && at > lost_from && at < lost_to)) machine->samples.push_back(sample);
      return back + 1500;
    };
    const auto burst = [&](double at) {
      for (int i = 0; i < 32; ++i) at = take(at);
      return at;
    };
    const bool latched = random_.Chance(0.6);
    const bool restless = harsh_ && random_.Chance(0.5);
    if (!harsh_ || random_.Chance(0.8)) burst(kStartNs);
    for (double at = kStartNs + 2 * kMs; at < end_ns_;
         at += period_ns_ * (restless ? random_.Uniform(0.05, 1) : 1)) {
      double next = take(at);
      for (int i = 0; i < (latched ? 4 : 0); ++i) {
        clock::Sample latch;
        next = Read(machine, next + 500, &latch);
        machine->latches.emplace_back(latch.device_ticks, latch.host_before_ns,
                                      latch.host_after_ns);
      }
    }
    if (!harsh_ || random_.Chance(0.8)) burst(end_ns_);
  }

  void Work(Machine* machine) {
    const double gap_ns = kSecond / random_.LogUniform(20, 150);
    uint32_t job = 1;
    double free_ns = 0;
    for (double ns = kStartNs + 3 * kMs; ns < end_ns_ - 3 * kMs;
         ns += random_.Exponential(gap_ns), ++job) {
      JobRow row;
      row.job = job;
      row.queue = static_cast<uint32_t>(random_.Below(3));
      row.commands = static_cast<uint32_t>(1 + random_.Below(3));
      const double rung = ns + random_.Uniform(1e3, 1e4);
      const double arrived = rung + Leg(*machine, machine->request_ns);
      TrueJob& truth = row.truth;
      truth.doorbell = arrived;
      truth.fetched = arrived + random_.Uniform(100, 2000);
      truth.first_start = 1e300;
      const double length = random_.LogUniform(1e3, 3e6);
      for (uint32_t i = 0; i < row.commands; ++i) {
        CommandRow command;
        command.job = job;
        command.index = i;
        TrueCommand& t = command.truth;
        t.unit = i % 2;
        t.fetched = truth.fetched + 50 * i;
        t.head = std::max(t.fetched, free_ns) + random_.Uniform(10, 500);
        t.start = t.head + (random_.Chance(0.5) ? 0 : random_.Uniform(0, length));
        t.end = t.start + random_.Uniform(0.1, 1) * length;
        t.stalled = (t.end - t.start) * random_.Uniform(0, 0.5);
        free_ns = t.end;
        command.made_ns = t.end;
        truth.first_start = std::min(truth.first_start, t.start);
        truth.last_end = std::max(truth.last_end, t.end);
        machine->commands.push_back(command);
      }
      truth.completion = truth.last_end + random_.Uniform(100, 1000);
      truth.has_irq = random_.Chance(0.95);
      const bool late = random_.Chance(0.01);
      truth.irq = truth.completion + (late ? random_.Uniform(0, 2e7) : 20);
      row.made_ns = truth.has_irq ? truth.irq : truth.completion;
      const double seen = truth.completion + Leg(*machine, machine->return_ns);
      Event doorbell;
      doorbell.at_ns = arrived;
      doorbell.kind = DeviceEventBatch::KIND_DOORBELL;
      doorbell.arg0 = job, doorbell.arg1 = job - 1, doorbell.queue = row.queue;
      machine->events.push_back(doorbell);
      const auto host = [&](double at, uint32_t kind, uint64_t arg0, uint64_t arg1) {
        if (random_.Chance(host_loss_)) return;
        host_.push_back({at, kind, machine->number, job, row.queue, arg0, arg1});
      };
      host(ns, HostBatch::KIND_SUBMIT, row.commands, 0);
      host(rung - 1, HostBatch::KIND_DOORBELL, job, 0);
      host(seen + 1, HostBatch::KIND_COMPLETE, 0, machine->c().Raw(truth.completion));
      machine->jobs.push_back(row);
    }
  }

  void Watch(Machine* machine) {
    uint64_t serial = 1;
    const double period = random_.LogUniform(5, 50) * kMs;
    for (double at = kStartNs + kMs; at < end_ns_; at += period) {
      machine->counters.emplace_back(at, serial++);
    }
    for (double at = kStartNs + kMs; at < end_ns_; at += random_.Exponential(100 * kMs)) {
      Event event;
      event.at_ns = at;
      event.kind = DeviceEventBatch::KIND_THROTTLE;
      event.arg0 = machine->events.size();
      machine->events.push_back(event);
    }
    uint64_t id = 1;
    for (Event& event : machine->events) event.id = id++;
  }

  // The device's record numbers, in the order of creation; lost records count.
  void Number(Machine* machine) {
    std::vector<std::pair<double, uint64_t*>> made;
    std::vector<std::tuple<double, int, size_t>> order;
    for (size_t i = 0; i < machine->jobs.size(); ++i) {
      order.emplace_back(machine->jobs[i].made_ns, 2, i);
    }
    for (size_t i = 0; i < machine->commands.size(); ++i) {
      order.emplace_back(machine->commands[i].made_ns, 1, i);
    }
    for (size_t i = 0; i < machine->events.size(); ++i) {
      order.emplace_back(machine->events[i].at_ns, 0, i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
    uint64_t record = 1000;
    std::vector<bool> lost_jobs(machine->jobs.size()), lost_commands(machine->commands.size());
    uint64_t count = 1;
    for (const auto& [at, what, index] : order) {
      ++record;
      // Announcements of clock changes stay, since without them this would be another history.
      const bool lost = what > 0 ? random_.Chance(device_loss_) : machine->events[index].lost;
      if (lost) machine->losses.push_back({at, at, count++, at});
      if (what == 0) event_records_[{machine->number, index}] = record;
      if (what == 1) machine->commands[index].record = record, lost_commands[index] = lost;
      if (what == 2) machine->jobs[index].record = record, lost_jobs[index] = lost;
    }
    const auto drop = [](auto* rows, const std::vector<bool>& lost) {
      size_t kept = 0;
      for (size_t i = 0; i < rows->size(); ++i) {
        if (!lost[i]) (*rows)[kept++] = (*rows)[i];
      }
      rows->resize(kept);
    };
    drop(&machine->jobs, lost_jobs);
    drop(&machine->commands, lost_commands);
    const auto by_time = [](const auto& a, const auto& b) { return a.made_ns < b.made_ns; };
    std::stable_sort(machine->jobs.begin(), machine->jobs.end(), by_time);
    std::stable_sort(machine->commands.begin(), machine->commands.end(), by_time);
  }

  HistoryRandom random_;
  HistoryRandom again_;  // histories without second changes are what they were
  History history_;
  std::vector<Machine> machines_;
  std::vector<HostRow> host_;
  EventRecords event_records_;
  bool harsh_;
  double end_ns_ = 0, period_ns_ = 0, unseen_ns_ = 0, host_loss_ = 0, device_loss_ = 0;
};

}  // namespace

History MakeHistory(uint64_t seed, bool harsh) { return Maker(seed, harsh).Make(); }

namespace {

std::string Encoded(const History& history) {
  stream::PacketEncoder encoder;
  std::string bytes;
  for (proto::Packet packet : history.packets) encoder.Append(&packet, 0, 1, &bytes);
  encoder.AppendFooter(&bytes);
  return bytes;
}

}  // namespace

std::unique_ptr<model::Model> LoadHistoryPart(const History& history, double from, double to) {
  const std::string bytes = Encoded(history);
  const auto trace = model::PartialTrace::Of(stream::FileIndex::FromMemory(bytes));
  if (trace == nullptr) return nullptr;
  const auto length = static_cast<double>(trace->end_ns() - trace->begin_ns());
  auto part = trace->Load({trace->begin_ns() + static_cast<int64_t>(from * length),
                           trace->begin_ns() + static_cast<int64_t>(to * length)});
  return part.ok() ? std::move(part).value() : nullptr;
}

std::unique_ptr<model::Model> LoadHistory(const History& history) {
  const std::string bytes = Encoded(history);
  const auto reader = stream::Reader::FromMemory(bytes);
  if (!reader.ok()) return nullptr;
  auto model = model::Load(reader->get());
  return model.ok() ? std::move(model).value() : nullptr;
}

}  // namespace acceltrace::scoring
