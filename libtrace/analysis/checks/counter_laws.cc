// SPDX-License-Identifier: Apache-2.0
//
// Laws of counters: of each unit among themselves, and against the commands between two snapshots
// at which none was under way, including commands of other processes.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "libtrace/analysis/checks/chunk_stalls.h"
#include "libtrace/analysis/checks/laws.h"
#include "libtrace/analysis/rows/counters.h"
#include "libtrace/analysis/rows/row_loops.h"
#include "libtrace/analysis/rows/sample_ticks.h"
#include "libtrace/model/tables/permute.h"

namespace acceltrace::analysis {
namespace {

class CounterChecker : public LawGroup, public CommandLaw {
 public:
  CounterChecker(const Coverage& coverage, uint32_t row, bool complete, LawPass* pass)
      : model_(pass->model()),
        coverage_(coverage),
        row_(row),
        complete_(complete),
        device_(model_.devices[row]),
        samples_(device_.counters),
        jumps_(coverage.ClockJumps(row)),
        grow_("counters_grow", "counters do not go back", device_.about.name()),
        elapsed_("unit_time", "busy + stalls + idle = elapsed, of the counters of each unit",
                 device_.about.name()),
        clock_("counter_clock", "elapsed ticks between counter snapshots = their times apart",
               device_.about.name()),
        ticks_("counters_and_commands", "counters of each unit = sums over its commands",
               device_.about.name()),
        bytes_("dma_bytes", "DMA byte counters = bytes of the DMA commands", device_.about.name()) {
    for (size_t i = 0; i < samples_.size(); ++i) {
      // What the flight recorder overwrote has left gaps before this time.
      const bool whole = samples_.time.host[i].lo_ns >= model_.accounts.whole_since_ns();
      // If the wrap of a snapshot is not known, its order is not known either.
      const bool placed = !device_.clock.valid() || samples_.time.epoch[i] != clock::kNoEpoch;
      if (whole && placed) rows_.push_back(i);
    }
    const bool any = !model::EachRow([&](size_t, uint32_t device) { return device != row_; },
                                     model_.commands.device);
    collected_ = coverage.Collected("device:" + device_.about.name(), "device:", any);
    if (rows_.size() < 2 || !collected_) return;
    units_.resize(static_cast<size_t>(device_.about.units_size()));
    for (UnitWork& unit : units_) {
      unit.before.resize(rows_.size() + 1);
      unit.crossed.resize(rows_.size() + 1);
    }
    places_ = SampleTicks(samples_, rows_, jumps_);
    pass->Add(this);
  }

  void OfCommands(const CommandChunk& chunk) override {
    if (chunk.one_device && chunk.device[0] != row_) return;
    stalls_.Find(model_.stall_ticks, chunk, static_cast<size_t>(device_.about.stalls_size()));
    if (!AddPlain(chunk)) AddCommands(chunk);
  }

  void Finish(std::vector<Law>* laws) override {
    if (rows_.size() < 2) {
      for (Tally* tally : {&grow_, &elapsed_, &clock_, &ticks_, &bytes_}) {
        tally->Because("fewer than two counter snapshots");
      }
    } else {
      CheckGrowth();
      CheckClock();
      if (!collected_) ticks_.Because("its commands were not collected");
      for (uint32_t unit = 0; unit < static_cast<uint32_t>(device_.about.units_size()); ++unit) {
        CheckTime(unit);
      }
      if (collected_) CheckWork();
      ticks_.Because("commands ran across every snapshot");
      bytes_.Because("commands ran across every snapshot");
    }
    if (!complete_) {
      ticks_.Excuse("events were lost");
      bytes_.Excuse("events were lost");
    }
    for (Tally* tally : {&grow_, &elapsed_, &clock_, &ticks_, &bytes_})
      laws->push_back(tally->Done());
  }

 private:
  std::string Between(size_t a, size_t b) const {
    return fmt::format("between the snapshots at {} and {} ticks", samples_.time.ticks[a],
                       samples_.time.ticks[b]);
  }

