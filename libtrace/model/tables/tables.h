// SPDX-License-Identifier: Apache-2.0
//
// The tables of the model: the content of a trace, as columns.
//
// A row is an index, and all columns of a table have the same length; Columns() has all of them.
// Host times are CLOCK_MONOTONIC ns. A device time keeps its raw ticks and has an interval on the
// host's scale. Names of units, stalls, opcodes and counters come from Device and have no meaning
// here.
#ifndef LIBTRACE_MODEL_TABLES_TABLES_H_
#define LIBTRACE_MODEL_TABLES_TABLES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "libtrace/clock/estimator.h"
#include "libtrace/model/columns/column.h"
#include "libtrace/model/columns/interval_column.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::model {

using clock::DeviceTime;
using clock::Interval;

// An absent host time, and a row that does not exist.
inline constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();
inline constexpr uint32_t kNoRow = std::numeric_limits<uint32_t>::max();

// Times read from a device clock: clock::DeviceTime as columns. Differences of ticks are elapsed
// ticks only within one epoch: use Device::Duration, which takes that into account.
class DeviceTimes {
 public:
  Column<uint64_t> ticks;  // extended over wraps and announced jumps
  Column<uint32_t> epoch;  // clock::kNoEpoch: unknown
  IntervalColumn host;     // the same instants on the host's clock

  size_t size() const { return ticks.size(); }
  // Returns the ticks as the device wrote them.
  uint64_t RawTicks(size_t row) const { return ticks[row] - ahead_ticks_[row]; }
  clock::DeviceTime At(size_t row) const {
    return {RawTicks(row), ticks[row], epoch[row], host[row]};
  }
  void Set(size_t row, const clock::DeviceTime& time) {
    ticks.Set(row, time.ticks);
    ahead_ticks_.Set(row, time.ticks - time.raw_ticks);
    epoch.Set(row, time.epoch);
    host.Set(row, time.host);
  }
  // Adds only the raw ticks; Resize() adds the rest.
  void AddRaw(uint64_t raw_ticks) { ticks.push_back(raw_ticks); }
  void Resize(size_t rows) {
    ticks.resize(rows), ahead_ticks_.resize(rows);
    epoch.resize(rows, clock::kNoEpoch), host.Resize(rows);
  }
  // Keeps the raw ticks without host times, with all of them in one epoch.
  void KeepLate() { epoch.resize(ticks.size(), 0); }
  // Must be called when all are set.
  void Compact() { ticks.Compact(), ahead_ticks_.Compact(), epoch.Compact(), host.Compact(); }
  // Parts that are not filled yet stay empty.
  void Permute(const std::vector<uint32_t>& order) {
    const auto permute = [&](auto* column) {
      if (column->size() > 0) column->Permute(order);
    };
    permute(&ticks), permute(&ahead_ticks_), permute(&epoch), permute(&host);
  }

 private:
  friend class DeviceTimesChunk;

  Column<uint64_t> ahead_ticks_;  // relative to raw ticks
};

// Rows of DeviceTimes, processed by chunks: read as the device wrote them, then replaced.
class DeviceTimesChunk {
 public:
  static constexpr size_t kRows = Column<uint64_t>::kRows;

  explicit DeviceTimesChunk(DeviceTimes* times) : times_(times) {}

  // Reads rows [first, first + rows), which must exist.
  void Read(size_t first, size_t rows) {
    first_ = first, rows_ = rows;
    times_->ticks.Read(first, rows, raw_);
    times_->ahead_ticks_.Read(first, rows, ticks_);
    for (size_t i = 0; i < rows; ++i) raw_[i] -= ticks_[i];
  }
  uint64_t RawTicks(size_t row) const { return raw_[row - first_]; }
  void Set(size_t row, const clock::DeviceTime& time) {
    const size_t i = row - first_;
    raw_[i] = time.raw_ticks, ticks_[i] = time.ticks, epoch_[i] = time.epoch;
    mid_ns_[i] = time.host.mid_ns;
    before_ns_[i] = IntervalColumn::Apart(time.host.lo_ns, time.host.mid_ns);
    after_ns_[i] = IntervalColumn::Apart(time.host.mid_ns, time.host.hi_ns);
  }
  clock::DeviceTime At(size_t row) const {
    const size_t i = row - first_;
    const auto mid_ns = static_cast<uint64_t>(mid_ns_[i]);
    return {raw_[i],
            ticks_[i],
            epoch_[i],
            {static_cast<int64_t>(mid_ns - before_ns_[i]), mid_ns_[i],
             static_cast<int64_t>(mid_ns + after_ns_[i])}};
  }
  uint32_t EpochAt(size_t row) const { return epoch_[row - first_]; }
  uint64_t TicksAt(size_t row) const { return ticks_[row - first_]; }
  // Converts several rows at once, if the clock needs no windows.
  void Place(const clock::Map& clock, size_t row, size_t rows) {
    const size_t i = row - first_;
    clock.LocateAll({raw_ + i, rows},
                    {ticks_ + i, epoch_ + i, mid_ns_ + i, before_ns_ + i, after_ns_ + i});
  }
  // Must only be called if all rows were set.
  void Write() {
    times_->ticks.Write(first_, rows_, ticks_);
    for (size_t i = 0; i < rows_; ++i) raw_[i] = ticks_[i] - raw_[i];
    times_->ahead_ticks_.Write(first_, rows_, raw_);
    times_->epoch.Write(first_, rows_, epoch_);
    times_->host.Write(first_, rows_, mid_ns_, before_ns_, after_ns_);
  }

