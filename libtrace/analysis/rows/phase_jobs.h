// SPDX-License-Identifier: Apache-2.0
//
// The jobs of a run as needed by phases.h: in order of submission, with what makes them alike.
#ifndef LIBTRACE_ANALYSIS_ROWS_PHASE_JOBS_H_
#define LIBTRACE_ANALYSIS_ROWS_PHASE_JOBS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

struct PhaseJob {
  uint32_t row = 0, alike = 0;          // alike: equal for jobs that are alike
  std::pair<uint32_t, uint32_t> place;  // device, process
  int64_t begin_ns = 0, called_ns = 0, done_ns = 0;
  bool computes = false;
  uint64_t matrix_work = 0, matrix_commands = 0, bytes_in = 0, bytes_out = 0;
};

class PhaseJobs {
 public:
  using Opcodes = std::set<std::pair<uint32_t, uint32_t>>;  // unit, opcode

  PhaseJobs(const model::Model& model, int64_t begin_ns, int64_t end_ns);
  const std::vector<PhaseJob>& list() const { return list_; }
  const Opcodes& OpcodesOf(const PhaseJob& job) const { return opcodes_[job.alike]; }
  // Returns true if between two jobs of one device and process no other one does anything.
  bool ordered() const;
  // Returns the time at which the host had finished its work for the previous job.
  int64_t Boundary(size_t job) const;
  bool WaitedBefore(size_t job) const {
    return job > 0 && Boundary(job) > std::min(list_[job - 1].called_ns, list_[job].begin_ns);
  }

 private:
  void Add(uint32_t row, int64_t begin_ns, int64_t end_ns);
  void AddCommand(const model::Device& device, uint32_t c, PhaseJob* job, Opcodes* opcodes) const;

  const model::Model& model_;
  std::vector<PhaseJob> list_;
  std::vector<int64_t> wakes_;
  std::vector<Opcodes> opcodes_;
  std::map<Opcodes, uint32_t> known_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_PHASE_JOBS_H_
