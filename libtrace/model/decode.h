// SPDX-License-Identifier: Apache-2.0
//
// Packets to columns, in order of arrival. Internal.
#ifndef LIBTRACE_MODEL_DECODE_H_
#define LIBTRACE_MODEL_DECODE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "libtrace/model/model.h"
#include "libtrace/model/record_numbers.h"
#include "libtrace/model/run_column.h"
#include "libtrace/stream/table_rows.h"

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

// Host times not far from rows of device times: the clock sample before them in
// the stream; before the first that one, if the recording began shortly before it,
// else Map::kNoHint.
struct Near {
  RunColumn<int64_t> commands, device_events, others;
  std::vector<RunColumn<int64_t>> counters;  // by device row
  std::vector<std::vector<int64_t>> losses;  // by batch, by device row
};

// Reads packets one after the other; device times have ticks only.
class Decoder {
 public:
  explicit Decoder(Model* model) : model_(model) {}

  bool checks_only = false;           // LoadOptions::checks_only
  const Wanted* wanted = nullptr;     // LoadOptions::wanted
  HostIntake* host_intake = nullptr;  // takes host events instead of Model::host
  // Device times are placed on the host's clock once they are asked for, where that can be.
  bool late_times = false;

  // bytes: of the stream up to the end of the packet. columns: stream::Reader::columns() of it.
  void Add(const proto::Packet& packet, uint64_t bytes, const stream::TableRows* columns);
  uint64_t rows() const { return rows_; }
  // After the last packet: samples find their counters, rows their order.
  void FinishSystem();
  // Once the API calls are in order.
  void FinishStacks();
  // After the last packet, while tables are as they came: what LoadStats says of record numbers.
  // rise: over all tables, as somebody found.
  void CountRepeatedRecords(bool rise);
  // Of some losses it was the device that said when.
  bool HasDeviceLosses() const;
  // The row of a device by its number in the trace, or kNoRow.
  uint32_t DeviceRow(uint32_t number) const;

  DeviceJobs device_jobs;
  Column<uint8_t> in_flight;              // rows of Model::host about a job in flight
  std::vector<clock::MapBuilder> clocks;  // by device row
  // What snapshots read through the driver show of their device's clock, by device row.
  std::vector<std::vector<clock::Constraint>> latched;
  Near near;
  // The first clock sample of each batch of them, by device row, in order of the stream.
  std::vector<std::vector<int64_t>> batch_samples_ns;
  // The device's own numbers of its records, 0 where the trace has none.
  Column<uint64_t> event_records;
  // Commands whose stalls are longer than they took, by the ticks as they came; nullopt: these do
  // not say so of all.
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
  // Of rows that are added to a table which has so many before them.
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
  // 1 + a device's number to its row, or kNoRow.
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

#endif  // LIBTRACE_MODEL_DECODE_H_