 private:
  DeviceTimes* times_;
  size_t first_ = 0, rows_ = 0;
  uint64_t raw_[kRows], ticks_[kRows], before_ns_[kRows], after_ns_[kRows];
  int64_t mid_ns_[kRows];
  uint32_t epoch_[kRows];
};

struct ApiCalls {
  Column<int64_t> begin_ns, end_ns;
  Column<uint32_t> pid, tid, name, stream;  // name: string id
  Column<uint64_t> correlation, bytes;
  Column<int32_t> result;
  Column<uint8_t> open;          // the end was never seen
  Column<uint8_t> began_before;  // begin_ns is a bound: the call was in progress at the start
  auto Columns() {
    return std::tie(begin_ns, end_ns, pid, tid, name, stream, correlation, bytes, result, open,
                    began_before);
  }
  size_t size() const { return begin_ns.size(); }
};

struct Ranges {
  Column<int64_t> begin_ns, end_ns;
  Column<uint32_t> pid, tid, name, depth;
  Column<uint8_t> mark, open, began_before;
  auto Columns() {
    return std::tie(begin_ns, end_ns, pid, tid, name, depth, mark, open, began_before);
  }
  size_t size() const { return begin_ns.size(); }
};

// A row for each event of the driver or the kernel. kind: proto::HostBatch::Kind.
template <template <typename> typename Of>
struct HostEventFields {
  Of<uint8_t> kind;
  Of<int64_t> time_ns;
  Of<uint32_t> cpu, pid, tid, device, context, queue, job;
  Of<uint64_t> sequence, correlation, arg0, arg1;
};

struct HostEvents : HostEventFields<Column> {
  // The number of further events that LoadOptions::checks_only omitted: each was alone at its time.
  uint64_t alone = 0;
  auto Columns() {
    return std::tie(kind, time_ns, cpu, pid, tid, device, context, queue, job, sequence,
                    correlation, arg0, arg1);
  }
  size_t size() const { return kind.size(); }
};

// A job: what the host and the device saw, joined by (device, job).
struct Jobs {
  Column<uint32_t> device, context, queue, job;
  Column<uint64_t> sequence;
  // The caller's id as reported by the device and by the driver; a difference is a finding.
  Column<uint64_t> correlation, host_correlation;
  Column<uint8_t> on_host, on_device;  // which side saw it
  Column<uint32_t> pid, tid;           // who submitted it
  Column<uint32_t> commands_submitted, commands_retired;
  Column<uint64_t> copy_bytes;  // the driver's count of what is to be copied
  Column<uint32_t> status;      // the first that is not 0, of device and host
  // Host side, kNoTime if not seen. irq: the handler that found the completion.
  Column<int64_t> submit_ns, doorbell_ns, submit_end_ns, irq_ns, complete_ns, wait_ns, wake_ns;
  // Device side, only if on_device; irq only if has_irq.
  DeviceTimes doorbell, fetched, first_start, last_end, completion, irq;
  Column<uint8_t> has_irq;
  Column<uint32_t> api_row;                      // the call that submitted it, or kNoRow
  Column<uint32_t> wait_api_row;                 // the call that waited for it, or kNoRow
  Column<uint32_t> first_command, num_commands;  // its rows in Commands
  auto Columns() {
    return std::tie(device, context, queue, job, sequence, correlation, host_correlation, on_host,
                    on_device, pid, tid, commands_submitted, commands_retired, copy_bytes, status,
                    submit_ns, doorbell_ns, submit_end_ns, irq_ns, complete_ns, wait_ns, wake_ns,
                    doorbell, fetched, first_start, last_end, completion, irq, has_irq, api_row,
                    wait_api_row, first_command, num_commands);
  }
  size_t size() const { return device.size(); }
};

