// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/causality.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "libtrace/analysis/cursor.h"
#include "libtrace/analysis/span.h"
#include "libtrace/analysis/timeline.h"
#include "libtrace/stream/column_values.h"

namespace acceltrace::analysis {
namespace {

// One end of a constraint. When it was on the host's clock is looked up where ticks do not decide.
struct End {
  const char* name;
  int64_t host_ns = 0;                        // of the host
  const model::DeviceTimes* times = nullptr;  // of a device: where it is
  size_t row = 0;
  uint64_t ticks = 0;  // continued over wraps
  uint32_t epoch = clock::kNoEpoch;

  bool on_device() const { return times != nullptr; }
  model::Interval at() const { return on_device() ? times->host[row] : At(host_ns); }
};

class Checker {
 public:
  explicit Checker(Causality* result) : result_(*result) {}

  // So many pairs in order, by numbers of one clock.
  void Certain(uint64_t pairs) { result_.constraints += pairs, result_.certain += pairs; }
  void Possible(uint64_t pairs) { result_.constraints += pairs, result_.possible += pairs; }

  // From one side to the other. False: they are not in order, nothing was counted.
  bool Across(const model::Interval& earlier, const model::Interval& later) {
    if (later.hi_ns < earlier.lo_ns) return false;
    later.lo_ns >= earlier.hi_ns ? Certain(1) : Possible(1);
    return true;
  }

  void Check(size_t job, const End& earlier, const End& later) {
    ++result_.constraints;
    if (earlier.on_device() && later.on_device() && earlier.epoch == later.epoch &&
        earlier.epoch != clock::kNoEpoch) {
      // Ticks of one count are exact; across a jump or a reset there are only intervals.
      const int64_t ahead = static_cast<int64_t>(later.ticks - earlier.ticks);
      if (ahead >= 0) {
        ++result_.certain;
        return;
      }
      Violated(job, earlier, later, std::max<int64_t>(1, earlier.at().mid_ns - later.at().mid_ns));
      return;
    }
    if (!earlier.on_device() && !later.on_device() && later.host_ns >= earlier.host_ns) {
      ++result_.certain;
      return;
    }
    const Span span = Between(earlier.at(), later.at());
    if (span.hi_ns >= 0) {
      ++(span.lo_ns >= 0 ? result_.certain : result_.possible);
      return;
    }
    Violated(job, earlier, later, -span.hi_ns);
  }

 private:
  [[gnu::noinline]] void Violated(size_t job, const End& earlier, const End& later, int64_t by_ns) {
    ++result_.violations;
    if (result_.examples.size() >= Causality::kMaxExamples) return;
    result_.examples.push_back({job, std::string(earlier.name) + " > " + later.name,
                                earlier.on_device(), later.on_device(), earlier.ticks, later.ticks,
                                earlier.at(), later.at(), by_ns});
  }

  Causality& result_;
};

class Jobs {
 public:
  Jobs(const model::Model& model, Causality* result)
      : model_(model), jobs_(model.jobs), checker_(result) {}

  // All of them.
  void Check() {
    for (size_t first = 0; first < jobs_.size(); first += CommandTimes::kRows) {
      const size_t rows = std::min(CommandTimes::kRows, jobs_.size() - first);
      LoadColumns(first, rows);
      for (size_t job = first; job < first + rows; ++job) {
        if (!CountPlain(job)) Points(job);
        if (on_device_[job] != 0) Commands(job);
      }
    }
  }

 private:
  void LoadColumns(size_t first, size_t rows) {
    const auto load = [&](auto&... columns) { (columns.Load(first, rows), ...); };
    load(api_row_, wait_api_row_, first_command_, num_commands_, on_device_, has_irq_);
    load(submit_ns_, doorbell_ns_, submit_end_ns_, irq_ns_, complete_ns_, wake_ns_);
    load(doorbell_, fetched_, start_, end_, completion_, irq_, doorbell_host_, irq_host_);
  }