  bool ResetBetween(size_t a, size_t b) const {
    return coverage_.AnyReset(row_, samples_.time.host[a].lo_ns, samples_.time.host[b].hi_ns);
  }

  std::optional<uint64_t> Grew(std::optional<size_t> counter, size_t a, size_t b) const {
    return Grown(samples_, counter, a, b);
  }

  // Compares neighbouring snapshots, so that a wrong value is found next to both of its neighbours.
  void CheckClock() {
    const auto counter = FindCounter(device_, "elapsed_ticks");
    if (jumps_) clock_.Because("the device's clock was set, or it was reset");
    for (size_t i = 1; i < rows_.size() && !jumps_; ++i) {
      const size_t a = rows_[i - 1], b = rows_[i];
      const auto grew = Grew(counter, a, b);
      if (!grew) continue;
      const uint64_t apart = samples_.time.ticks[b] - samples_.time.ticks[a];
      clock_.Case(*grew, apart, [&] {
        return fmt::format("elapsed {} ticks, times {} apart, {}", *grew, apart, Between(a, b));
      });
    }
  }

  void CheckGrowth() {
    for (size_t i = 1; i < rows_.size(); ++i) {
      const size_t a = rows_[i - 1], b = rows_[i];
      if (ResetBetween(a, b)) continue;
      for (size_t c = 0; c < samples_.num_counters; ++c) {
        if (!samples_.Has(a, c) || !samples_.Has(b, c)) continue;
        // Computed modulo 2^64, where a decrease appears as a large increase.
        const bool grew = static_cast<int64_t>(samples_.At(b, c) - samples_.At(a, c)) >= 0;
        grow_.Holds(grew, [&] {
          return fmt::format("{} from {} to {}, {}",
                             device_.about.counters(static_cast<int>(c)).name(), samples_.At(a, c),
                             samples_.At(b, c), Between(a, b));
        });
      }
    }
  }

  void CheckTime(uint32_t unit) {
    const UnitCounters found = FindUnitCounters(device_, unit);
    const auto elapsed = FindCounter(device_, "elapsed_ticks");
    for (size_t i = 1; i < rows_.size(); ++i) {
      const size_t a = rows_[i - 1], b = rows_[i];
      const auto total = Grew(elapsed, a, b), busy = Grew(found.busy, a, b),
                 idle = Grew(found.idle, a, b);
      if (!total || !busy || !idle || ResetBetween(a, b)) continue;
      uint64_t sum = *busy + *idle;
      for (const auto& stall : found.stalls) sum += Grew(stall, a, b).value_or(0);
      elapsed_.Case(sum, *total, [&] {
        return fmt::format("{}: {} ticks against {} elapsed, {}", device_.UnitName(unit), sum,
                           *total, Between(a, b));
      });
    }
  }

  // Calls visit(unit, work) for the sums of other processes.
  template <typename Visit>
  void EachOther(const Visit& visit) const {
    const model::OthersUse& others = model_.others;
    for (size_t i = 0; i < others.size(); ++i) {
      if (others.device[i] != row_) continue;
      const auto& sums = others.stall_ticks[i];
      const uint64_t stalled = std::accumulate(sums.begin(), sums.end(), uint64_t{0});
      visit(others.unit[i],
            Work{others.first_head.ticks[i], others.last_end.ticks[i], others.first_head.epoch[i],
                 others.last_end.epoch[i], &others.first_head, &others.last_end, i,
                 others.commands[i], others.held_ticks[i] - stalled, others.bytes[i], sums,
                 others.failed[i] != 0});
    }
  }

