// SPDX-License-Identifier: Apache-2.0
#include "tests/scoring/history.h"

#include <algorithm>
#include <cmath>

#include "libtrace/stream/columns.h"
#include "libtrace/stream/reader.h"
#include "libtrace/stream/writer.h"
#include "tests/scoring/history_machine.h"
#include "tests/scoring/history_random.h"

namespace acceltrace::scoring {

namespace {

using proto::DeviceEventBatch;
using proto::HostBatch;
using stream::DeltaEncoder;

constexpr double kStartNs = 5e12;
constexpr double kMs = 1e6, kSecond = 1e9;
// A batch goes to the stream this often, as with the daemon.
constexpr double kFlushNs = 5e8;

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
    WritePackets();
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

  // Of two changes that nobody tells a sample must have been between.
  bool MayBeUnseen(double at_ns) const { return at_ns > unseen_ns_ + 1.2 * period_ns_; }

  // seen: so large that samples show it.
  void Tell(Machine* machine, double at_ns, bool jump, bool seen) {
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

  // How far it looks to be, past whole wraps.
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
      // Untold ones must be seen, also past whole wraps.
      if (SeenJump(machine, ticks) >= least) return ticks;
    }
    return static_cast<int64_t>(4 * least) + 1;
  }

  void ChangeClock(Machine* machine) {
    TrueClock& clock = machine->clock.front();
    const double wander = random_.Chance(0.5) ? random_.Uniform(-1, 1) : 0;
    SetRatio(machine, kStartNs, 1, wander);
    double at = kStartNs + random_.Uniform(-0.2, 1.5) * kSecond;
    // What nobody tells is found if nothing else happens nearby.
    const double usual_ns = 6 * period_ns_ + 20 * kMs;
    const double trip = machine->request_ns + machine->return_ns + 10 * machine->jitter_ns;
    const double least_ticks = (3 * trip * 1e-9 * machine->hz) + 3;
    const int changes = random_.Below(harsh_ ? 13 : 7);
    bool last_untold = false;
    unseen_ns_ = 0;
    for (int i = 0; i < changes && at < end_ns_; ++i) {
      const int what = random_.Below(8);
      const bool untold = what >= 6;
      at = std::max(at, kStartNs + 1);
      const double alone_ns = harsh_ ? usual_ns * random_.Uniform(0, 0.5) : usual_ns;
      if (untold || last_untold) at += alone_ns;
      if (harsh_ && untold && !MayBeUnseen(at)) at = unseen_ns_ + 1.3 * period_ns_;
      if (at > end_ns_ - (untold ? alone_ns : 0)) break;
      last_untold = untold;
      if (untold) unseen_ns_ = at;
      const double ratio_before = machine->ratio;
      int64_t jumped = 0;
      if (what <= 2) {
        const int64_t ticks = JumpTicks(*machine, 0);
        clock.Jump(at, ticks);
        history_.text +=
            fmt(", jump %+lld at %.6f", static_cast<long long>(ticks), (at - kStartNs) * 1e-9);
        // A count of zero before a jump says that there was none.
        if (clock.RawBefore(at) == 0)
          clock.Jump(at, -ticks);
        else
          Tell(machine, at, true, SeenJump(*machine, ticks) >= least_ticks);
      } else if (what <= 4) {
        const double ratio = random_.Chance(0.5)
                                 ? random_.Uniform(0.4, 1.6)
                                 : machine->ratio * (1 + random_.Uniform(-3e-4, 3e-4));
        const bool seen = std::abs(ratio / machine->ratio - 1) > 0.02;
        history_.text += fmt(", rate %.6f at %.6f", ratio, (at - kStartNs) * 1e-9);
        SetRatio(machine, at, ratio, wander);
        Tell(machine, at, false, seen);
      } else if (what == 5) {
        const double from = machine->ratio;
        const double to = random_.Chance(0.5) ? from * random_.Uniform(0.9, 1.1)
                                              : from * (1 + random_.Uniform(-1e-5, 1e-5));
        const double step = random_.LogUniform(1, 20) * kMs;
        history_.text +=
            fmt(", ramp to %.6f from %.6f by %.1f ms", to, (at - kStartNs) * 1e-9, step / kMs);
        for (int s = 1; s <= 64 && at < end_ns_; ++s, at += step) {
          SetRatio(machine, at, from + (to - from) * s / 64, wander);
          Tell(machine, at, false, false);
        }
      } else if (what == 6) {
        if (random_.Chance(0.3)) {
          clock.Reset(at);
          history_.text += fmt(", reset at %.6f", (at - kStartNs) * 1e-9);
        } else {
          const int64_t ticks = JumpTicks(*machine, 3 * trip + 3e9 / machine->hz);
          clock.Jump(at, ticks);
          jumped = ticks;
          history_.text += fmt(", untold jump %+lld at %.6f", static_cast<long long>(ticks),
                               (at - kStartNs) * 1e-9);
        }
      } else {
        double ratio = machine->ratio;
        while (std::abs(ratio / machine->ratio - 1) < 0.02) ratio = random_.Uniform(0.5, 1.5);
        SetRatio(machine, at, ratio, wander);
        history_.text += fmt(", untold rate %.6f at %.6f", ratio, (at - kStartNs) * 1e-9);
      }
      if (untold && again_.Chance(harsh_ ? 0.4 : 0.2)) {
        const double next = at + again_.LogUniform(0.01 * kMs, 0.8 * period_ns_);
        if (next < end_ns_ - alone_ns) {
          at = unseen_ns_ = next;
          ChangeAgain(machine, at, ratio_before, jumped, wander, least_ticks);
        }
      }
      at += untold                ? alone_ns
            : random_.Chance(0.4) ? random_.LogUniform(0.01, 30) * kMs
                                  : random_.Uniform(0.1, 1.5) * kSecond;
    }
  }

