// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/causality.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "libtrace/analysis/cursor.h"
#include "libtrace/analysis/span.h"
#include "libtrace/analysis/timeline.h"

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

  // So many pairs in order, by ticks of one count.
  void Certain(uint64_t pairs) { result_.constraints += pairs, result_.certain += pairs; }

  // From one side to the other. False: they are not in order, nothing was counted.
  bool Across(const model::Interval& earlier, const model::Interval& later) {
    if (later.hi_ns < earlier.lo_ns) return false;
    ++result_.constraints;
    ++(later.lo_ns >= earlier.hi_ns ? result_.certain : result_.possible);
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

  void Check(size_t job) {
    previous_ = previous_host_ = -1;
    const int64_t doorbell_ns = doorbell_ns_[job];
    HostPoints(job, doorbell_ns);
    const bool fetched = on_device_[job] != 0;
    if (fetched) DevicePoints(job);
    HostPoint(job, kIrq, irq_ns_[job]);
    HostPoint(job, kConsumed, complete_ns_[job]);
    HostPoint(job, kWake, wake_ns_[job]);
    const uint32_t waiter = wait_api_row_[job];
    if (waiter != model::kNoRow && !model_.api.open[waiter]) {
      HostPoint(job, kApiEnd, model_.api.end_ns[waiter]);
    }
    if (doorbell_ns != model::kNoTime && submit_end_ns_[job] != model::kNoTime) {
      SubmitEnd(job, {PointName(kDoorbell), doorbell_ns});
    }
    if (fetched) Commands(job);
  }

 private:
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
    DevicePoint(job, kDeviceDoorbell, &doorbell_);
    DevicePoint(job, kFetched, &fetched_);
    DevicePoint(job, kStart, &start_);
    DevicePoint(job, kEnd, &end_);
    DevicePoint(job, kCompletion, &completion_);
    if (!has_irq_[job]) return;
    if (irq_ns_[job] != model::kNoTime) return DevicePoint(job, kDeviceIrq, &irq_);
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
  void DevicePoint(size_t job, Point point, TickCursor* times) {
    const Ticks at{times->ticks[job], times->epoch[job]};
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
    const size_t first = first_command_[job];
    const uint32_t count = num_commands_[job];
    const Ticks from = device_[kFetched], to = device_[kCompletion];
    for (size_t row = first; row < first + count; ++row) {
      if (row - chunk_.first >= CommandTimes::kRows) chunk_.Load(model_.commands, row);
      const size_t i = row - chunk_.first;
      const Ticks its = chunk_.Of(0, i), head = chunk_.Of(1, i), start = chunk_.Of(2, i);
      const Ticks end = chunk_.Of(3, i);
      // All of them of one count and in order, as nearly always.
      if (from.Before(its) && its.Before(head) && head.Before(start) && start.Before(end) &&
          end.Before(to)) {
        checker_.Certain(5);
        continue;
      }
      const model::Commands& commands = model_.commands;
      const End ends[] = {EndOf(job, kFetched),
                          EndOf("command_fetched", commands.fetched, row, its),
                          EndOf("command_head", commands.head, row, head),
                          EndOf("command_start", commands.start, row, start),
                          EndOf("command_end", commands.end, row, end),
                          EndOf(job, kCompletion)};
      for (size_t i = 0; i + 1 < std::size(ends); ++i) checker_.Check(job, ends[i], ends[i + 1]);
    }
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
      size_t t = 0;
      for (const auto* times :
           {&commands.fetched, &commands.head, &commands.start, &commands.end}) {
        times->ticks.Read(first, kRows, ticks[t]), times->epoch.Read(first, kRows, epoch[t]);
        ++t;
      }
    }
    Ticks Of(size_t t, size_t i) const { return {ticks[t][i], epoch[t][i]}; }

    size_t first = static_cast<size_t>(-1) / 2;
    uint64_t ticks[4][kRows];
    uint32_t epoch[4][kRows];
  };
  static End EndOf(const char* name, const model::DeviceTimes& times, size_t row, const Ticks& at) {
    return {name, 0, &times, row, at.ticks, at.epoch};
  }

  const model::Model& model_;
  const model::Jobs& jobs_;
  Checker checker_;
  // Of the job, as far as they were seen.
  std::array<int64_t, kNumPoints> host_ns_{};
  std::array<Ticks, kNumPoints> device_{};
  int previous_ = -1, previous_host_ = -1;
  Cursor<uint32_t> api_row_{jobs_.api_row}, wait_api_row_{jobs_.wait_api_row};
  Cursor<int64_t> api_begin_ns_{model_.api.begin_ns}, api_end_ns_{model_.api.end_ns};
  Cursor<uint8_t> began_before_{model_.api.began_before}, api_open_{model_.api.open};
  Cursor<uint32_t> first_command_{jobs_.first_command}, num_commands_{jobs_.num_commands};
  Cursor<uint8_t> on_device_{jobs_.on_device}, has_irq_{jobs_.has_irq};
  Cursor<int64_t> submit_ns_{jobs_.submit_ns}, doorbell_ns_{jobs_.doorbell_ns};
  Cursor<int64_t> submit_end_ns_{jobs_.submit_end_ns}, irq_ns_{jobs_.irq_ns};
  Cursor<int64_t> complete_ns_{jobs_.complete_ns}, wake_ns_{jobs_.wake_ns};
  TickCursor doorbell_{jobs_.doorbell}, fetched_{jobs_.fetched}, start_{jobs_.first_start};
  TickCursor end_{jobs_.last_end}, completion_{jobs_.completion}, irq_{jobs_.irq};
  CommandTimes chunk_;
};

}  // namespace

Causality ComputeCausality(const model::Model& model) {
  Causality result;
  result.jobs = model.jobs.size();
  const auto jobs = std::make_unique<Jobs>(model, &result);
  for (size_t job = 0; job < model.jobs.size(); ++job) jobs->Check(job);
  return result;
}

}  // namespace acceltrace::analysis