  // Ticks are compared if the clock never jumped and the wrap is known. Otherwise, times are, and
  // what they leave open is not reported. Within a tick there is no order: the snapshot of a slow
  // clock may or may not have counted a command that began in its own tick.
  bool ByTicks(uint32_t epoch, size_t sample) const {
    return !jumps_ && epoch != clock::kNoEpoch && epoch == samples_.time.epoch[sample];
  }
  bool Ends(const Work& work, size_t sample) const {  // ends before the snapshot
    if (!ByTicks(work.to_epoch, sample)) {
      return work.to_times->host[work.row].hi_ns < samples_.time.host[sample].lo_ns;
    }
    return static_cast<int64_t>(samples_.time.ticks[sample] - work.to_ticks) > 0;
  }
  bool Begins(const Work& work, size_t sample) const {  // begins after the snapshot
    if (!ByTicks(work.from_epoch, sample)) {
      return work.from_times->host[work.row].lo_ns > samples_.time.host[sample].hi_ns;
    }
    return static_cast<int64_t>(work.from_ticks - samples_.time.ticks[sample]) > 0;
  }

  // The work of a unit between snapshots: before[i] ended before snapshot i, and the last element
  // after all of them. `crossed` marks snapshots at which work was under way.
  struct UnitWork {
    std::vector<Work> before;
    std::vector<bool> crossed;
    size_t last = 0;      // index in `before` of the previous work
    Work* sum = nullptr;  // the sum for `gap`
    Gap gap;              // work within these ticks belongs to `sum` and crosses no snapshot
  };

  // Returns the sum to which the work belongs, before the first snapshot after its end.
  Work* Place(const Work& work, UnitWork* unit) const {
    unit->gap = {};
    if (places_.Has(work)) {
      const size_t after = places_.FirstAfter(work, &unit->last);
      for (size_t end = after; end-- > 0 && !places_.Begins(work, end);) unit->crossed[end] = true;
      unit->gap = places_.Before(after);
      return &unit->before[after];
    }
    const auto after = static_cast<size_t>(
        std::partition_point(rows_.begin(), rows_.end(), [&](size_t s) { return !Ends(work, s); }) -
        rows_.begin());
    for (size_t end = after; end-- > 0 && !Begins(work, rows_[end]);) unit->crossed[end] = true;
    return &unit->before[after];
  }

  void CheckWork() {
    EachOther([&](uint32_t number, const Work& work) {
      if (number < units_.size()) Add(work, Place(work, &units_[number]));
    });
    for (uint32_t unit = 0; unit < units_.size(); ++unit) CheckWork(unit, units_[unit]);
  }

  // Fills in when a command ran.
  Work WorkOf(const CommandChunk& chunk, size_t i) const {
    Work work;
    work.from_ticks = chunk.ticks[CommandChunk::kHead][i];
    work.to_ticks = chunk.ticks[CommandChunk::kEnd][i];
    work.from_epoch = chunk.epoch[CommandChunk::kHead][i];
    work.to_epoch = chunk.epoch[CommandChunk::kEnd][i];
    work.from_times = &model_.commands.head, work.to_times = &model_.commands.end;
    work.row = chunk.first + i;
    return work;
  }