  // As of nearly all jobs: whether everything from its submission to its interrupt was seen, and
  // the points are in order as far as anybody can say. Else nothing is counted.
  bool CountPlain(size_t job) {
    if (!known_times_ || on_device_[job] == 0 || has_irq_[job] == 0) return false;
    const int64_t submit_ns = submit_ns_[job], doorbell_ns = doorbell_ns_[job];
    const int64_t submit_end_ns = submit_end_ns_[job], irq_ns = irq_ns_[job];
    // kNoTime is before all others.
    if (submit_ns == model::kNoTime || submit_ns > doorbell_ns || doorbell_ns > submit_end_ns ||
        doorbell_ns > irq_ns || !TicksInOrder(job)) {
      return false;
    }
    const uint32_t call = api_row_[job];
    const bool begun = call != model::kNoRow && began_before_[call] == 0;
    const bool ended = call != model::kNoRow && api_open_[call] == 0;
    if (begun && (api_begin_ns_[call] > submit_ns || api_begin_ns_[call] == model::kNoTime)) {
      return false;
    }
    if (ended && submit_end_ns > api_end_ns_[call]) return false;
    const model::Interval arrived = doorbell_host_[job], sent = irq_host_[job];
    if (arrived.hi_ns < doorbell_ns || irq_ns < sent.lo_ns) return false;
    const uint32_t waiter = wait_api_row_[job];
    const bool returned = waiter != model::kNoRow && waiter_open_[waiter] == 0;
    int64_t last_ns = irq_ns;
    // To the doorbell 1, on the device 5, to the submission's end 1, from the doorbell to irq 1.
    uint64_t certain = uint64_t{8} + begun + ended;
    for (const int64_t at_ns :
         {complete_ns_[job], wake_ns_[job], returned ? waiter_end_ns_[waiter] : model::kNoTime}) {
      if (at_ns == model::kNoTime) continue;
      if (at_ns < last_ns) return false;
      last_ns = at_ns;
      ++certain;
    }
    const uint64_t apart = uint64_t{arrived.lo_ns >= doorbell_ns} + (irq_ns >= sent.hi_ns);
    checker_.Certain(certain + apart);
    checker_.Possible(2 - apart);
    return true;
  }
  // The device's points, all of one count.
  bool TicksInOrder(size_t job) const {
    const uint64_t doorbell = doorbell_.ticks[job], fetched = fetched_.ticks[job];
    const uint64_t start = start_.ticks[job], end = end_.ticks[job];
    const uint64_t completion = completion_.ticks[job], irq = irq_.ticks[job];
    const uint64_t back = (fetched - doorbell) | (start - fetched) | (end - start) |
                          (completion - end) | (irq - completion);
    const uint32_t epoch = doorbell_.epoch[job];
    const uint32_t other = (fetched_.epoch[job] ^ epoch) | (start_.epoch[job] ^ epoch) |
                           (end_.epoch[job] ^ epoch) | (completion_.epoch[job] ^ epoch) |
                           (irq_.epoch[job] ^ epoch);
    return static_cast<int64_t>(back) >= 0 && other == 0 && epoch != clock::kNoEpoch;
  }

  void Points(size_t job) {
    previous_ = previous_host_ = -1;
    const int64_t doorbell_ns = doorbell_ns_[job];
    HostPoints(job, doorbell_ns);
    if (on_device_[job] != 0) DevicePoints(job);
    HostPoint(job, kIrq, irq_ns_[job]);
    HostPoint(job, kConsumed, complete_ns_[job]);
    HostPoint(job, kWake, wake_ns_[job]);
    const uint32_t waiter = wait_api_row_[job];
    if (waiter != model::kNoRow && !waiter_open_[waiter]) {
      HostPoint(job, kApiEnd, waiter_end_ns_[waiter]);
    }
    if (doorbell_ns != model::kNoTime && submit_end_ns_[job] != model::kNoTime) {
      SubmitEnd(job, {PointName(kDoorbell), doorbell_ns});
    }
  }
  // Those before the device's.
  void HostPoints(size_t job, int64_t doorbell_ns) {
    const uint32_t call = api_row_[job];
    if (call != model::kNoRow && !began_before_[call]) {
      HostPoint(job, kApiBegin, api_begin_ns_[call]);
    }
    HostPoint(job, kSubmit, submit_ns_[job]);
    HostPoint(job, kDoorbell, doorbell_ns);
  }

  void DevicePoints(size_t job) {
    DevicePoint(job, kDeviceDoorbell, doorbell_);
    DevicePoint(job, kFetched, fetched_);
    DevicePoint(job, kStart, start_);
    DevicePoint(job, kEnd, end_);
    DevicePoint(job, kCompletion, completion_);
    if (!has_irq_[job]) return;
    if (irq_ns_[job] != model::kNoTime) return DevicePoint(job, kDeviceIrq, irq_);
    // Its completion was found without it, perhaps before it was sent.
    device_[kDeviceIrq] = {irq_.ticks[job], irq_.epoch[job]};
    checker_.Check(job, EndOf(job, kCompletion), EndOf(job, kDeviceIrq));
  }

  void SubmitEnd(size_t job, const End& doorbell) {
    const End submit_end{"submit_end", submit_end_ns_[job]};
    CheckHost(job, doorbell, submit_end);
    const uint32_t call = api_row_[job];
    if (call != model::kNoRow && !api_open_[call]) {
      CheckHost(job, submit_end, {"submitting_api_end", api_end_ns_[call]});
    }
  }
  void CheckHost(size_t job, const End& earlier, const End& later) {
    if (later.host_ns >= earlier.host_ns) return checker_.Certain(1);
    checker_.Check(job, earlier, later);
  }

