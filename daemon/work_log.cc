// SPDX-License-Identifier: Apache-2.0
#include "daemon/work_log.h"

#include <sched.h>

#include <algorithm>

#include "daemon/sources/host_info.h"

namespace acceltrace::daemon {

void WorkLog::Add(int64_t begin_ns, int64_t end_ns, uint64_t cpu_ns, uint32_t cpu, uint32_t wakes) {
  // CPU time that was spent on the way here belongs to this stretch too.
  const auto spent_ns = static_cast<int64_t>(std::min<uint64_t>(cpu_ns, INT64_MAX / 4));
  begin_ns = std::min(begin_ns, end_ns - spent_ns);
  if (!rows_.empty()) {
    Row& last = rows_.back();
    begin_ns = std::max(begin_ns, last.end_ns);
    if (begin_ns - last.end_ns <= join_ns_ && last.cpu == cpu) {
      last.wakes += begin_ns - last.end_ns > kJoinNs ? wakes : 0;
      last.end_ns = std::max(last.end_ns, end_ns);
      last.cpu_ns += cpu_ns;
      return;
    }
  }
  if (end_ns <= begin_ns) return;
  if (rows_.size() >= kMaxRows) Halve();
  rows_.push_back({begin_ns, end_ns, cpu_ns, cpu, wakes});
}

// Every second row takes in its neighbour, whatever CPU that ran on, and what comes is
// joined over longer pauses.
void WorkLog::Halve() {
  size_t kept = 0;
  for (size_t i = 0; i < rows_.size(); i += 2) {
    Row row = rows_[i];
    if (i + 1 < rows_.size()) {
      row.end_ns = rows_[i + 1].end_ns;
      row.cpu_ns += rows_[i + 1].cpu_ns;
      row.wakes += rows_[i + 1].wakes;
    }
    rows_[kept++] = row;
  }
  rows_.resize(kept);
  join_ns_ *= 2;
}

void WorkLog::Join(const WorkLog& beside) {
  std::vector<Row> all = rows_;
  all.insert(all.end(), beside.rows_.begin(), beside.rows_.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Row& a, const Row& b) { return a.begin_ns < b.begin_ns; });
  rows_.clear();
  for (const Row& row : all) {
    if (rows_.empty() || row.begin_ns >= rows_.back().end_ns) {
      rows_.push_back(row);
      continue;
    }
    Row& last = rows_.back();
    if (row.cpu_ns > last.cpu_ns) last.cpu = row.cpu;
    last.end_ns = std::max(last.end_ns, row.end_ns);
    last.cpu_ns += row.cpu_ns;
    last.wakes += row.wakes;
  }
  while (rows_.size() > kMaxRows) Halve();
}

void WorkLog::Write(proto::Accounts* accounts, std::initializer_list<const WorkLog*> beside) const {
  if (beside.size() > 0) {
    WorkLog all = *this;
    for (const WorkLog* log : beside) all.Join(*log);
    return all.Write(accounts);
  }
  int64_t last_ns = 0;
  for (const Row& row : rows_) {
    accounts->add_work_begin_ns_delta(row.begin_ns - last_ns);
    accounts->add_work_ns(static_cast<uint64_t>(row.end_ns - row.begin_ns));
    accounts->add_work_cpu_ns(row.cpu_ns);
    accounts->add_work_cpu(row.cpu);
    accounts->add_work_wakes(row.wakes);
    last_ns = row.begin_ns;
  }
}

WorkLog::Stretch::Stretch(WorkLog* log) : log_(log), begin_ns_(MonotonicNs()) {
  if (log_->last_cpu_ns_ == 0) log_->last_cpu_ns_ = ThreadCpuNs();
  give_way_observer = this;
}

void WorkLog::Stretch::OnGaveWay(int64_t begin_ns, int64_t end_ns) {
  Add(begin_ns);
  begin_ns_ = end_ns;
  wakes_ = 0;
}

void WorkLog::Stretch::Add(int64_t end_ns) {
  const uint64_t cpu_ns = ThreadCpuNs();
  const int cpu = sched_getcpu();
  log_->Add(begin_ns_, end_ns, cpu_ns - log_->last_cpu_ns_,
            cpu < 0 ? 0 : static_cast<uint32_t>(cpu), wakes_);
  log_->last_cpu_ns_ = cpu_ns;
}

WorkLog::Stretch::~Stretch() {
  give_way_observer = nullptr;
  Add(MonotonicNs());
}

}  // namespace acceltrace::daemon