// Orders between devices that the host enforced: a thread waited for a job of one device, then
// submitted one to the other. Both jobs are known to their devices.
struct DeviceOrders {
  Column<uint32_t> from_device, from_job, to_device, to_job;
  // From the first one's completion to the second one's doorbell. If all of the interval is below
  // zero, the clocks contradict the order.
  std::vector<Interval> slack;
  auto Columns() { return std::tie(from_device, from_job, to_device, to_job, slack); }
  size_t size() const { return from_device.size(); }
};

// The commands that devices executed, sorted by (device, job, index).
struct Commands {
  Column<uint32_t> device, unit, context, queue, job, index, opcode, status, limiter, tag;
  Column<uint64_t> correlation, record, work, bytes, memory_bytes;
  Column<uint32_t> row_hits, row_misses;
  DeviceTimes fetched, head, start, end;
  Column<uint32_t> first_stall;  // in Model::stall_ticks, one per cause; kNoRow: zeros
  Column<uint32_t> job_row;      // in Jobs, or kNoRow
  Column<uint32_t> op;           // string id of the op's name, 0 = none
  auto Columns() {
    return std::tie(device, unit, context, queue, job, index, opcode, status, limiter, tag,
                    correlation, record, work, bytes, memory_bytes, row_hits, row_misses, fetched,
                    head, start, end, first_stall, job_row, op);
  }
  size_t size() const { return device.size(); }
};

// A vocabulary of a device, whose words stand for numbers.
enum class DeviceNames : uint8_t { kNone, kUnits, kOpcodes, kStatuses, kLimiters };

// A column of commands with the values of the stream. Decoder, loaders, `query` and CSV take these
// columns from EachCommandColumn().
template <typename T>
struct CommandColumn {
  enum class Loaded : uint8_t {
    kChecked,  // with every command; the decoder checks it first
    kAlways,   // with every command
    kWanted,   // if it is wanted
  };

  std::string_view name;  // in `query` and CSV; empty: not shown
  Column<T> Commands::*values;
  uint32_t field;  // in proto::CommandBatch
  int block;       // proto::Block::Column
  Loaded loaded = Loaded::kWanted;
  bool of_laws = false;                    // verification needs it
  DeviceNames names = DeviceNames::kNone;  // shown instead of the values
};

namespace internal {
using Batch = proto::CommandBatch;
using Block = proto::Block;
using Narrow = CommandColumn<uint32_t>;
using Wide = CommandColumn<uint64_t>;
using enum Narrow::Loaded;
using enum DeviceNames;

// In the order in which they are shown.
inline constexpr std::tuple kCommandColumns = {
    Narrow{"job", &Commands::job, Batch::kJobFieldNumber, Block::COLUMN_JOB, kChecked, true},
    Narrow{"index", &Commands::index, Batch::kIndexFieldNumber, Block::COLUMN_INDEX, kAlways, true},
    Narrow{"context", &Commands::context, Batch::kContextFieldNumber, Block::COLUMN_CONTEXT,
           kWanted, true},
    Narrow{"queue", &Commands::queue, Batch::kQueueFieldNumber, Block::COLUMN_QUEUE, kWanted, true},
    Wide{"correlation", &Commands::correlation, Batch::kCorrelationDeltaFieldNumber,
         Block::COLUMN_CORRELATION, Wide::Loaded::kAlways, true},
    Narrow{"unit", &Commands::unit, Batch::kUnitFieldNumber, Block::COLUMN_UNIT, kChecked, true,
           kUnits},
    Narrow{"opcode", &Commands::opcode, Batch::kOpcodeFieldNumber, Block::COLUMN_OPCODE, kWanted,
           false, kOpcodes},
    Narrow{"tag", &Commands::tag, Batch::kTagFieldNumber, Block::COLUMN_TAG, kAlways},
    Narrow{"status", &Commands::status, Batch::kStatusFieldNumber, Block::COLUMN_STATUS, kWanted,
           true, kStatuses},
    Narrow{"limiter", &Commands::limiter, Batch::kLimiterFieldNumber, Block::COLUMN_LIMITER,
           kWanted, false, kLimiters},
    Wide{"work", &Commands::work, Batch::kWorkFieldNumber, Block::COLUMN_WORK},
    Wide{"bytes", &Commands::bytes, Batch::kBytesFieldNumber, Block::COLUMN_BYTES,
         Wide::Loaded::kWanted, true},
    Wide{"memory_bytes", &Commands::memory_bytes, Batch::kMemoryBytesFieldNumber,
         Block::COLUMN_MEMORY_BYTES},
    Narrow{"row_hits", &Commands::row_hits, Batch::kRowHitsFieldNumber, Block::COLUMN_ROW_HITS},
    Narrow{"row_misses", &Commands::row_misses, Batch::kRowMissesFieldNumber,
           Block::COLUMN_ROW_MISSES},
    Wide{"", &Commands::record, Batch::kRecordDeltaFieldNumber, Block::COLUMN_RECORD,
         Wide::Loaded::kChecked, true},
};
}  // namespace internal