  // Each point against the last one before it, and against the last one on the same side:
  // intervals on the other side may hide a broken order between two exact times. The rest follows
  // from these. What numbers of one clock decide is not looked at any further.
  void HostPoint(size_t job, Point point, int64_t at_ns) {
    if (at_ns == model::kNoTime) return;
    host_ns_[point] = at_ns;
    const auto check = [&](int earlier, bool on_host) {
      if (on_host && at_ns >= host_ns_[earlier]) return checker_.Certain(1);
      CheckPoints(job, static_cast<Point>(earlier), point);
    };
    if (previous_ >= 0) check(previous_, previous_ == previous_host_);
    if (previous_host_ >= 0 && previous_host_ != previous_) check(previous_host_, true);
    previous_ = previous_host_ = point;
  }
  void DevicePoint(size_t job, Point point, const ChunkedTicks& times) {
    const Ticks at{times.ticks[job], times.epoch[job]};
    device_[point] = at;
    if (previous_ >= 0) {
      const bool on_device = previous_ != previous_host_;
      if (on_device && device_[previous_].Before(at)) {
        checker_.Certain(1);
      } else {
        CheckPoints(job, static_cast<Point>(previous_), point);
      }
    }
    previous_ = point;
  }
  [[gnu::noinline]] void CheckPoints(size_t job, Point earlier, Point later) {
    if (IsDevicePoint(earlier) != IsDevicePoint(later)) {
      const model::Interval from = IntervalOf(job, earlier), to = IntervalOf(job, later);
      if (checker_.Across(from, to)) return;
    }
    checker_.Check(job, EndOf(job, earlier), EndOf(job, later));
  }

  model::Interval IntervalOf(size_t job, Point point) const {
    return IsDevicePoint(point) ? TimesOf(point).host[job] : At(host_ns_[point]);
  }
  // Of a point that was seen.
  End EndOf(size_t job, Point point) const {
    if (!IsDevicePoint(point)) return {PointName(point), host_ns_[point]};
    return EndOf(PointName(point), TimesOf(point), job, device_[point]);
  }
  const model::DeviceTimes& TimesOf(Point point) const {
    switch (point) {
      case kDeviceDoorbell:
        return jobs_.doorbell;
      case kFetched:
        return jobs_.fetched;
      case kStart:
        return jobs_.first_start;
      case kEnd:
        return jobs_.last_end;
      case kCompletion:
        return jobs_.completion;
      default:
        return jobs_.irq;
    }
  }

  // Each command lies within its job.
  void Commands(size_t job) {
    size_t row = first_command_[job];
    const size_t end = row + num_commands_[job];
    const Ticks from{fetched_.ticks[job], fetched_.epoch[job]};
    const Ticks to{completion_.ticks[job], completion_.epoch[job]};
    while (row < end) {
      if (row - chunk_.first >= CommandTimes::kRows) chunk_.Load(model_.commands, row);
      const size_t stop = std::min(end, chunk_.first + CommandTimes::kRows);
      if (chunk_.InOrder(from, row, stop, to)) {
        checker_.Certain(5 * (stop - row));
        row = stop;
        continue;
      }
      device_[kFetched] = from, device_[kCompletion] = to;
      for (; row < stop; ++row) Command(job, row);
    }
  }
  void Command(size_t job, size_t row) {
    const size_t i = row - chunk_.first;
    const model::Commands& commands = model_.commands;
    const End ends[] = {EndOf(job, kFetched),
                        EndOf("command_fetched", commands.fetched, row, chunk_.Of(0, i)),
                        EndOf("command_head", commands.head, row, chunk_.Of(1, i)),
                        EndOf("command_start", commands.start, row, chunk_.Of(2, i)),
                        EndOf("command_end", commands.end, row, chunk_.Of(3, i)),
                        EndOf(job, kCompletion)};
    for (size_t e = 0; e + 1 < std::size(ends); ++e) checker_.Check(job, ends[e], ends[e + 1]);
  }

  struct Ticks {
    uint64_t ticks = 0;
    uint32_t epoch = clock::kNoEpoch;
    // By ticks of one count, or at the same time.
    bool Before(const Ticks& later) const {
      return epoch == later.epoch && epoch != clock::kNoEpoch &&
             static_cast<int64_t>(later.ticks - ticks) >= 0;
    }
  };
  // Of commands one after the other: fetched, head, start, end.
  struct CommandTimes {
    static constexpr size_t kRows = model::Column<uint64_t>::kRows;

