// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/in_step.h"

#include <algorithm>
#include <array>

namespace acceltrace::model {
namespace {

using proto::DeviceEventBatch;

constexpr size_t kRows = Column<uint64_t>::kRows;

// The records of a table, a chunk at a time, and the jobs that they are of.
class Records {
 public:
  Records(const Column<uint64_t>& records, const Column<uint32_t>* jobs)
      : records_(records), jobs_(jobs) {
    Load();
  }
  size_t row() const { return first_ + at_; }
  bool done() const { return at_ == count_; }
  // Beyond all others at the end.
  uint64_t record() const { return done() ? UINT64_MAX : chunk_[at_]; }
  uint32_t job() const { return chunk_jobs_[at_]; }
  void Next() {
    if (++at_ == count_ && first_ + at_ < records_.size()) Load();
  }

 private:
  void Load() {
    first_ += at_, at_ = 0;
    count_ = std::min(kRows, records_.size() - first_);
    records_.Read(first_, count_, chunk_.data());
    if (jobs_ != nullptr) jobs_->Read(first_, count_, chunk_jobs_.data());
  }

  const Column<uint64_t>& records_;
  const Column<uint32_t>* jobs_;
  size_t first_ = 0, at_ = 0, count_ = 0;
  std::array<uint64_t, kRows> chunk_;
  std::array<uint32_t, kRows> chunk_jobs_;
};

// Of a record of a job, or of a command of it; else of neither.
struct Seen {
  uint64_t record = 0;
  bool is_job = false, is_command = false;
  const HostJobs::Times* side = nullptr;  // of its job
};

// see(seen) of each in the order of their numbers, until it is false; whether it was not. Where
// tables are not in that order the numbers do not rise.
template <typename See>
bool EachRecord(const Model& model, const Decoder& decoder, const SidesOfJobs& sides,
                const See& see) {
  Records jobs(decoder.device_jobs.record, &decoder.device_jobs.job);
  Records commands(model.commands.record, &model.commands.job), events(decoder.event_records, {});
  // The job whose record is next: most commands before it are its own. And of the command before.
  HostJobs::Times next_side, its_side;
  const auto look_ahead = [&] {
    if (!jobs.done()) next_side = sides.of_row(jobs.row());
  };
  uint32_t its_job = 0;  // no job's
  const auto see_command = [&] {
    if (commands.job() != its_job) {
      its_job = commands.job();
      its_side = !jobs.done() && jobs.job() == its_job ? next_side : sides.of_job(its_job);
    }
    const uint64_t record = commands.record();
    commands.Next();
    return see(Seen{record, false, true, &its_side});
  };
  look_ahead();
  while (!jobs.done() || !events.done()) {
    const uint64_t record = std::min(jobs.record(), events.record());
    while (commands.record() < record) {
      if (!see_command()) return false;
    }
    const bool is_job = !jobs.done() && jobs.record() == record;
    if (!see(Seen{record, is_job, false, &next_side})) return false;
    if (!is_job) {
      events.Next();
      continue;
    }
    jobs.Next();
    look_ahead();
  }
  while (!commands.done()) {
    if (!see_command()) return false;
  }
  return true;
}

}  // namespace

bool IsInStep(const Model& model, const Decoder& decoder, const SidesOfJobs& sides,
              bool* any_lost) {
  const DeviceEvents& events = model.device_events;
  const auto is_jump = [&](size_t row) {
    return events.kind[row] == DeviceEventBatch::KIND_CLOCK && events.arg1[row] != 0;
  };
  if (model.devices.size() != 1) return false;
  for (size_t row = 0; row < events.size(); ++row) {
    if (is_jump(row)) return false;
  }
  const size_t jobs = decoder.device_jobs.size(), commands = model.commands.size();
  if (decoder.device_jobs.record.size() != jobs || model.commands.record.size() != commands ||
      decoder.event_records.size() != events.size() || jobs == 0 || commands == 0) {
    return false;
  }
  uint64_t first = 0, last = 0, count = 0;
  int64_t complete_ns = kNoTime;  // of all jobs so far
  const auto see = [&](const Seen& seen) {
    if (count == 0) first = seen.record;
    if (count++ > 0 && seen.record <= last) return false;
    last = seen.record;
    if (seen.is_job) complete_ns = std::max(complete_ns, seen.side->complete_ns);
    return !seen.is_command || seen.side->complete_ns == kNoTime ||
           seen.side->complete_ns >= complete_ns;
  };
  if (!EachRecord(model, decoder, sides, see)) return false;
  // They rise: those that were left out were lost.
  *any_lost = last - first != count - 1;
  return true;
}

LostRecords FindLost(const Model& model, const Decoder& decoder, const SidesOfJobs& sides) {
  LostRecords lost;
  LostRecords::Edge next;  // the record before, and what is known of the next
  bool any = false;
  // hi_ns is of what is between two of those that were lost, at first.
  EachRecord(model, decoder, sides, [&](const Seen& seen) {
    const int64_t before_ns = next.lo_ns;
    if (any && seen.record - next.record > 1) {
      if (lost.when.empty()) lost.first_before = {next.record, lost.last_after.lo_ns, 0};
      clock::Window when;
      when.lo_ns = before_ns;
      lost.when.push_back(when);
      lost.last_after = {seen.record, before_ns, clock::Window::kMax};
    } else if (lost.when.empty()) {
      lost.last_after.lo_ns = before_ns;
    }
    any = true, next.record = seen.record;
    if (!seen.is_job && !seen.is_command) return true;
    const int64_t begin_ns = seen.is_job ? seen.side->doorbell_ns : seen.side->submit_ns;
    if (begin_ns != kNoTime) next.lo_ns = std::max(next.lo_ns, begin_ns);
    const int64_t complete_ns = seen.side->complete_ns;
    if (!seen.is_command || complete_ns == kNoTime || lost.when.empty()) return true;
    int64_t& hi_ns = lost.when.back().hi_ns;
    hi_ns = std::min(hi_ns, complete_ns);
    if (seen.record != lost.last_after.record) {
      lost.last_after.hi_ns = std::min(lost.last_after.hi_ns, complete_ns);
    }
    return true;
  });
  for (size_t i = lost.when.size() - 1; i-- > 0;) {
    lost.when[i].hi_ns = std::min(lost.when[i].hi_ns, lost.when[i + 1].hi_ns);
  }
  lost.first_before.hi_ns = lost.when.front().hi_ns;
  return lost;
}

}  // namespace acceltrace::model
