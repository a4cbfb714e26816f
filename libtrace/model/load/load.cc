// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/load.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "libtrace/base/in_order.h"
#include "libtrace/model/load/checked_events.h"
#include "libtrace/model/load/collect_jobs.h"
#include "libtrace/model/load/convert.h"
#include "libtrace/model/load/convert_losses.h"
#include "libtrace/model/load/decode.h"
#include "libtrace/model/load/host_intake.h"
#include "libtrace/model/load/join.h"
#include "libtrace/model/load/late_times.h"
#include "libtrace/model/tables/command_rows.h"
#include "libtrace/model/tables/model.h"
#include "libtrace/model/tables/orders.h"
#include "libtrace/model/tables/parts.h"
#include "libtrace/model/tables/permute.h"
#include "libtrace/model/tables/wanted.h"
#include "libtrace/stream/file/read_ahead.h"

namespace acceltrace::model {
namespace {

// Each recorded job took more bytes than this, but a damaged trace could name one in each row.
constexpr uint64_t kFreeJobs = 32'768, kLeastJobBytes = 24;

// A process changes its name when it executes another program; the last name is kept.
void SortProcesses(std::vector<Process>* processes) {
  std::reverse(processes->begin(), processes->end());
  const auto key = [](const Process& process) { return std::tie(process.pid, process.tid); };
  std::stable_sort(processes->begin(), processes->end(),
                   [&](const Process& a, const Process& b) { return key(a) < key(b); });
  const auto last =
      std::unique(processes->begin(), processes->end(),
                  [&](const Process& a, const Process& b) { return key(a) == key(b); });
  processes->erase(last, processes->end());
}

void SortRanges(Ranges* ranges) {
  const auto order = RowsByKey(ranges->size(), [&](size_t row) {
    return std::make_tuple(ranges->begin_ns.At(row), ranges->depth.At(row),
                           ~ranges->end_ns.At(row));
  });
  PermuteRows(order, ranges);
}

// Events with the same time keep their order. Returns true if some may share their time.
bool SortHost(HostEvents* host) {
  bool shared = false;
  const auto never_falls = [&](size_t first, size_t rows, const int64_t* times_ns) {
    bool falls = false, same = false;
    for (size_t i = first == 0 ? 1 : 0; i < rows; ++i) {
      falls |= times_ns[i] < *(times_ns + i - 1), same |= times_ns[i] == *(times_ns + i - 1);
    }
    shared |= same;
    return !falls;
  };
  if (EachChunk(never_falls, host->time_ns)) return shared;
  PermuteRows(RowsByKey(host->size(), [&](size_t row) { return host->time_ns.At(row); }), host);
  return true;
}

// Calls each(first, end) for the rows of each time that more than one row has. Rows must be sorted
// by time.
template <typename Each>
void EachTimeShared(const Column<int64_t>& times_ns, const Each& each) {
  size_t begin = 0, end = 0;  // of the rows of one time
  const auto see = [&](size_t first, size_t rows, const int64_t* of) {
    bool any = false;
    for (size_t i = first == 0 ? 1 : 0; i < rows; ++i) any |= of[i] == *(of + i - 1);
    for (size_t i = first == 0 ? 1 : 0; any && i < rows; ++i) {
      if (of[i] != *(of + i - 1)) continue;
      if (end != first + i) {
        if (end > begin) each(begin, end);
        begin = first + i - 1;
      }
      end = first + i + 1;
    }
    return true;
  };
  EachChunk(see, times_ns);
  if (end > begin) each(begin, end);
}

// A run of the driver's interrupt handler whose jobs are in several blocks is recorded in each of
// them with the number of its jobs there. These are merged to one with the sum. Rows must be sorted
// by time.
void MergeHandlerRuns(HostEvents* host) {
  std::vector<uint32_t> merged;
  EachTimeShared(host->time_ns, [&](size_t begin, size_t end) {
    // The first run of each device and queue, if there are several runs.
    std::map<std::pair<uint32_t, uint32_t>, size_t> runs;
    size_t first = end;
    for (size_t row = begin; row < end; ++row) {
      if (host->kind.At(row) != proto::HostBatch::KIND_IRQ) continue;
      if (first == end) {
        first = row;
        continue;
      }
      const auto key = [&](size_t of) {
        return std::pair(host->device.At(of), host->queue.At(of));
      };
      if (runs.empty()) runs.emplace(key(first), first);
      const auto [known, fresh] = runs.try_emplace(key(row), row);
      if (fresh) continue;
      host->arg1[known->second] = host->arg1.At(known->second) + host->arg1.At(row);
      merged.push_back(static_cast<uint32_t>(row));
    }
  });
  if (merged.empty()) return;
  std::vector<uint32_t> kept;
  auto next = merged.begin();
  for (uint32_t row = 0; row < host->size(); ++row) {
    if (next != merged.end() && *next == row) {
      ++next;
    } else {
      kept.push_back(row);
    }
  }
  PermuteRows(kept, host);
}

// Drops the earlier events of jobs that were recorded in flight and again later. Rows must be in
// the order of the stream.
void DropRepeated(const Column<uint8_t>& in_flight, HostEvents* host) {
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
  const auto key = [&](size_t row) {
    return Key(host->device[row], host->job[row], host->kind[row]);
  };
  if (EachRow([](size_t, uint8_t is) { return is == 0; }, in_flight)) return;
  std::map<Key, size_t> newest;  // for jobs that were recorded in flight
  for (size_t row = 0; row < host->size(); ++row) {
    if (in_flight[row]) newest[key(row)] = row;
  }
  for (size_t row = 0; row < host->size(); ++row) {
    if (in_flight[row]) continue;
    if (const auto known = newest.find(key(row)); known != newest.end()) known->second = row;
  }
  std::vector<uint32_t> kept;
  kept.reserve(host->size());
  for (size_t row = 0; row < host->size(); ++row) {
    if (!in_flight[row] || newest[key(row)] == row) kept.push_back(static_cast<uint32_t>(row));
  }
  PermuteRows(kept, host);
}

void SortCounters(CounterSamples* samples) {
  const auto order = SortedRows(samples->size(), [&](uint32_t a, uint32_t b) {
    return std::make_tuple(samples->time.host[a].mid_ns, samples->time.ticks[a]) <
           std::make_tuple(samples->time.host[b].mid_ns, samples->time.ticks[b]);
  });
  PermuteRows(order, samples);
}

void SortDeviceEvents(DeviceEvents* events) {
  const auto order = SortedRows(events->size(), [&](uint32_t a, uint32_t b) {
    return std::make_tuple(events->device[a], events->time.host[a].mid_ns, events->time.ticks[a]) <
           std::make_tuple(events->device[b], events->time.host[b].mid_ns, events->time.ticks[b]);
  });
  PermuteRows(order, events);
}

// Columns that were filled row by row over a value for "not known" are wide enough for both.
void Compact(Model* model) {
  Jobs& jobs = model->jobs;
  for (auto* column : {&jobs.context, &jobs.queue, &jobs.pid, &jobs.tid, &jobs.commands_retired,
                       &jobs.status, &model->commands.job_row, &model->commands.op}) {
    column->Compact();
  }
  for (auto* column : {&jobs.on_device, &jobs.has_irq}) column->Compact();
  jobs.correlation.Compact();
}

void FindExtent(Model* model) {
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = std::numeric_limits<int64_t>::min();
  const auto see = [&](int64_t from, int64_t to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  };
  const auto see_all = [&](const Column<int64_t>& from, const Column<int64_t>& to) {
    const auto each = [&](size_t, int64_t first, int64_t last) { return see(first, last), true; };
    EachRow(each, from, to);
  };
  see_all(model->api.begin_ns, model->api.end_ns);
  see_all(model->ranges.begin_ns, model->ranges.end_ns);
  see_all(model->host.time_ns, model->host.time_ns);
  see_all(model->commands.fetched.host.mid_ns(), model->commands.end.host.mid_ns());
  // Other activity of the host may have begun earlier, but does not extend the trace's time.
  const ThreadRuns& runs = model->system.runs;
  const bool alone = begin > end;
  for (size_t i = 0; alone && i < runs.size(); ++i) see(runs.begin_ns[i], runs.end_ns[i]);
  if (begin <= end) {
    model->begin_ns = begin;
    model->end_ns = end;
  }
}

// in_order: nullptr to keep all host events; otherwise, they are processed as they arrive, and it
// becomes false if they were not in order. In that case, there is no model.
Result<std::unique_ptr<Model>> LoadOnce(stream::Reader* reader, const LoadOptions& options,
                                        bool part, bool* in_order) {
  auto model = std::make_unique<Model>();
  Decoder decoder(model.get());
  decoder.checks_only = options.checks_only;
  decoder.wanted = options.wanted;
  const auto intake = in_order == nullptr ? nullptr : std::make_unique<HostIntake>(&model->load);
  decoder.host_intake = intake.get();
  PartCounter parts;
  if (options.checks_only) reader->KeepTimes();
  const size_t threads = part ? 1 : Threads();  // parts are loaded in parallel
  stream::EachPacket(reader, threads, [&](const stream::PacketRead& read) {
    decoder.Add(read.packet, read.worth_bytes, read.columns);
    parts.Add(read.packet, read.written_rows);
    if (options.progress) options.progress(read.bytes);
    return decoder.rows() <= options.max_rows && (intake == nullptr || intake->in_order());
  });
  if (intake != nullptr && !(*in_order = intake->in_order())) return Status::Error("not in order");
  if (decoder.rows() > options.max_rows) {
    return Status::Error("the trace holds more than " + std::to_string(options.max_rows) +
                         " rows: record less at a time, or fewer events");
  }
  model->read = reader->stats();
  // What was not requested of a part is not missing.
  if (!part || options.wanted == nullptr) model->missing = parts.Done(model->read);
  decoder.FinishSystem();
  SortProcesses(&model->processes);
  SortApi(&model->api);
  decoder.FinishStacks();
  SortRanges(&model->ranges);
  DropRepeated(decoder.in_flight, &model->host);
  if (SortHost(&model->host)) MergeHandlerRuns(&model->host);
  HostJobs host_jobs =
      intake != nullptr ? intake->Done(&model->host) : CollectHostJobs(model->host, &model->load);
  const uint64_t jobs = host_jobs.size() + decoder.device_jobs.size();
  if (jobs > kFreeJobs + model->read.worth_bytes / kLeastJobBytes) {
    return Status::Error("the trace names " + std::to_string(jobs) + " jobs in " +
                         std::to_string(model->read.bytes) + " bytes: it is damaged, record again");
  }
  if (options.wanted == nullptr || options.wanted->device_times) {
    decoder.late_times = options.checks_only || options.wanted != nullptr;
    DeviceOrders orders;  // in order: of one device
    if (intake == nullptr) orders = FindOrders(model->host);
    if (options.checks_only && intake == nullptr) KeepChecked(&model->host);
    ConvertTimes(host_jobs, std::move(orders), part, &decoder, model.get());
    model->commands.record = {}, decoder.device_jobs.record = {};  // not needed below
  } else {
    decoder.CountRepeatedRecords(false);
    if (!ConvertLosses(&decoder, model.get())) {
      return Status::Error("losses have times of a device");
    }
  }
  model->load.duplicate_commands += SortCommands(&model->commands);
  SortDeviceEvents(&model->device_events);
  for (Device& device : model->devices) SortCounters(&device.counters);
  JoinJobs(&decoder.device_jobs, &host_jobs, options.checks_only ? nullptr : &decoder.op_names,
           options.wanted != nullptr && !options.wanted->jobs, model.get());
  if (decoder.late_times) AttachLate(model.get());
  if (!part && options.wanted != nullptr) PlaceLate(options.wanted->placed, model.get());
  Compact(model.get());
  // For a part, the caller sets the extent.
  if (!options.checks_only && options.wanted == nullptr) FindExtent(model.get());
  return model;
}

}  // namespace

void SortApi(ApiCalls* api) {
  if (AllRise(api->begin_ns)) return;
  const auto order = RowsByKey(api->size(), [&](size_t row) {
    return std::pair(api->begin_ns.At(row), ~api->end_ns.At(row));
  });
  PermuteRows(order, api);
}

Result<std::unique_ptr<Model>> Load(stream::Reader* reader, const LoadOptions& options) {
  return LoadRows(reader, options, false);
}

Result<std::unique_ptr<Model>> LoadRows(stream::Reader* reader, const LoadOptions& options,
                                        bool part) {
  const bool may_be_in_order = options.checks_only && options.wanted == nullptr && !part;
  if (!may_be_in_order || !reader->CanReadAgain()) return LoadOnce(reader, options, part, nullptr);
  bool in_order = true;
  Result<std::unique_ptr<Model>> model = LoadOnce(reader, options, part, &in_order);
  if (in_order) return model;
  Result<std::unique_ptr<stream::Reader>> again = reader->Again();
  if (!again.ok()) return again.status();
  return LoadOnce(again->get(), options, part, nullptr);
}

Result<std::unique_ptr<Model>> LoadFile(const std::string& path, const LoadOptions& options) {
  Result<std::unique_ptr<stream::Reader>> reader = stream::Reader::Open(path);
  if (!reader.ok()) return reader.status();
  return Load(reader->get(), options);
}

}  // namespace acceltrace::model
