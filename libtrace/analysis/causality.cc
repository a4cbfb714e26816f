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

// A column of device times as ends.
class DeviceEnds {
 public:
  explicit DeviceEnds(const model::DeviceTimes& times) : times_(times), cursor_(times) {}
  End Of(const char* name, size_t row) {
    return {name, 0, &times_, row, cursor_.ticks[row], cursor_.epoch[row]};
  }
  uint64_t ticks(size_t row) { return cursor_.ticks[row]; }
  uint32_t epoch(size_t row) { return cursor_.epoch[row]; }

 private:
  const model::DeviceTimes& times_;
  TickCursor cursor_;
};

class Jobs {
 public:
  Jobs(const model::Model& model, Causality* result)
      : model_(model), jobs_(model.jobs), checker_(result) {}

  void Check(size_t job) {
    previous_ = previous_host_ = -1;
    End doorbell{PointName(kDoorbell)};
    const bool rang = HostPoints(job, &doorbell);
    const bool fetched = on_device_[job] != 0;
    if (fetched) DevicePoints(job);
    HostPoint(job, kIrq, irq_ns_[job]);
    HostPoint(job, kConsumed, complete_ns_[job]);
    HostPoint(job, kWake, wake_ns_[job]);
    const uint32_t waiter = wait_api_row_[job];
    if (waiter != model::kNoRow && !model_.api.open[waiter]) {
      HostPoint(job, kApiEnd, model_.api.end_ns[waiter]);
    }
    if (rang && submit_end_ns_[job] != model::kNoTime) {
      const End submit_end{"submit_end", submit_end_ns_[job]};
      checker_.Check(job, doorbell, submit_end);
      const uint32_t api = api_row_[job];
      if (api != model::kNoRow && !model_.api.open[api]) {
        checker_.Check(job, submit_end, {"submitting_api_end", model_.api.end_ns[api]});
      }
    }
    if (fetched) Commands(job);
  }

 private:
  // Those before the device's. Whether the doorbell was seen.
  bool HostPoints(size_t job, End* doorbell) {
    const uint32_t call = api_row_[job];
    if (call != model::kNoRow && !model_.api.began_before[call]) {
      HostPoint(job, kApiBegin, model_.api.begin_ns[call]);
    }
    HostPoint(job, kSubmit, submit_ns_[job]);
    doorbell->host_ns = doorbell_ns_[job];
    HostPoint(job, kDoorbell, doorbell->host_ns);
    return doorbell->host_ns != model::kNoTime;
  }

  void DevicePoints(size_t job) {
    See(job, kDeviceDoorbell, doorbell_.Of(PointName(kDeviceDoorbell), job));
    See(job, kFetched, fetched_.Of(PointName(kFetched), job));
    See(job, kStart, start_.Of(PointName(kStart), job));
    See(job, kEnd, end_.Of(PointName(kEnd), job));
    See(job, kCompletion, completion_.Of(PointName(kCompletion), job));
    if (!has_irq_[job]) return;
    const End irq = irq_.Of(PointName(kDeviceIrq), job);
    if (irq_ns_[job] != model::kNoTime) return See(job, kDeviceIrq, irq);
    // Its completion was found without it, perhaps before it was sent.
    checker_.Check(job, ends_[kCompletion], irq);
  }

  void HostPoint(size_t job, Point point, int64_t at_ns) {
    if (at_ns != model::kNoTime) See(job, point, {PointName(point), at_ns});
  }

  // Each point against the last one before it, and against the last one on the same side:
  // intervals on the other side may hide a broken order between two exact times. The rest follows
  // from these.
  void See(size_t job, Point point, const End& end) {
    ends_[point] = end;
    if (previous_ >= 0) checker_.Check(job, ends_[previous_], end);
    if (!IsDevicePoint(point)) {
      if (previous_host_ >= 0 && previous_host_ != previous_) {
        checker_.Check(job, ends_[previous_host_], end);
      }
      previous_host_ = point;
    }
    previous_ = point;
  }

  // Each command lies within its job.
  void Commands(size_t job) {
    const size_t first = first_command_[job];
    const uint32_t count = num_commands_[job];
    for (size_t row = first; row < first + count; ++row) {
      if (InOrder(ends_[kFetched], row, ends_[kCompletion])) {
        checker_.Certain(5);
        continue;
      }
      const End fetched = command_fetched_.Of("command_fetched", row);
      const End head = command_head_.Of("command_head", row);
      const End start = command_start_.Of("command_start", row);
      const End end = command_end_.Of("command_end", row);
      checker_.Check(job, ends_[kFetched], fetched);
      checker_.Check(job, fetched, head);
      checker_.Check(job, head, start);
      checker_.Check(job, start, end);
      checker_.Check(job, end, ends_[kCompletion]);
    }
  }

  // All of the command's times are of one count and in order, as nearly always.
  bool InOrder(const End& fetched, size_t row, const End& completion) {
    const uint32_t epoch = fetched.epoch;
    const bool one = command_fetched_.epoch(row) == epoch && command_head_.epoch(row) == epoch &&
                     command_start_.epoch(row) == epoch && command_end_.epoch(row) == epoch;
    if (!one || completion.epoch != epoch || epoch == clock::kNoEpoch) return false;
    const uint64_t its = command_fetched_.ticks(row), head = command_head_.ticks(row);
    const uint64_t start = command_start_.ticks(row), end = command_end_.ticks(row);
    // Below zero if any of them is.
    return static_cast<int64_t>((its - fetched.ticks) | (head - its) | (start - head) |
                                (end - start) | (completion.ticks - end)) >= 0;
  }

  const model::Model& model_;
  const model::Jobs& jobs_;
  Checker checker_;
  std::array<End, kNumPoints> ends_{};  // of the job, as far as they were seen
  int previous_ = -1, previous_host_ = -1;
  Cursor<uint32_t> api_row_{jobs_.api_row}, wait_api_row_{jobs_.wait_api_row};
  Cursor<uint32_t> first_command_{jobs_.first_command}, num_commands_{jobs_.num_commands};
  Cursor<uint8_t> on_device_{jobs_.on_device}, has_irq_{jobs_.has_irq};
  Cursor<int64_t> submit_ns_{jobs_.submit_ns}, doorbell_ns_{jobs_.doorbell_ns};
  Cursor<int64_t> submit_end_ns_{jobs_.submit_end_ns}, irq_ns_{jobs_.irq_ns};
  Cursor<int64_t> complete_ns_{jobs_.complete_ns}, wake_ns_{jobs_.wake_ns};
  DeviceEnds doorbell_{jobs_.doorbell}, fetched_{jobs_.fetched}, start_{jobs_.first_start};
  DeviceEnds end_{jobs_.last_end}, completion_{jobs_.completion}, irq_{jobs_.irq};
  DeviceEnds command_fetched_{model_.commands.fetched}, command_head_{model_.commands.head};
  DeviceEnds command_start_{model_.commands.start}, command_end_{model_.commands.end};
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