// Columns() has these and eight others: device, four times, first_stall, job_row, op.
static_assert(std::tuple_size_v<decltype(Commands().Columns())> ==
              std::tuple_size_v<decltype(internal::kCommandColumns)> + 8);

// Calls each(const CommandColumn<T>&) for every column.
template <typename Each>
void EachCommandColumn(const Each& each) {
  std::apply([&](const auto&... column) { (each(column), ...); }, internal::kCommandColumns);
}

// Counter snapshots of one device in order of time. Each only takes memory for the counters that it
// has.
struct CounterSamples {
  struct Entry {
    uint32_t counter = 0, place = 0;  // place: among the values of the snapshot
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  static constexpr uint64_t kZeros = std::numeric_limits<uint64_t>::max();

  DeviceTimes time;
  Column<int64_t> host_before_ns, host_after_ns;  // kNoTime unless read by the driver
  size_t num_counters = 0;
  std::vector<std::vector<Entry>> sets;  // the counters that snapshots contain, sorted
  Column<uint32_t> set;                  // in `sets`, for each snapshot
  Column<uint64_t> first_value;          // in `value`, for each snapshot; kZeros: only zeros
  std::vector<uint64_t> value;

  auto Columns() { return std::tie(time, host_before_ns, host_after_ns, set, first_value); }
  size_t size() const { return time.size(); }
  // Returns the value of an entry of `sets[set[row]]`.
  uint64_t ValueAt(size_t row, const Entry& entry) const {
    return first_value[row] == kZeros ? 0 : value[first_value[row] + entry.place];
  }
  const Entry* Find(size_t row, size_t counter) const {
    const std::vector<Entry>& entries = sets[set[row]];
    const auto found =
        std::lower_bound(entries.begin(), entries.end(), counter,
                         [](const Entry& a, size_t wanted) { return a.counter < wanted; });
    return found == entries.end() || found->counter != counter ? nullptr : &*found;
  }
  bool Has(size_t row, size_t counter) const { return Find(row, counter) != nullptr; }
  uint64_t At(size_t row, size_t counter) const {
    const Entry* entry = Find(row, counter);
    return entry == nullptr ? 0 : ValueAt(row, *entry);
  }
};

// Events of processes and threads. kind: proto::ProcessEvents::Kind.
struct ProcessEvents {
  Column<uint8_t> kind;
  Column<int64_t> time_ns;
  Column<uint32_t> pid, tid, parent;
  auto Columns() { return std::tie(kind, time_ns, pid, tid, parent); }
  size_t size() const { return kind.size(); }
};

// Sums over commands of processes that were not recorded, between snapshots.
struct OthersUse {
  Column<uint32_t> device, unit, commands, failed;
  DeviceTimes first_head, last_end;
  Column<uint64_t> held_ticks, bytes;
  // One for each cause of the device, or empty if all are zero.
  std::vector<std::vector<uint64_t>> stall_ticks;
  auto Columns() {
    return std::tie(device, unit, commands, failed, first_head, last_end, held_ticks, bytes,
                    stall_ticks);
  }
  size_t size() const { return device.size(); }
};

struct DeviceEvents {
  Column<uint32_t> device, kind;  // proto::DeviceEventBatch::Kind
  DeviceTimes time;
  Column<uint64_t> arg0, arg1, arg2;
  auto Columns() { return std::tie(device, kind, time, arg0, arg1, arg2); }
  size_t size() const { return device.size(); }
};

struct Loss {
  uint32_t hop = 0;  // string id
  uint64_t count = 0;
  // On the host's clock; kNoTime if unknown. For device times, the most likely values.
  int64_t first_ns = kNoTime, last_ns = kNoTime;
  // For a device with a known clock.
  bool has_times = false;
  DeviceTime first, last;
  uint32_t device = 0;
  bool from_device = false;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_TABLES_H_
