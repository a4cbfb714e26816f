// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/checks/law_pass.h"

#include <algorithm>

#include "libtrace/analysis/rows/row_loops.h"
#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::analysis {

void CommandChunk::Load(const model::Commands& commands, size_t chunk) {
  first = chunk * kRows;
  rows = std::min(kRows, commands.size() - first);
  const auto read = [&](const auto& column, auto* values) { column.Read(first, rows, values); };
  const model::DeviceTimes* times[] = {&commands.fetched, &commands.head, &commands.start,
                                       &commands.end};
  one_epoch = true;
  for (size_t t = 0; t < kNumTimes; ++t) {
    read(times[t]->ticks, ticks[t]), read(times[t]->epoch, epoch[t]);
    one_epoch = one_epoch && AreAll(epoch[t], rows, epoch[0][0]);
  }
  in_order = true;
  for (size_t t = 1; t < kNumTimes; ++t) {
    in_order = in_order && NoneBehind(ticks[t - 1], ticks[t], rows);
  }
  read(commands.correlation, correlation), read(commands.bytes, bytes);
  read(commands.device, device), read(commands.unit, unit), read(commands.queue, queue);
  read(commands.context, context), read(commands.status, status);
  read(commands.first_stall, first_stall);
  one_device = AreAlike(device, rows);
  one_queue = AreAlike(queue, rows), one_context = AreAlike(context, rows);
  uint32_t least = most_unit = unit[0];
  stream::WidenTo(unit, rows, &least, &most_unit);
}

bool CommandChunk::AreOfEpoch(uint32_t wanted, size_t from, size_t to) const {
  if (one_epoch) return epoch[0][0] == wanted;
  return std::all_of(std::begin(epoch), std::end(epoch), [&](const auto& its) {
    return std::count(its + from, its + to, wanted) == static_cast<ptrdiff_t>(to - from);
  });
}

JobChunk::JobChunk(const model::Jobs& jobs)
    : device(jobs.device),
      queue(jobs.queue),
      context(jobs.context),
      pid(jobs.pid),
      tid(jobs.tid),
      status(jobs.status),
      commands_submitted(jobs.commands_submitted),
      commands_retired(jobs.commands_retired),
      first_command(jobs.first_command),
      num_commands(jobs.num_commands),
      api_row(jobs.api_row),
      wait_api_row(jobs.wait_api_row),
      correlation(jobs.correlation),
      host_correlation(jobs.host_correlation),
      copy_bytes(jobs.copy_bytes),
      on_host(jobs.on_host),
      on_device(jobs.on_device),
      has_irq(jobs.has_irq),
      submit_ns(jobs.submit_ns),
      doorbell_ns(jobs.doorbell_ns),
      submit_end_ns(jobs.submit_end_ns),
      irq_ns(jobs.irq_ns),
      complete_ns(jobs.complete_ns),
      wake_ns(jobs.wake_ns),
      doorbell(jobs.doorbell),
      fetched(jobs.fetched),
      first_start(jobs.first_start),
      last_end(jobs.last_end),
      completion(jobs.completion),
      irq(jobs.irq),
      doorbell_host(jobs.doorbell.host),
      irq_host(jobs.irq.host) {}

void JobChunk::Load(size_t first, size_t rows) {
  const auto load = [&](auto&... columns) { (columns.Load(first, rows), ...); };
  load(device, queue, context, pid, tid, status);
  load(commands_submitted, commands_retired, first_command, num_commands, api_row, wait_api_row);
  load(correlation, host_correlation, copy_bytes, on_host, on_device, has_irq);
  load(submit_ns, doorbell_ns, submit_end_ns, irq_ns, complete_ns, wake_ns);
  load(doorbell, fetched, first_start, last_end, completion, irq, doorbell_host, irq_host);
}

void LawPass::Load(size_t chunk) {
  const auto load = [this](size_t c) {
    CommandChunk& to = chunks_[c % kChunks];
    to.Load(model_.commands, c);
    if (c < next_) return;
    for (CommandLaw* law : command_laws_) law->OfCommands(to);
    ++next_;
  };
  // Also visit commands that belong to no job.
  while (next_ < chunk) load(next_);
  load(chunk);
}

void LawPass::Run() {
  const size_t jobs = model_.jobs.size(), commands = model_.commands.size();
  for (size_t first = 0; first < jobs; first += CommandChunk::kRows) {
    const size_t end = std::min(jobs, first + CommandChunk::kRows);
    if (job_laws_.empty()) break;
    jobs_.Load(first, end - first);
    for (size_t from = first; from < end; from += kJobs) {
      for (JobLaw* law : job_laws_) law->OfJobs(from, std::min(end, from + kJobs));
    }
  }
  while (next_ * CommandChunk::kRows < commands && !command_laws_.empty()) Load(next_);
}

}  // namespace acceltrace::analysis
