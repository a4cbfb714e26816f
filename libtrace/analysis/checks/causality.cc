// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/checks/causality.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "libtrace/analysis/checks/law_pass.h"
#include "libtrace/analysis/rows/row_loops.h"
#include "libtrace/analysis/rows/span.h"
#include "libtrace/analysis/rows/timeline.h"
#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::analysis {
namespace {

// One end of a constraint. Its host time is only looked up if ticks do not decide.
struct End {
  const char* name;
  int64_t host_ns = 0;                        // for a host event
  const model::DeviceTimes* times = nullptr;  // for a device event: the column with its time
  size_t row = 0;
  uint64_t ticks = 0;  // continued over wraps
  uint32_t epoch = clock::kNoEpoch;

  bool on_device() const { return times != nullptr; }
  model::Interval at() const { return on_device() ? times->host[row] : At(host_ns); }
};

class Checker {
 public:
  explicit Checker(Causality* result) : result_(*result) {}

  // Counts pairs that are in order by numbers of the same clock.
  void Certain(uint64_t pairs) { result_.constraints += pairs, result_.certain += pairs; }
  void Possible(uint64_t pairs) { result_.constraints += pairs, result_.possible += pairs; }

  // Checks a pair across host and device. Returns false without counting it if it is not in order.
  bool Across(const model::Interval& earlier, const model::Interval& later) {
    if (later.hi_ns < earlier.lo_ns) return false;
    later.lo_ns >= earlier.hi_ns ? Certain(1) : Possible(1);
    return true;
  }

