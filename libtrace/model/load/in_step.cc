// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/in_step.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

namespace acceltrace::model {
namespace {

using proto::DeviceEventBatch;

constexpr size_t kRows = Column<uint64_t>::kRows;

// Reads the records of a table by chunks, with their jobs.
class Records {
 public:
  Records(const Column<uint64_t>& records, const Column<uint32_t>* jobs)
      : records_(records), jobs_(jobs) {
    Load();
  }
  size_t row() const { return first_ + at_; }
  bool done() const { return at_ == count_; }
  // Larger than all others at the end.
  uint64_t record() const { return done() ? UINT64_MAX : chunk_[at_]; }
  uint32_t job() const { return chunk_jobs_[at_]; }
  void Next() { Skip(1); }
  // At most as many as are left in the chunk.
  void Skip(size_t records) {
    at_ += records;
    if (at_ == count_ && first_ + at_ < records_.size()) Load();
  }
  // Returns the next records of one job; unless `all`, only those before a record, but at least the
  // first one.
  std::span<const uint64_t> Run(uint64_t before, bool all) const {
    const uint32_t job = chunk_jobs_[at_];
    size_t end = at_ + 1;
    while (end < count_ && chunk_jobs_[end] == job && (all || chunk_[end] < before)) ++end;
    return {chunk_.data() + at_, end - at_};
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

// Calls see->Job(record, side), Commands(records of one job, its side) or Other(record) for each
// record in order of number until it returns false. Returns true if it never did. If tables are not
// in that order, the numbers do not rise.
template <typename See>
bool EachRecord(const Model& model, const Decoder& decoder, const SidesOfJobs& sides, See* see) {
  Records jobs(decoder.device_jobs.record, &decoder.device_jobs.job);
  Records commands(model.commands.record, &model.commands.job), events(decoder.event_records, {});
  // The job whose record is next, because most commands before it are its own, and that of the
  // previous command.
  HostJobs::Times next_side, its_side;
  uint32_t its_job = 0;  // not a job's
  const auto rows = std::make_unique<SideRows>();
  const auto load_next = [&] {
    if (jobs.done()) return;
    if (!rows->Has(jobs.row())) sides.load(jobs.row(), rows.get());
    next_side = rows->At(jobs.row());
  };
  load_next();
  while (true) {
    const uint64_t record = std::min(jobs.record(), events.record());
    const bool is_last = jobs.done() && events.done();
    while (is_last ? !commands.done() : commands.record() < record) {
      if (commands.job() != its_job) {
        its_job = commands.job();
        its_side = !jobs.done() && jobs.job() == its_job ? next_side : sides.of_job(its_job);
      }
      const std::span<const uint64_t> run = commands.Run(record, is_last);
      if (!see->Commands(run, its_side)) return false;
      commands.Skip(run.size());
    }
    if (is_last) return true;
    if (jobs.done() || jobs.record() != record) {
      if (!see->Other(record)) return false;
      events.Next();
      continue;
    }
    if (!see->Job(record, next_side)) return false;
    jobs.Next();
    load_next();
  }
}

struct Steps {
  bool Job(uint64_t record, const HostJobs::Times& side) {
    complete_ns = std::max(complete_ns, side.complete_ns);
    return Other(record);
  }
  bool Commands(std::span<const uint64_t> records, const HostJobs::Times& side) {
    if (side.complete_ns != kNoTime && side.complete_ns < complete_ns) return false;
    if (!Other(records[0])) return false;
    for (size_t i = 1; i < records.size(); ++i) {
      if (records[i] <= records[i - 1]) return false;
    }
    count += records.size() - 1, last = records.back();
    return true;
  }
  bool Other(uint64_t record) {
    if (count == 0) first = record;
    if (count++ > 0 && record <= last) return false;
    last = record;
    return true;
  }
  // The numbers rise, so that missing ones were lost.
  bool any_lost() const { return last - first != count - 1; }

  uint64_t first = 0, last = 0, count = 0;
  int64_t complete_ns = kNoTime;  // latest of all jobs so far
};

// At first, hi_ns of each lost sequence only covers the records up to the next one.
struct Losses {
  bool Job(uint64_t record, const HostJobs::Times& side) {
    See(record);
    if (side.doorbell_ns != kNoTime) lo_ns = std::max(lo_ns, side.doorbell_ns);
    return true;
  }
  bool Commands(std::span<const uint64_t> records, const HostJobs::Times& side) {
    for (const uint64_t record : records) Command(record, side);
    return true;
  }
  void Command(uint64_t record, const HostJobs::Times& side) {
    const bool is_edge = See(record);
    if (side.submit_ns != kNoTime) lo_ns = std::max(lo_ns, side.submit_ns);
    if (side.complete_ns == kNoTime || lost.when.empty()) return;
    int64_t& hi_ns = lost.when.back().hi_ns;
    hi_ns = std::min(hi_ns, side.complete_ns);
    if (!is_edge) lost.last_after.hi_ns = std::min(lost.last_after.hi_ns, side.complete_ns);
  }
  bool Other(uint64_t record) {
    See(record);
    return true;
  }

  LostRecords lost;
  int64_t lo_ns = clock::Window::kMin;  // of all records so far

 private:
  // Returns true if the record directly follows lost ones.
  bool See(uint64_t record) {
    const bool is_edge = count_++ > 0 && record - last_.record > 1;
    if (is_edge) {
      if (lost.when.empty()) lost.first_before = last_;
      clock::Window when;
      when.lo_ns = lo_ns;
      lost.when.push_back(when);
      lost.last_after = {record, lo_ns, clock::Window::kMax};
    }
    last_.record = record, last_.lo_ns = lo_ns;
    return is_edge;
  }

  uint64_t count_ = 0;
  LostRecords::Edge last_;
};

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
  Steps steps;
  if (!EachRecord(model, decoder, sides, &steps)) return false;
  *any_lost = steps.any_lost();
  return true;
}

LostRecords FindLost(const Model& model, const Decoder& decoder, const SidesOfJobs& sides) {
  Losses losses;
  EachRecord(model, decoder, sides, &losses);
  LostRecords& lost = losses.lost;
  for (size_t i = lost.when.size() - 1; i-- > 0;) {
    lost.when[i].hi_ns = std::min(lost.when[i].hi_ns, lost.when[i + 1].hi_ns);
  }
  lost.first_before.hi_ns = lost.when.front().hi_ns;
  return std::move(lost);
}

}  // namespace acceltrace::model
