// SPDX-License-Identifier: Apache-2.0
//
// Converts packets to columns, in order of arrival. Internal.
#ifndef LIBTRACE_MODEL_LOAD_DECODE_H_
#define LIBTRACE_MODEL_LOAD_DECODE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "libtrace/model/columns/record_numbers.h"
#include "libtrace/model/columns/run_column.h"
#include "libtrace/model/tables/model.h"
#include "libtrace/stream/columns/table_rows.h"

namespace acceltrace::model {

class HostIntake;
class RowIntake;
class RowNumbers;

// A job as the device reported it, before it is joined with the host's side.
struct DeviceJobs {
  Column<uint32_t> device, context, queue, job, commands, status;
  Column<uint64_t> correlation;
  DeviceTimes doorbell, fetched, first_start, last_end, completion, irq;
  Column<uint8_t> has_irq;
  Column<uint64_t> record;
  RunColumn<int64_t> near_ns;  // see Decoder::near
  size_t size() const { return device.size(); }
};

// Host times close to rows of device times: the preceding clock sample in the stream. Before the
// first sample, it is that one if the recording began shortly before it, else Map::kNoHint.
struct Near {
  RunColumn<int64_t> commands, device_events, others;
  std::vector<RunColumn<int64_t>> counters;  // by device row
  std::vector<std::vector<int64_t>> losses;  // by batch, by device row
};

// Reads packets in order. Device times only have ticks afterwards.
class Decoder {
 public:
  explicit Decoder(Model* model) : model_(model) {}

  bool checks_only = false;           // LoadOptions::checks_only
  const Wanted* wanted = nullptr;     // LoadOptions::wanted
  HostIntake* host_intake = nullptr;  // takes host events instead of Model::host
  // If possible, device times are placed on the host's clock only when they are read.
  bool late_times = false;

  // bytes: of the stream up to the end of the packet. columns: its stream::Reader::columns().
  void Add(const proto::Packet& packet, uint64_t bytes, const stream::TableRows* columns);
  uint64_t rows() const { return rows_; }
  // Must be called after the last packet: assigns samples to their counters and sorts rows.
  void FinishSystem();
  // Must be called when the API calls are sorted.
  void FinishStacks();
  // Counts LoadStats::duplicate_records. Must be called after the last packet, while tables are in
  // the order of arrival. rise: the numbers are known to rise over all tables.
  void CountRepeatedRecords(bool rise);
  // Returns true if some losses have device times.
  bool HasDeviceLosses() const;
  // Returns the row of a device by its number in the trace, or kNoRow.
  uint32_t DeviceRow(uint32_t number) const;

  DeviceJobs device_jobs;
  Column<uint8_t> in_flight;              // rows of Model::host about a job in flight
  std::vector<clock::MapBuilder> clocks;  // by device row
  // Constraints on devices' clocks from snapshots that the driver read, by device row.
  std::vector<std::vector<clock::Constraint>> latched;
  Near near;
  // The first clock sample of each batch, by device row, in order of the stream.
  std::vector<std::vector<int64_t>> batch_samples_ns;
  // The device's own record numbers, or 0 if the trace has none.
  Column<uint64_t> event_records;
  // Commands whose stalls exceed their duration in raw ticks; nullopt if those do not tell for all
  // of them.
  std::optional<uint64_t> long_stalls = 0;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> op_names;  // (pid, tag) to string id
  std::vector<proto::LossBatch> losses;  // kept until device times can be converted

 private:
  void AddDevice(const proto::Device& device);
  void AddStrings(const proto::Strings& strings);
  void AddProcesses(const proto::Processes& batch, size_t rows);
  void AddOpNames(const proto::OpNames& batch, size_t rows);
  void AddLosses(const proto::LossBatch& batch);
  void AddApi(const stream::TableRows& rows);
  void AddRanges(const proto::RangeBatch& batch, size_t rows);
  void AddHost(const stream::TableRows& rows);
  void AddCommands(uint32_t device, const stream::TableRows& rows);
  void AddStalls(size_t causes, const stream::TableRows& rows, const RowNumbers& held,
                 RowIntake* intake);
  bool AddNarrowStalls(const stream::TableRows& rows, const RowNumbers& held,
                       const RowIntake& intake);
  void NoteLongStalls(std::optional<uint64_t> more);
  void AddJobs(uint32_t device, const stream::TableRows& rows);
  // For rows that are appended to a table with `before` rows.
  void NoteRecords(uint32_t device, RecordNumbers::Table table, const stream::TableRows& rows,
                   const RowNumbers& records, size_t before, size_t kept);
  void AddCounters(const proto::CounterBatch& batch, size_t rows);
  uint32_t SetOf(const proto::CounterBatch& batch, size_t rows, CounterSamples* samples);
  void AddClocks(const proto::ClockBatch& batch, size_t rows);
  void ThinClocks(uint64_t bytes);
  void HintBefore(uint32_t row, int64_t first_sample_ns);
  void AddDeviceEvents(const proto::DeviceEventBatch& batch, size_t rows);
  void AddProcessEvents(const proto::ProcessEvents& batch, size_t rows);
  void AddOthers(const proto::OthersBatch& batch, size_t rows);
  void AddThreadRuns(const proto::ThreadRunBatch& batch, size_t rows);
  void AddInterrupts(const proto::InterruptBatch& batch, size_t rows);
  void AddSystemCounters(const proto::SystemCounters& batch, size_t rows);
  void AddSystemSamples(const proto::SystemSamples& batch, size_t rows);
  void AddProcessGroups(const proto::ProcessGroups& batch, size_t rows);
  void AddStackFrames(const proto::StackFrames& batch, size_t rows);
  void AddCallStacks(const proto::CallStacks& batch, size_t rows);
  // Returns the row for 1 + a device's number, or kNoRow.
  uint32_t RowOfOther(uint32_t device) const {
    return device == 0 ? kNoRow : DeviceRow(device - 1);
  }
  struct FrameRow {
    uint32_t stack, place;
    Frame frame;
  };
  struct CallRow {
    uint64_t correlation;
    int64_t time_ns;
    uint32_t stack;
  };

  Model* model_;
  std::deque<FrameRow> stack_frames_;
  std::deque<CallRow> call_stacks_;
  uint64_t rows_ = 0;
  uint64_t cells_ = 0;  // of all devices: units x (causes + 1)
  std::map<uint32_t, uint32_t> device_rows_;
  std::vector<int64_t> last_sample_ns_;  // by device row
  RecordNumbers records_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_DECODE_H_