  void Check(size_t job, const End& earlier, const End& later) {
    ++result_.constraints;
    if (earlier.on_device() && later.on_device() && earlier.epoch == later.epoch &&
        earlier.epoch != clock::kNoEpoch) {
      // Ticks of one count are exact; across a jump or a reset only intervals can be compared.
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

// Reads when the calls in `rows` began or ended, from `times`. Rows without a call get `none`.
// *known counts the others. Returns false if some times are `unsure` or the rows are far apart, so
// that the calls have to be examined one by one.
bool TimesOfCalls(const model::Column<int64_t>& times, const model::Column<uint8_t>& unsure,
                  std::span<const uint32_t> rows, int64_t none, int64_t* at_ns, uint64_t* known) {
  constexpr size_t kMost = 2048;  // the calls of successive jobs are close to each other
  uint32_t low = rows[0], high = low;
  stream::WidenTo(rows.data(), rows.size(), &low, &high);
  if (low == model::kNoRow) {
    std::fill_n(at_ns, rows.size(), none);
    return true;
  }
  if (high == model::kNoRow) {
    high = low;
    for (const uint32_t row : rows) high = row == model::kNoRow ? high : std::max(high, row);
  }
  const size_t count = size_t{high} - low + 1;
  if (count > kMost) return false;
  int64_t values[kMost];
  uint8_t flags[kMost];
  times.Read(low, count, values), unsure.Read(low, count, flags);
  if (!AreAll(flags, count, uint8_t{0}) || !NoneBelow(values, count, model::kNoTime + 1)) {
    return false;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool any = rows[i] != model::kNoRow;
    at_ns[i] = any ? values[rows[i] - low] : none;
    *known += any;
  }
  return true;
}

class Jobs : public CausalitySum, public JobLaw {
 public:
  explicit Jobs(LawPass* pass)
      : model_(pass->model()), jobs_(model_.jobs), pass_(*pass), in_(pass->jobs()) {
    result_.jobs = jobs_.size();
    pass->Add(this);
  }

  void OfJobs(size_t from, size_t to) override {
    const bool plain = CountPlain(from, to);
    // Divide and conquer finds the jobs that are not plain.
    if (!plain && to - from > kFewJobs) {
      const size_t middle = from + (to - from) / 2;
      OfJobs(from, middle), OfJobs(middle, to);
      return;
    }
    if (plain) return PlainCommands(from, to);
    for (size_t job = from; job < to; ++job) {
      Points(job);
      if (in_.on_device[job] != 0) Commands(job);
    }
  }
  Causality Finish() override { return std::move(result_); }

 private:
  static constexpr size_t kFewJobs = 8;

  // Handles the usual case: returns true if everything from submission to interrupt was recorded
  // for all jobs, and the points are in order as far as can be determined. Otherwise, nothing is
  // counted.
  bool CountPlain(size_t from, size_t to) {
    const size_t jobs = to - from;
    const auto all = [&](const Chunked<uint8_t>& flag) {
      return flag[from] != 0 && AreAlike(flag.At(from), jobs);
    };
    if (!known_times_ || !all(in_.on_device) || !all(in_.has_irq)) return false;
    const int64_t *submit_ns = in_.submit_ns.At(from), *doorbell_ns = in_.doorbell_ns.At(from);
    const int64_t *submit_end_ns = in_.submit_end_ns.At(from), *irq_ns = in_.irq_ns.At(from);
    // kNoTime is less than all other times.
    if (!NoneBelow(submit_ns, jobs, model::kNoTime + 1) ||
        !NoneAfter(submit_ns, doorbell_ns, jobs) || !NoneAfter(doorbell_ns, submit_end_ns, jobs) ||
        !NoneAfter(doorbell_ns, irq_ns, jobs) || !AreTicksInOrder(from, jobs)) {
      return false;
    }
    // These are: submit to doorbell 1, on the device 5, doorbell to submit end 1, doorbell to irq
    // 1.
    uint64_t certain = 8 * jobs, apart = 0, known = 0;
    if (!CountAfter(doorbell_ns, in_.doorbell_host.At(from), jobs, &apart) ||
        !CountBefore(in_.irq_host.At(from), irq_ns, jobs, &apart)) {
      return false;
    }
    const model::ApiCalls& api = model_.api;
    const std::span calls(in_.api_row.At(from), jobs), waiters(in_.wait_api_row.At(from), jobs);
    int64_t at_ns[LawPass::kJobs], last_ns[LawPass::kJobs];
    constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    if (!TimesOfCalls(api.begin_ns, api.began_before, calls, model::kNoTime, at_ns, &certain) ||
        !NoneAfter(at_ns, submit_ns, jobs) ||
        !TimesOfCalls(api.end_ns, api.open, calls, kNever, at_ns, &certain) ||
        !NoneAfter(submit_end_ns, at_ns, jobs) ||
        !TimesOfCalls(api.end_ns, api.open, waiters, model::kNoTime, at_ns, &known)) {
      return false;
    }
    std::copy_n(irq_ns, jobs, last_ns);
    const int64_t* const then[] = {in_.complete_ns.At(from), in_.wake_ns.At(from), at_ns};
    for (const int64_t* seen_ns : then) {
      if (!Follow(seen_ns, model::kNoTime, jobs, last_ns, &certain)) return false;
    }
    checker_.Certain(certain + apart);
    checker_.Possible(2 * jobs - apart);
    return true;
  }
  // Returns true if the device's points all belong to one count and are in order.
  bool AreTicksInOrder(size_t from, size_t jobs) const {
    const uint32_t epoch = in_.doorbell.epoch[from];
    const ChunkedTicks* last = nullptr;
    for (const ChunkedTicks* times : {&in_.doorbell, &in_.fetched, &in_.first_start, &in_.last_end,
                                      &in_.completion, &in_.irq}) {
      if (!AreAll(times->epoch.At(from), jobs, epoch)) return false;
      if (last != nullptr && !NoneBehind(last->ticks.At(from), times->ticks.At(from), jobs)) {
        return false;
      }
      last = times;
    }
    return epoch != clock::kNoEpoch;
  }

  void Points(size_t job) {
    previous_ = previous_host_ = -1;
    const int64_t doorbell_ns = in_.doorbell_ns[job];
    HostPoints(job, doorbell_ns);
    if (in_.on_device[job] != 0) DevicePoints(job);
    HostPoint(job, kIrq, in_.irq_ns[job]);
    HostPoint(job, kConsumed, in_.complete_ns[job]);
    HostPoint(job, kWake, in_.wake_ns[job]);
    const uint32_t waiter = in_.wait_api_row[job];
    if (waiter != model::kNoRow && !waiter_open_[waiter]) {
      HostPoint(job, kApiEnd, waiter_end_ns_[waiter]);
    }
    if (doorbell_ns != model::kNoTime && in_.submit_end_ns[job] != model::kNoTime) {
      SubmitEnd(job, {PointName(kDoorbell), doorbell_ns});
    }
  }
  // Checks the host points before the device's.
  void HostPoints(size_t job, int64_t doorbell_ns) {
    const uint32_t call = in_.api_row[job];
    if (call != model::kNoRow && !began_before_[call]) {
      HostPoint(job, kApiBegin, api_begin_ns_[call]);
    }
    HostPoint(job, kSubmit, in_.submit_ns[job]);
    HostPoint(job, kDoorbell, doorbell_ns);
  }

  void DevicePoints(size_t job) {
    DevicePoint(job, kDeviceDoorbell, in_.doorbell);
    DevicePoint(job, kFetched, in_.fetched);
    DevicePoint(job, kStart, in_.first_start);
    DevicePoint(job, kEnd, in_.last_end);
    DevicePoint(job, kCompletion, in_.completion);
    if (!in_.has_irq[job]) return;
    if (in_.irq_ns[job] != model::kNoTime) return DevicePoint(job, kDeviceIrq, in_.irq);
    // The completion was found without the interrupt, perhaps before it was sent.
    device_[kDeviceIrq] = {in_.irq.ticks[job], in_.irq.epoch[job]};
    checker_.Check(job, EndOf(job, kCompletion), EndOf(job, kDeviceIrq));
  }

  void SubmitEnd(size_t job, const End& doorbell) {
    const End submit_end{"submit_end", in_.submit_end_ns[job]};
    CheckHost(job, doorbell, submit_end);
    const uint32_t call = in_.api_row[job];
    if (call != model::kNoRow && !api_open_[call]) {
      CheckHost(job, submit_end, {"submitting_api_end", api_end_ns_[call]});
    }
  }
  void CheckHost(size_t job, const End& earlier, const End& later) {
    if (later.host_ns >= earlier.host_ns) return checker_.Certain(1);
    checker_.Check(job, earlier, later);
  }

  // Compares each point with the previous one, and with the previous one on the same side, since
  // intervals of the other side may hide a broken order between two exact times. All other orders
  // follow from these. If numbers of one clock decide, nothing else is examined.
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
  // Describes a point that was recorded.
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

  // Checks the commands of jobs whose times all belong to one count.
  void PlainCommands(size_t from, size_t to) {
    const uint32_t epoch = in_.fetched.epoch[from];
    const CommandChunk* chunk = nullptr;
    uint64_t commands = 0;
    for (size_t job = from; job < to; ++job) {
      const size_t row = in_.first_command[job], count = in_.num_commands[job];
      if (count == 0) continue;
      if (chunk == nullptr || !chunk->Has(row, count)) chunk = &pass_.CommandsAt(row);
      uint64_t back = ~uint64_t{0};
      if (chunk->Has(row, count) && chunk->in_order && chunk->OneEpoch() == epoch) {
        back = chunk->BackWithin(in_.fetched.ticks[job], row - chunk->first, count,
                                 in_.completion.ticks[job]);
      }
      if (static_cast<int64_t>(back) >= 0) {
        commands += count;
        continue;
      }
      Commands(job);
      chunk = nullptr;  // other chunks have been loaded
    }
    checker_.Certain(5 * commands);
  }
  // Checks that each command is within its job.
  void Commands(size_t job) {
    size_t row = in_.first_command[job];
    const size_t end = row + in_.num_commands[job];
    const Ticks from{in_.fetched.ticks[job], in_.fetched.epoch[job]};
    const Ticks to{in_.completion.ticks[job], in_.completion.epoch[job]};
    while (row < end) {
      const CommandChunk& chunk = pass_.CommandsAt(row);
      const size_t stop = std::min(end, chunk.end());
      if (AreInOrder(chunk, from, row - chunk.first, stop - chunk.first, to)) {
        checker_.Certain(5 * (stop - row));
        row = stop;
        continue;
      }
      device_[kFetched] = from, device_[kCompletion] = to;
      for (; row < stop; ++row) Command(chunk, job, row);
    }
  }
  void Command(const CommandChunk& chunk, size_t job, size_t row) {
    const size_t i = row - chunk.first;
    const auto at = [&](CommandChunk::Time time) {
      return Ticks{chunk.ticks[time][i], chunk.epoch[time][i]};
    };
    const model::Commands& commands = model_.commands;
    const End ends[] = {EndOf(job, kFetched),
                        EndOf("command_fetched", commands.fetched, row, at(CommandChunk::kFetched)),
                        EndOf("command_head", commands.head, row, at(CommandChunk::kHead)),
                        EndOf("command_start", commands.start, row, at(CommandChunk::kStart)),
                        EndOf("command_end", commands.end, row, at(CommandChunk::kEnd)),
                        EndOf(job, kCompletion)};
    for (size_t e = 0; e + 1 < std::size(ends); ++e) checker_.Check(job, ends[e], ends[e + 1]);
  }

  struct Ticks {
    uint64_t ticks = 0;
    uint32_t epoch = clock::kNoEpoch;
    // Returns true if both times belong to one count and are in order, or are equal.
    bool Before(const Ticks& later) const {
      return epoch == later.epoch && epoch != clock::kNoEpoch &&
             static_cast<int64_t>(later.ticks - ticks) >= 0;
    }
  };
  // Returns true if all times of these rows of the chunk belong to one count and are in order, the
  // usual case.
  static bool AreInOrder(const CommandChunk& chunk, const Ticks& from, size_t row, size_t stop,
                         const Ticks& to) {
    if (from.epoch == clock::kNoEpoch || from.epoch != to.epoch ||
        !chunk.AreOfEpoch(from.epoch, row, stop)) {
      return false;
    }
    uint64_t back = chunk.BackWithin(from.ticks, row, stop - row, to.ticks);
    for (size_t i = row; !chunk.in_order && i < stop; ++i) back |= chunk.Back(i);
    return static_cast<int64_t>(back) >= 0;
  }
  static End EndOf(const char* name, const model::DeviceTimes& times, size_t row, const Ticks& at) {
    return {name, 0, &times, row, at.ticks, at.epoch};
  }

  const model::Model& model_;
  const model::Jobs& jobs_;
  LawPass& pass_;
  const JobChunk& in_;
  Causality result_;
  Checker checker_{&result_};
  // False if they are computed one by one (IntervalColumn::Attach()).
  const bool known_times_ =
      jobs_.doorbell.host.size() == jobs_.size() && jobs_.irq.host.size() == jobs_.size();
  // The points of the current job that were recorded.
  std::array<int64_t, kNumPoints> host_ns_{};
  std::array<Ticks, kNumPoints> device_{};
  int previous_ = -1, previous_host_ = -1;
  // Columns of submitting calls and of waiting calls.
  Cursor<int64_t> api_begin_ns_{model_.api.begin_ns}, api_end_ns_{model_.api.end_ns};
  Cursor<uint8_t> began_before_{model_.api.began_before}, api_open_{model_.api.open};
  Cursor<int64_t> waiter_end_ns_{model_.api.end_ns};
  Cursor<uint8_t> waiter_open_{model_.api.open};
};

}  // namespace

std::unique_ptr<CausalitySum> SumCausality(LawPass* pass) { return std::make_unique<Jobs>(pass); }

}  // namespace acceltrace::analysis