  // Handles commands of this device that all succeeded and are all in the current gap of their
  // units: they are simply summed up. Returns false without adding anything if some are not.
  bool AddPlain(const CommandChunk& chunk) {
    const uint64_t *from = chunk.ticks[CommandChunk::kHead], *to = chunk.ticks[CommandChunk::kEnd];
    if (!chunk.one_device || chunk.most_unit >= units_.size() ||
        chunk.OneEpoch() == clock::kNoEpoch || chunk.OneEpoch() != places_.epoch() ||
        !AreAll(chunk.status, chunk.rows, uint32_t{0})) {
      return false;
    }
    const Gap gap = units_[chunk.unit[0]].gap;
    if (gap.ticks == 0 || !AreWithin(from, chunk.rows, gap.first, gap.ticks) ||
        !AreWithin(to, chunk.rows, gap.first, gap.ticks)) {
      return false;
    }
    if (!stalls_.AreNear(chunk)) return false;
    const auto num_stalls = static_cast<size_t>(device_.about.stalls_size());
    const size_t stride = kStalls + num_stalls;
    sums_.assign(units_.size() * stride, 0);
    switch (num_stalls) {
      case 1:
        SumUp<1>(chunk);
        break;
      case 2:
        SumUp<2>(chunk);
        break;
      case 3:
        SumUp<3>(chunk);
        break;
      case 4:
        SumUp<4>(chunk);
        break;
      default:
        SumUp<0>(chunk);
    }
    for (size_t u = 0; u < units_.size(); ++u) {
      if (sums_[u * stride] > 0 && !(units_[u].gap == gap)) return false;
    }
    for (size_t u = 0; u < units_.size(); ++u) {
      const uint64_t* sum = &sums_[u * stride];
      if (sum[kCommands] == 0) continue;
      Work& work = *units_[u].sum;
      work.commands += sum[kCommands], work.busy += sum[kBusy], work.bytes += sum[kBytes];
      for (size_t s = 0; s < num_stalls; ++s) work.stalls[s] += sum[kStalls + s];
    }
    return true;
  }
  // kCauses is the number of stall causes, or 0 for any number.
  template <size_t kCauses>
  void SumUp(const CommandChunk& chunk) {
    const size_t causes = kCauses > 0 ? kCauses : static_cast<size_t>(device_.about.stalls_size());
    const uint64_t *from = chunk.ticks[CommandChunk::kHead], *to = chunk.ticks[CommandChunk::kEnd];
    uint64_t* const sums = sums_.data();
    for (size_t i = 0; i < chunk.rows; ++i) {
      uint64_t* sum = sums + chunk.unit[i] * (kStalls + causes);
      const uint64_t* stalls = stalls_.NearAt(chunk.first_stall[i]);
      uint64_t stalled = 0;
      for (size_t s = 0; s < causes; ++s) stalled += stalls[s], sum[kStalls + s] += stalls[s];
      const uint64_t held = to[i] - from[i];
      ++sum[kCommands];
      sum[kBusy] += held > stalled ? held - stalled : 0;
      sum[kBytes] += chunk.bytes[i];
    }
  }
  // Adds the commands of this device one by one.
  void AddCommands(const CommandChunk& chunk) {
    const auto num_stalls = static_cast<size_t>(device_.about.stalls_size());
    const bool one_epoch =
        chunk.OneEpoch() != clock::kNoEpoch && chunk.OneEpoch() == places_.epoch();
    const bool clock_valid = device_.clock.valid();
    const uint32_t* from_epoch = chunk.epoch[CommandChunk::kHead];
    const uint32_t* to_epoch = chunk.epoch[CommandChunk::kEnd];
    for (size_t i = 0; i < chunk.rows; ++i) {
      const uint32_t number = chunk.unit[i];
      if (chunk.device[i] != row_ || number >= units_.size()) continue;
      UnitWork& unit = units_[number];
      const uint64_t from = chunk.ticks[CommandChunk::kHead][i];
      const uint64_t to = chunk.ticks[CommandChunk::kEnd][i];
      // Most commands are between the same snapshots as the previous one.
      if (!one_epoch || !unit.gap.Has(from) || !unit.gap.Has(to)) {
        unit.sum = Place(WorkOf(chunk, i), &unit);
        unit.sum->stalls.resize(num_stalls);
      }
      Work& sum = *unit.sum;
      const uint64_t* stalls = stalls_.At(chunk.first_stall[i]);
      uint64_t stalled = 0;
      for (size_t s = 0; s < num_stalls; ++s) {
        stalled += stalls[s], sum.stalls[s] += stalls[s];
      }
      // Same as Model::BusyTicks().
      const bool measured = one_epoch || !clock_valid ||
                            (from_epoch[i] == to_epoch[i] && from_epoch[i] != clock::kNoEpoch);
      const uint64_t held = to - from;
      ++sum.commands;
      if (measured && held > stalled) sum.busy += held - stalled;
      sum.bytes += chunk.bytes[i];
      sum.failed |= chunk.status[i] != 0 || !measured;
    }
  }

