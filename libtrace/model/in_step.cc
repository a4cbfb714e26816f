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

class Walk {
 public:
  Walk(const Model& model, const Decoder& decoder, const CompletionTimes& times)
      : times_(times),
        of_jobs_(decoder.device_jobs.record, &decoder.device_jobs.job),
        of_commands_(model.commands.record, &model.commands.job),
        of_events_(decoder.event_records, nullptr) {}

  bool Run(bool* any_lost) {
    first_ = std::min({of_jobs_.record(), of_commands_.record(), of_events_.record()});
    if (!of_jobs_.done()) LookAhead();
    while (!of_jobs_.done() || !of_events_.done()) {
      const uint64_t record = std::min(of_jobs_.record(), of_events_.record());
      while (of_commands_.record() < record) {
        if (!NextCommand()) return false;
      }
      if (!Rises(record)) return false;
      if (!of_jobs_.done() && of_jobs_.record() == record) {
        complete_ns_ = std::max(complete_ns_, next_complete_ns_);
        of_jobs_.Next();
        if (!of_jobs_.done()) LookAhead();
      } else {
        of_events_.Next();
      }
    }
    while (!of_commands_.done()) {
      if (!NextCommand()) return false;
    }
    // They rise: those that were left out were lost.
    *any_lost = last_ - first_ != count_ - 1;
    return true;
  }

 private:
  bool Rises(uint64_t record) {
    if (count_++ > 0 && record <= last_) return false;
    last_ = record;
    return true;
  }
  // The job whose record is next: most commands before it are its own.
  void LookAhead() { next_complete_ns_ = times_.of_job(of_jobs_.row()); }

  bool NextCommand() {
    if (!Rises(of_commands_.record())) return false;
    const uint32_t job = of_commands_.job();
    if (job != job_ || !has_job_) {
      const bool is_next = !of_jobs_.done() && of_jobs_.job() == job;
      its_complete_ns_ = is_next ? next_complete_ns_ : times_.of_any(job);
      job_ = job, has_job_ = true;
    }
    of_commands_.Next();
    return its_complete_ns_ == kNoTime || its_complete_ns_ >= complete_ns_;
  }

  const CompletionTimes& times_;
  Records of_jobs_, of_commands_, of_events_;
  uint64_t first_ = 0, last_ = 0, count_ = 0;  // records so far
  int64_t complete_ns_ = kNoTime;              // of all jobs so far
  int64_t next_complete_ns_ = kNoTime;
  bool has_job_ = false;
  uint32_t job_ = 0;  // of the command before
  int64_t its_complete_ns_ = kNoTime;
};

}  // namespace

bool IsInStep(const Model& model, const Decoder& decoder, const CompletionTimes& times,
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
  return Walk(model, decoder, times).Run(any_lost);
}

}  // namespace acceltrace::model
