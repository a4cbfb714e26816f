// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/phase_jobs.h"

namespace acceltrace::analysis {

PhaseJobs::PhaseJobs(const model::Model& model, int64_t begin_ns, int64_t end_ns) : model_(model) {
  for (uint32_t row = 0; row < model.jobs.size(); ++row) Add(row, begin_ns, end_ns);
  std::stable_sort(list_.begin(), list_.end(),
                   [](const PhaseJob& a, const PhaseJob& b) { return a.begin_ns < b.begin_ns; });
  std::sort(wakes_.begin(), wakes_.end());
}

bool PhaseJobs::ordered() const {
  if (list_.empty()) return false;
  std::map<std::pair<uint32_t, uint32_t>, std::pair<int64_t, int64_t>> times;
  for (const PhaseJob& job : list_) {
    const auto [at, fresh] = times.try_emplace(job.place, job.begin_ns, job.done_ns);
    if (!fresh) at->second.second = std::max(at->second.second, job.done_ns);
  }
  std::vector<std::pair<int64_t, int64_t>> sorted;
  for (const auto& [place, time] : times) sorted.push_back(time);
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].first < sorted[i - 1].second) return false;
  }
  return true;
}

int64_t PhaseJobs::Boundary(size_t job) const {
  const PhaseJob& next = list_[job];
  if (job == 0) return next.begin_ns;
  const int64_t called_ns = std::min(list_[job - 1].called_ns, next.begin_ns);
  const auto wake = std::upper_bound(wakes_.begin(), wakes_.end(), next.begin_ns);
  return wake == wakes_.begin() ? called_ns : std::max(called_ns, *std::prev(wake));
}

void PhaseJobs::Add(uint32_t row, int64_t begin_ns, int64_t end_ns) {
  const model::Jobs& jobs = model_.jobs;
  const uint32_t call = jobs.api_row[row];
  PhaseJob job;
  job.row = row;
  job.begin_ns = call != model::kNoRow ? model_.api.begin_ns[call] : jobs.submit_ns[row];
  job.called_ns = call != model::kNoRow ? model_.api.end_ns[call] : jobs.submit_end_ns[row];
  // Skip jobs whose end the host did not record.
  if (job.begin_ns < begin_ns || job.begin_ns > end_ns || jobs.complete_ns[row] < job.begin_ns)
    return;
  job.done_ns = std::min(jobs.complete_ns[row], end_ns);
  job.called_ns = std::clamp(job.called_ns, job.begin_ns, end_ns);
  job.place = {jobs.device[row], jobs.pid[row]};
  Opcodes opcodes;
  const model::Device& device = model_.devices[jobs.device[row]];
  const uint32_t first = jobs.first_command[row];
  for (uint32_t c = first; c < first + jobs.num_commands[row]; ++c)
    AddCommand(device, c, &job, &opcodes);
  if (!job.computes) {
    opcodes.clear();
    // Use numbers that no unit has.
    if (job.bytes_in > 0) opcodes.emplace(UINT32_MAX, 0);
    if (job.bytes_out > 0) opcodes.emplace(UINT32_MAX, 1);
  }
  const auto [alike, fresh] = known_.try_emplace(opcodes, static_cast<uint32_t>(opcodes_.size()));
  if (fresh) opcodes_.push_back(opcodes);
  job.alike = alike->second;
  list_.push_back(job);
  if (jobs.wake_ns[row] != model::kNoTime) wakes_.push_back(jobs.wake_ns[row]);
}

void PhaseJobs::AddCommand(const model::Device& device, uint32_t c, PhaseJob* job,
                           Opcodes* opcodes) const {
  const model::Commands& commands = model_.commands;
  const uint32_t unit = commands.unit[c];
  const auto kind = unit < static_cast<uint32_t>(device.about.units_size())
                        ? device.about.units(static_cast<int>(unit)).kind()
                        : proto::Unit::KIND_UNKNOWN;
  if (kind == proto::Unit::KIND_DMA_TO_DEVICE) {
    job->bytes_in += commands.bytes[c];
  } else if (kind == proto::Unit::KIND_DMA_FROM_DEVICE) {
    job->bytes_out += commands.bytes[c];
  } else if (commands.work[c] > 0) {
    job->computes = true;
    opcodes->emplace(unit, commands.opcode[c]);
    if (kind != proto::Unit::KIND_MATRIX) return;
    job->matrix_work += commands.work[c], ++job->matrix_commands;
  }
}

}  // namespace acceltrace::analysis