  void CheckWork(uint32_t unit, const UnitWork& work) {
    size_t clean = rows_.size();  // the last snapshot at which no work was under way
    Work sum;
    for (size_t i = 0; i < rows_.size(); ++i) {
      Add(work.before[i], &sum);
      if (work.crossed[i]) continue;
      if (clean < rows_.size()) Compare(unit, rows_[clean], rows_[i], sum);
      clean = i;
      sum = {};
    }
  }

  static void Add(const Work& work, Work* sum) {
    sum->commands += work.commands;
    sum->busy += work.busy;
    sum->bytes += work.bytes;
    sum->failed |= work.failed;
    if (sum->stalls.size() < work.stalls.size()) sum->stalls.resize(work.stalls.size());
    for (size_t s = 0; s < work.stalls.size(); ++s) sum->stalls[s] += work.stalls[s];
  }

  void Compare(uint32_t unit, size_t a, size_t b, const Work& sum) {
    const UnitCounters found = FindUnitCounters(device_, unit);
    const auto busy = Grew(found.busy, a, b), commands = Grew(found.commands, a, b);
    if (!busy || !commands) return;
    // A failed command was cut short, and ticks do not measure durations across a jump of the
    // clock.
    if (sum.failed || ResetBetween(a, b) || JumpBetween(a, b)) return;
    const auto equal = [&](Tally* tally, const std::string& what, uint64_t counted,
                           uint64_t summed) {
      tally->Case(counted, summed, [&] {
        return fmt::format("{}: {} {} against {}, {}", device_.UnitName(unit), what, counted,
                           summed, Between(a, b));
      });
    };
    equal(&ticks_, "commands", *commands, sum.commands);
    equal(&ticks_, "busy ticks", *busy, sum.busy);
    for (size_t s = 0; s < found.stalls.size(); ++s) {
      const auto stalled = Grew(found.stalls[s], a, b);
      if (!stalled) continue;
      equal(&ticks_, "ticks stalled by " + device_.about.stalls(static_cast<int>(s)), *stalled,
            s < sum.stalls.size() ? sum.stalls[s] : 0);
    }
    const auto counted = Grew(FindCounter(device_, device_.UnitName(unit) + "_bytes"), a, b);
    if (counted && device_.IsDma(unit)) equal(&bytes_, "bytes", *counted, sum.bytes);
  }

  bool JumpBetween(size_t a, size_t b) const {
    if (!jumps_) return false;
    const model::DeviceEvents& events = model_.device_events;
    for (size_t i = 0; i < events.size(); ++i) {
      if (events.device[i] != row_ || events.arg1[i] == 0 ||
          events.kind[i] != proto::DeviceEventBatch::KIND_CLOCK) {
        continue;
      }
      if (events.time.host[i].hi_ns >= samples_.time.host[a].lo_ns &&
          events.time.host[i].lo_ns <= samples_.time.host[b].hi_ns) {
        return true;
      }
    }
    return false;
  }

  const model::Model& model_;
  const Coverage& coverage_;
  const uint32_t row_;
  const bool complete_;
  const model::Device& device_;
  const model::CounterSamples& samples_;
  const bool jumps_;
  std::vector<size_t> rows_;  // the usable snapshots
  bool collected_ = false;    // its commands were collected
  SampleTicks places_;
  std::vector<UnitWork> units_;
  ChunkStalls stalls_;
  // The sums of each unit over the commands of a chunk.
  enum SumPlace { kCommands, kBusy, kBytes, kStalls };
  std::vector<uint64_t> sums_;
  Tally grow_, elapsed_, clock_, ticks_, bytes_;
};

}  // namespace

std::unique_ptr<LawGroup> CounterLaws(const Coverage& coverage, uint32_t device, bool complete,
                                      LawPass* pass) {
  return std::make_unique<CounterChecker>(coverage, device, complete, pass);
}

}  // namespace acceltrace::analysis