  // A second untold change, most often between the same two samples. Samples show both together:
  // what cancels out nobody can see.
  void ChangeAgain(Machine* machine, double at, double ratio_before, int64_t jumped, double wander,
                   double least_ticks) {
    const double at_s = (at - kStartNs) * 1e-9;
    // On a clock that wraps within a few round trips none can be seen.
    const bool can_be_seen = std::ldexp(1.0, static_cast<int>(machine->bits)) > 8 * least_ticks;
    if (again_.Chance(0.5) && can_be_seen) {
      int64_t ticks = 0;
      do {
        ticks = static_cast<int64_t>(again_.LogUniform(least_ticks, 1e10)) *
                (again_.Chance(0.5) ? -1 : 1);
      } while (SeenJump(*machine, ticks) < least_ticks ||
               SeenJump(*machine, jumped + ticks) < least_ticks);
      machine->clock.front().Jump(at, ticks);
      history_.text += fmt(", untold jump %+lld at %.6f", static_cast<long long>(ticks), at_s);
      return;
    }
    const auto near = [](double a, double b) { return std::abs(a / b - 1) < 0.02; };
    double ratio = machine->ratio;
    while (near(ratio, machine->ratio) || near(ratio, ratio_before)) {
      ratio = again_.Uniform(0.5, 1.5);
    }
    SetRatio(machine, at, ratio, wander);
    history_.text += fmt(", untold rate %.6f at %.6f", ratio, at_s);
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

  // The device's numbers of its records, in the order of their making; lost ones count.
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
      // What tells of the clock stays: without it this were another history.
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

  void Describe(const Machine& machine) {
    proto::Device* about = history_.packets.emplace_back().mutable_device();
    about->set_device(machine.number);
    about->set_name("axl" + std::to_string(machine.number));
    about->mutable_clock()->set_nominal_hz(static_cast<uint64_t>(machine.hz));
    about->mutable_clock()->set_bits(machine.bits);
    for (const char* name : {"first", "second"}) {
      proto::Unit* unit = about->add_units();
      unit->set_name(name);
      unit->set_kind(proto::Unit::KIND_MATRIX);
      unit->set_work_unit("MACs");
      unit->set_peak_work_per_s(1e12);
    }
    about->add_stalls("semaphore");
    about->add_stalls("memory");
    about->add_limiters("compute");
    about->add_statuses("ok");
    about->add_counters()->set_name("serial");
    about->add_counters()->set_name("elapsed_ticks");
  }

  void WriteSamples(const Machine& machine, double from, double to) {
    proto::Packet packet;
    proto::ClockBatch* batch = packet.mutable_clocks();
    batch->set_device(machine.number);
    DeltaEncoder before, ticks, tsc, ptm_ticks, ptm_host, ptm_tsc;
    for (const clock::Sample& sample : machine.samples) {
      const auto at = static_cast<double>(sample.host_before_ns);
      if (at < from || at >= to) continue;
      before.Append(static_cast<uint64_t>(sample.host_before_ns),
                    batch->mutable_host_before_ns_delta());
      batch->add_host_width_ns(static_cast<uint64_t>(sample.host_after_ns - sample.host_before_ns));
      ticks.Append(sample.device_ticks, batch->mutable_device_ticks_delta());
      tsc.Append(uint64_t{0}, batch->mutable_tsc_before_delta());
      batch->add_tsc_width(0);
      ptm_ticks.Append(sample.ptm_device_ticks, batch->mutable_ptm_device_ticks_delta());
      ptm_host.Append(static_cast<uint64_t>(sample.ptm_host_ns),
                      batch->mutable_ptm_host_ns_delta());
      ptm_tsc.Append(uint64_t{0}, batch->mutable_ptm_tsc_delta());
      batch->add_has_ptm(sample.has_ptm);
    }
    if (batch->host_before_ns_delta_size() > 0) history_.packets.push_back(packet);
  }

  static int64_t After(uint64_t later, uint64_t earlier, uint64_t mask) {
    const uint64_t forward = (later - earlier) & mask;
    if (forward <= mask / 2) return static_cast<int64_t>(forward);
    return -static_cast<int64_t>((earlier - later) & mask);
  }

  void WriteCommands(const Machine& machine, double from, double to) {
    proto::Packet packet;
    proto::CommandBatch* batch = packet.mutable_commands();
    batch->set_device(machine.number);
    const TrueClock& clock = machine.c();
    const uint64_t mask = clock.mask();
    DeltaEncoder fetched, records, correlations;
    for (const CommandRow& row : machine.commands) {
      if (row.made_ns < from || row.made_ns >= to) continue;
      const TrueCommand& t = row.truth;
      // The wait is taken off the start, in ticks that do not jump.
      const uint64_t wait = clock.Elapsed(t.start) - clock.Elapsed(t.head);
      const uint64_t start = clock.Raw(t.start), head = (start - wait) & mask;
      fetched.Append(clock.Raw(t.fetched), batch->mutable_fetched_ticks_delta());
      batch->add_head_ticks_after((head - clock.Raw(t.fetched)) & mask);
      batch->add_start_ticks_after(wait);
      batch->add_end_ticks_after((clock.Raw(t.end) - start) & mask);
      records.Append(row.record, batch->mutable_record_delta());
      batch->add_unit(t.unit);
      batch->add_context(1);
      batch->add_queue(0);
      batch->add_job(row.job);
      batch->add_index(row.index);
      batch->add_opcode(1);
      batch->add_status(0);
      batch->add_limiter(0);
      batch->add_tag(0);
      correlations.Append(uint64_t{row.job}, batch->mutable_correlation_delta());
      batch->add_work(1000);
      batch->add_bytes(0);
      batch->add_memory_bytes(0);
      batch->add_row_hits(0);
      batch->add_row_misses(0);
      batch->add_stall_ticks(wait);
      batch->add_stall_ticks(clock.Elapsed(t.start + t.stalled) - clock.Elapsed(t.start));
      history_.truth.commands[{machine.number, row.job, row.index}] = t;
    }
    if (batch->fetched_ticks_delta_size() > 0) history_.packets.push_back(packet);
  }

  void WriteJobs(const Machine& machine, double from, double to) {
    proto::Packet packet;
    proto::JobBatch* batch = packet.mutable_jobs();
    batch->set_device(machine.number);
    const TrueClock& clock = machine.c();
    DeltaEncoder doorbells, records, correlations;
    for (const JobRow& row : machine.jobs) {
      if (row.made_ns < from || row.made_ns >= to) continue;
      const TrueJob& t = row.truth;
      const uint64_t doorbell = clock.Raw(t.doorbell);
      const auto after = [&](double ns) { return After(clock.Raw(ns), doorbell, clock.mask()); };
      doorbells.Append(doorbell, batch->mutable_doorbell_ticks_delta());
      batch->add_fetched_ticks_after(after(t.fetched));
      batch->add_first_start_ticks_after(after(t.first_start));
      batch->add_last_end_ticks_after(after(t.last_end));
      batch->add_completion_ticks_after(after(t.completion));
      batch->add_irq_ticks_after(t.has_irq ? after(t.irq) : 0);
      batch->add_has_irq(t.has_irq);
      records.Append(row.record, batch->mutable_record_delta());
      batch->add_context(1);
      batch->add_queue(row.queue);
      batch->add_job(row.job);
      batch->add_commands(row.commands);
      batch->add_status(0);
      correlations.Append(uint64_t{row.job}, batch->mutable_correlation_delta());
      history_.truth.jobs[{machine.number, row.job}] = t;
    }
    if (batch->doorbell_ticks_delta_size() > 0) history_.packets.push_back(packet);
  }

  void WriteEvents(const Machine& machine, double from, double to) {
    proto::Packet packet;
    proto::DeviceEventBatch* batch = packet.mutable_device_events();
    batch->set_device(machine.number);
    DeltaEncoder times, records;
    std::vector<std::pair<uint64_t, size_t>> order;
    for (size_t i = 0; i < machine.events.size(); ++i) {
      const double at = machine.events[i].at_ns;
      if (at >= from && at < to && !machine.events[i].lost)
        order.emplace_back(event_records_[{machine.number, i}], i);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [record, i] : order) {
      const Event& event = machine.events[i];
      batch->add_kind(event.kind);
      times.Append(machine.c().Raw(event.at_ns), batch->mutable_time_ticks_delta());
      records.Append(record, batch->mutable_record_delta());
      batch->add_arg0(event.arg0);
      batch->add_arg1(event.arg1);
      const bool of_clock = event.kind == DeviceEventBatch::KIND_CLOCK;
      batch->add_arg2(of_clock ? event.id : event.queue);
      history_.truth.events[{machine.number, event.kind, of_clock ? event.id : event.arg0}] =
          event.at_ns;
    }
    if (!order.empty()) history_.packets.push_back(packet);
  }

  void WriteCounters(const Machine& machine, double from, double to) {
    proto::Packet packet, latch_packet;
    proto::CounterBatch* batch = packet.mutable_counters();
    batch->set_device(machine.number);
    batch->add_counter(0);
    batch->add_counter(1);
    DeltaEncoder times;
    uint64_t last_serial = 0, last_elapsed = 0;
    for (const auto& [at, serial] : machine.counters) {
      if (at < from || at >= to) continue;
      const uint64_t elapsed = machine.c().Elapsed(at);
      times.Append(machine.c().Raw(at), batch->mutable_time_ticks_delta());
      batch->add_value_delta(static_cast<int64_t>(serial - last_serial));
      batch->add_value_delta(static_cast<int64_t>(elapsed - last_elapsed));
      last_serial = serial, last_elapsed = elapsed;
      history_.truth.counters[{machine.number, serial}] = at;
    }
    if (batch->time_ticks_delta_size() > 0) history_.packets.push_back(packet);
    proto::CounterBatch* latches = latch_packet.mutable_counters();
    latches->set_device(machine.number);
    DeltaEncoder ticks, befores, afters;
    for (const auto& [raw, before, after] : machine.latches) {
      if (static_cast<double>(before) < from || static_cast<double>(before) >= to) continue;
      ticks.Append(raw, latches->mutable_time_ticks_delta());
      befores.Append(static_cast<uint64_t>(before), latches->mutable_host_before_ns_delta());
      afters.Append(static_cast<uint64_t>(after), latches->mutable_host_after_ns_delta());
    }
    if (latches->time_ticks_delta_size() > 0) history_.packets.push_back(latch_packet);
  }

  void WriteHost(double from, double to) {
    std::stable_sort(host_.begin(), host_.end(),
                     [](const HostRow& a, const HostRow& b) { return a.at_ns < b.at_ns; });
    proto::Packet packet;
    HostBatch* batch = packet.mutable_host();
    DeltaEncoder times, correlations;
    for (const HostRow& row : host_) {
      if (row.at_ns < from || row.at_ns >= to) continue;
      batch->add_kind(row.kind);
      // Before an event: rounded down; after: up.
      const double ns =
          row.kind == HostBatch::KIND_COMPLETE ? std::ceil(row.at_ns) : std::floor(row.at_ns);
      times.Append(static_cast<uint64_t>(ns), batch->mutable_time_ns_delta());
      batch->add_cpu(0);
      batch->add_pid(100);
      batch->add_tid(100);
      batch->add_device(row.device);
      batch->add_context(1);
      batch->add_queue(row.queue);
      batch->add_job(row.job);
      batch->add_sequence(row.job);
      correlations.Append(uint64_t{row.job}, batch->mutable_correlation_delta());
      batch->add_arg0(row.arg0);
      batch->add_arg1(row.arg1);
    }
    if (batch->kind_size() > 0) history_.packets.push_back(packet);
  }

  void WriteLosses(const Machine& machine, double from, double to) {
    proto::Packet packet;
    proto::LossBatch* batch = packet.mutable_losses();
    for (const LossRow& row : machine.losses) {
      if (row.made_ns < from || row.made_ns >= to) continue;
      batch->add_hop(1);
      batch->add_count(row.count);
      batch->add_first(static_cast<int64_t>(machine.c().Raw(row.first_ns)));
      batch->add_last(static_cast<int64_t>(machine.c().Raw(row.last_ns)));
      batch->add_in_ticks(1);
      batch->add_device(machine.number);
      history_.truth.losses[{machine.number, row.count}] = {row.first_ns, row.last_ns};
    }
    if (batch->count_size() > 0) history_.packets.push_back(packet);
  }

  void WritePackets() {
    proto::TraceInfo* info = history_.packets.emplace_back().mutable_info();
    info->set_schema_version(1);
    info->set_start_ns(static_cast<int64_t>(kStartNs) - 1'000'000);
    proto::Strings* strings = history_.packets.emplace_back().mutable_strings();
    strings->add_id(1);
    strings->add_value("device-ring");
    for (const Machine& machine : machines_) Describe(machine);
    for (double from = kStartNs - kFlushNs; from < end_ns_ + kSecond; from += kFlushNs) {
      const double to = from + kFlushNs;
      WriteHost(from, to);
      for (const Machine& machine : machines_) {
        WriteCommands(machine, from, to);
        WriteJobs(machine, from, to);
        WriteEvents(machine, from, to);
        WriteCounters(machine, from, to);
        WriteSamples(machine, from, to);
        WriteLosses(machine, from, to);
      }
    }
    proto::Accounts* accounts = history_.packets.emplace_back().mutable_accounts();
    accounts->set_stop_ns(static_cast<int64_t>(end_ns_ + 10 * kMs));
  }

  HistoryRandom random_;
  HistoryRandom again_;  // histories without second changes are what they were
  History history_;
  std::vector<Machine> machines_;
  std::vector<HostRow> host_;
  std::map<std::pair<uint32_t, size_t>, uint64_t> event_records_;
  bool harsh_;
  double end_ns_ = 0, period_ns_ = 0, unseen_ns_ = 0, host_loss_ = 0, device_loss_ = 0;
};

}  // namespace

History MakeHistory(uint64_t seed, bool harsh) { return Maker(seed, harsh).Make(); }

std::unique_ptr<model::Model> LoadHistory(const History& history) {
  stream::PacketEncoder encoder;
  std::string bytes;
  for (proto::Packet packet : history.packets) encoder.Append(&packet, 0, 1, &bytes);
  encoder.AppendFooter(&bytes);
  const auto reader = stream::Reader::FromMemory(bytes);
  if (!reader.ok()) return nullptr;
  auto model = model::Load(reader->get());
  return model.ok() ? std::move(model).value() : nullptr;
}

}  // namespace acceltrace::scoring