    void Load(const model::Commands& commands, size_t row) {
      first = row / kRows * kRows;
      const size_t rows = std::min(kRows, commands.size() - first);
      size_t t = 0;
      uint32_t low = clock::kNoEpoch, high = 0;
      for (const auto* times :
           {&commands.fetched, &commands.head, &commands.start, &commands.end}) {
        // Of rows that are not there 0, which is in order.
        times->ticks.Read(first, kRows, ticks[t]), times->epoch.Read(first, rows, epoch[t]);
        stream::WidenTo(epoch[t], rows, &low, &high);
        ++t;
      }
      one_epoch = low == high;
      uint64_t back = 0;
      for (size_t i = 0; i < kRows; ++i) back |= Back(i);
      in_order = static_cast<int64_t>(back) >= 0;
    }
    // Below 0 where one of a command's own times is before the one before it.
    uint64_t Back(size_t i) const {
      return (ticks[1][i] - ticks[0][i]) | (ticks[2][i] - ticks[1][i]) |
             (ticks[3][i] - ticks[2][i]);
    }
    bool AreOfEpoch(uint32_t wanted, size_t from, size_t to) const {
      if (one_epoch) return epoch[0][0] == wanted;
      return std::all_of(std::begin(epoch), std::end(epoch), [&](const auto& its) {
        return std::count(its + from, its + to, wanted) == static_cast<ptrdiff_t>(to - from);
      });
    }
    // All times of these rows are of one count and, as nearly always, in order.
    bool InOrder(const Ticks& from, size_t row, size_t stop, const Ticks& to) const {
      if (from.epoch == clock::kNoEpoch || from.epoch != to.epoch ||
          !AreOfEpoch(from.epoch, row - first, stop - first)) {
        return false;
      }
      uint64_t back = 0;
      for (size_t i = row - first; i < stop - first; ++i) {
        back |= (ticks[0][i] - from.ticks) | (to.ticks - ticks[3][i]);
      }
      for (size_t i = row - first; !in_order && i < stop - first; ++i) back |= Back(i);
      return static_cast<int64_t>(back) >= 0;
    }
    Ticks Of(size_t t, size_t i) const { return {ticks[t][i], epoch[t][i]}; }

    size_t first = static_cast<size_t>(-1) / 2;
    bool one_epoch = false;  // of all rows
    bool in_order = false;   // of each row by itself
    uint64_t ticks[4][kRows];
    uint32_t epoch[4][kRows];
  };
  static End EndOf(const char* name, const model::DeviceTimes& times, size_t row, const Ticks& at) {
    return {name, 0, &times, row, at.ticks, at.epoch};
  }

  const model::Model& model_;
  const model::Jobs& jobs_;
  Checker checker_;
  // Not those that are computed one by one (IntervalColumn::Attach()).
  const bool known_times_ =
      jobs_.doorbell.host.size() == jobs_.size() && jobs_.irq.host.size() == jobs_.size();
  // Of the job, as far as they were seen.
  std::array<int64_t, kNumPoints> host_ns_{};
  std::array<Ticks, kNumPoints> device_{};
  int previous_ = -1, previous_host_ = -1;
  // Columns of jobs.
  Chunked<uint32_t> api_row_{jobs_.api_row}, wait_api_row_{jobs_.wait_api_row};
  Chunked<uint32_t> first_command_{jobs_.first_command}, num_commands_{jobs_.num_commands};
  Chunked<uint8_t> on_device_{jobs_.on_device}, has_irq_{jobs_.has_irq};
  Chunked<int64_t> submit_ns_{jobs_.submit_ns}, doorbell_ns_{jobs_.doorbell_ns};
  Chunked<int64_t> submit_end_ns_{jobs_.submit_end_ns}, irq_ns_{jobs_.irq_ns};
  Chunked<int64_t> complete_ns_{jobs_.complete_ns}, wake_ns_{jobs_.wake_ns};
  ChunkedTicks doorbell_{jobs_.doorbell}, fetched_{jobs_.fetched}, start_{jobs_.first_start};
  ChunkedTicks end_{jobs_.last_end}, completion_{jobs_.completion}, irq_{jobs_.irq};
  ChunkedIntervals doorbell_host_{jobs_.doorbell.host}, irq_host_{jobs_.irq.host};
  // Columns of calls, of those that submitted and of those that waited.
  Cursor<int64_t> api_begin_ns_{model_.api.begin_ns}, api_end_ns_{model_.api.end_ns};
  Cursor<uint8_t> began_before_{model_.api.began_before}, api_open_{model_.api.open};
  Cursor<int64_t> waiter_end_ns_{model_.api.end_ns};
  Cursor<uint8_t> waiter_open_{model_.api.open};
  CommandTimes chunk_;
};

}  // namespace

Causality ComputeCausality(const model::Model& model) {
  Causality result;
  result.jobs = model.jobs.size();
  std::make_unique<Jobs>(model, &result)->Check();
  return result;
}

}  // namespace acceltrace::analysis
