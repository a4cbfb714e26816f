// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/work_log.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "daemon/base/host_info.h"

namespace acceltrace::daemon {

void WorkLog::Add(int64_t begin_ns, int64_t end_ns, uint64_t cpu_ns, uint32_t cpu, uint32_t wakes,
                  bool lifted) {
  // CPU time used since the previous interval also belongs to this one.
  const auto spent_ns = static_cast<int64_t>(std::min<uint64_t>(cpu_ns, INT64_MAX / 4));
  begin_ns = std::min(begin_ns, end_ns - spent_ns);
  if (!rows_.empty()) {
    Row& last = rows_.back();
    begin_ns = std::max(begin_ns, last.end_ns);
    if (begin_ns - last.end_ns <= join_ns_ && last.cpu == cpu && last.lifted == lifted) {
      last.wakes += begin_ns - last.end_ns > kJoinNs ? wakes : 0;
      last.end_ns = std::max(last.end_ns, end_ns);
      last.cpu_ns += cpu_ns;
      return;
    }
  }
  if (end_ns <= begin_ns) return;
  if (rows_.size() >= kMaxRows) Halve();
  rows_.push_back({begin_ns, end_ns, cpu_ns, cpu, wakes, lifted});
}

// Every second row is joined with its neighbour, whatever CPU that was on, and later rows are
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

// Inserts the row after all that began before it. If two worked at once on one CPU, the one with
// the larger share of its own time is assumed to have had that share of the common time, and the
// other one what was left.
void WorkLog::Place(Row row) {
  if (rows_.empty() || row.begin_ns >= rows_.back().end_ns) return rows_.push_back(row);
  Row& last = rows_.back();
  if (row.cpu != last.cpu) {
    if (row.cpu_ns > last.cpu_ns) last.cpu = row.cpu;
    last.end_ns = std::max(last.end_ns, row.end_ns);
    last.cpu_ns += row.cpu_ns;
    last.wakes += row.wakes;
    return;
  }
  const auto length = [](const Row& of) { return static_cast<double>(of.end_ns - of.begin_ns); };
  const auto share = [&](const Row& of) { return static_cast<double>(of.cpu_ns) / length(of); };
  Row first = last, both = row, rest = row.end_ns > last.end_ns ? row : last;
  first.end_ns = row.begin_ns;
  both.end_ns = std::min(row.end_ns, last.end_ns);
  rest.begin_ns = both.end_ns, rest.wakes = 0;
  if (length(first) == 0) both.wakes += last.wakes;
  const bool last_leads = share(last) > share(row);
  const double common = length(both);
  const double most = std::min(common, std::max(share(last), share(row)) * common);
  const double less = std::min(common - most, std::min(share(last), share(row)) * common);
  const auto spent = [](double ns) { return static_cast<uint64_t>(std::llround(ns)); };
  // The rest of the CPU time was used in the rest of each row, if there is any.
  const uint64_t of_last = std::min(last.cpu_ns, spent(last_leads ? most : less));
  const uint64_t of_row = std::min(row.cpu_ns, spent(last_leads ? less : most));
  uint64_t last_left = last.cpu_ns - of_last, row_left = row.cpu_ns - of_row;
  const double apart = length(first) + (row.end_ns > last.end_ns ? 0 : length(rest));
  first.cpu_ns = apart > 0 ? spent(static_cast<double>(last_left) * length(first) / apart) : 0;
  last_left -= std::min(last_left, first.cpu_ns);
  both.cpu_ns = of_last + of_row;
  rest.cpu_ns = 0;
  if (length(rest) > 0) {
    std::swap(rest.cpu_ns, row.end_ns > last.end_ns ? row_left : last_left);
  }
  both.cpu_ns += last_left + row_left;  // no time is left for it
  rows_.pop_back();
  for (const Row& part : {first, both, rest}) {
    if (part.end_ns > part.begin_ns) rows_.push_back(part);
  }
}

void WorkLog::Join(const WorkLog& beside) {
  std::vector<Row> all = rows_;
  all.insert(all.end(), beside.rows_.begin(), beside.rows_.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Row& a, const Row& b) { return a.begin_ns < b.begin_ns; });
  rows_.clear();
  for (const Row& row : all) Place(row);
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
  const int on_cpu = sched_getcpu();
  const uint32_t cpu = on_cpu < 0 ? 0 : static_cast<uint32_t>(on_cpu);
  const int64_t lifted_ns = lift_mark == nullptr ? 0 : lift_mark->at_ns();
  if (lifted_ns > begin_ns_ && lifted_ns < end_ns) {
    const uint64_t until_ns = std::clamp(lift_mark->cpu_ns(), log_->last_cpu_ns_, cpu_ns);
    log_->Add(begin_ns_, lifted_ns, until_ns - log_->last_cpu_ns_, cpu, wakes_);
    begin_ns_ = lifted_ns, wakes_ = 0, log_->last_cpu_ns_ = until_ns;
  }
  const bool lifted = lifted_ns != 0 && lifted_ns <= begin_ns_;
  log_->Add(begin_ns_, end_ns, cpu_ns - log_->last_cpu_ns_, cpu, wakes_, lifted);
  log_->last_cpu_ns_ = cpu_ns;
}

WorkLog::Stretch::~Stretch() {
  give_way_observer = nullptr;
  Add(MonotonicNs());
}

}  // namespace acceltrace::daemon
