// SPDX-License-Identifier: Apache-2.0
//
// Visits jobs and commands once for any number of laws: the columns that they share are unpacked
// only once per chunk. Internal.
#ifndef LIBTRACE_ANALYSIS_CHECKS_LAW_PASS_H_
#define LIBTRACE_ANALYSIS_CHECKS_LAW_PASS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

// A number of consecutive commands.
struct CommandChunk {
  static constexpr size_t kRows = model::Column<uint64_t>::kRows;
  enum Time { kFetched, kHead, kStart, kEnd, kNumTimes };

  void Load(const model::Commands& commands, size_t chunk);
  // Returns true if all of these rows are in the chunk.
  bool Has(size_t row, size_t count) const { return row - first < rows && row + count <= end(); }
  size_t end() const { return first + rows; }
  // Returns true if all times of these rows have the epoch `wanted`.
  bool AreOfEpoch(uint32_t wanted, size_t from, size_t to) const;
  // Returns the epoch of all times of all rows, or kNoEpoch if there are several.
  uint32_t OneEpoch() const { return one_epoch ? epoch[0][0] : clock::kNoEpoch; }
  // Negative (as a signed number) if one of a row's times is before the previous one.
  uint64_t Back(size_t i) const {
    return (ticks[kHead][i] - ticks[kFetched][i]) | (ticks[kStart][i] - ticks[kHead][i]) |
           (ticks[kEnd][i] - ticks[kStart][i]);
  }
  // Negative (as a signed number) if one of `count` rows from `i` on begins before `from` or ends
  // after `to`.
  uint64_t BackWithin(uint64_t from, size_t i, size_t count, uint64_t to) const {
    const uint64_t *fetched = ticks[kFetched] + i, *ends = ticks[kEnd] + i;
    uint64_t back = 0;
    for (size_t n = 0; n < count; ++n) back |= (fetched[n] - from) | (to - ends[n]);
    return back;
  }

  size_t first = static_cast<size_t>(-1) / 2, rows = 0;
  // True if the values of all rows are equal.
  bool one_epoch = false, one_device = false, one_queue = false, one_context = false;
  bool in_order = false;  // Back() of no row is negative
  uint32_t most_unit = 0;
  uint64_t ticks[kNumTimes][kRows], correlation[kRows], bytes[kRows];
  uint32_t epoch[kNumTimes][kRows], device[kRows], unit[kRows], queue[kRows], context[kRows];
  uint32_t status[kRows], first_stall[kRows];
};

// The columns of jobs that laws need, indexed by row.
struct JobChunk {
  explicit JobChunk(const model::Jobs& jobs);
  void Load(size_t first, size_t rows);

  Chunked<uint32_t> device, queue, context, pid, tid, status;
  Chunked<uint32_t> commands_submitted, commands_retired, first_command, num_commands;
  Chunked<uint32_t> api_row, wait_api_row;
  Chunked<uint64_t> correlation, host_correlation, copy_bytes;
  Chunked<uint8_t> on_host, on_device, has_irq;
  Chunked<int64_t> submit_ns, doorbell_ns, submit_end_ns, irq_ns, complete_ns, wake_ns;
  ChunkedTicks doorbell, fetched, first_start, last_end, completion, irq;
  ChunkedIntervals doorbell_host, irq_host;
};

class JobLaw {
 public:
  virtual ~JobLaw() = default;
  // Receives the jobs [from, to) of the loaded chunk, at most LawPass::kJobs. Together, the calls
  // cover all jobs in order.
  virtual void OfJobs(size_t from, size_t to) = 0;
};
class CommandLaw {
 public:
  virtual ~CommandLaw() = default;
  // Receives each chunk once, in order.
  virtual void OfCommands(const CommandChunk& chunk) = 0;
};

// Takes some hundred KB, so it must not be on the stack.
class LawPass {
 public:
  // Jobs are passed in groups of at most this size, so that all laws access the same chunks of
  // commands.
  static constexpr size_t kJobs = 256;

  explicit LawPass(const model::Model& model) : model_(model), jobs_(model.jobs) {}
  LawPass(const LawPass&) = delete;
  LawPass& operator=(const LawPass&) = delete;

  const model::Model& model() const { return model_; }
  const JobChunk& jobs() const { return jobs_; }
  // Returns the chunk with this row, which is valid until another one is requested.
  const CommandChunk& CommandsAt(size_t row) {
    CommandChunk& chunk = chunks_[row / CommandChunk::kRows % kChunks];
    if (row - chunk.first >= CommandChunk::kRows) Load(row / CommandChunk::kRows);
    return chunk;
  }

  // The laws must outlive Run().
  void Add(JobLaw* law) { job_laws_.push_back(law); }
  void Add(CommandLaw* law) { command_laws_.push_back(law); }
  void Run();

 private:
  static constexpr size_t kChunks = 4;

  void Load(size_t chunk);

  const model::Model& model_;
  JobChunk jobs_;
  std::array<CommandChunk, kChunks> chunks_;
  size_t next_ = 0;  // the next chunk of commands that laws have not seen
  std::vector<JobLaw*> job_laws_;
  std::vector<CommandLaw*> command_laws_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CHECKS_LAW_PASS_H_
