// SPDX-License-Identifier: Apache-2.0
//
// A trace in memory: everything that analyses and views read.
#ifndef LIBTRACE_MODEL_TABLES_MODEL_H_
#define LIBTRACE_MODEL_TABLES_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/model/tables/host_tables.h"
#include "libtrace/model/tables/tables.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns/validate.h"
#include "libtrace/stream/file/reader.h"

namespace acceltrace::model {

// Strings by the ids of the trace. Unknown ids have an empty string.
class StringTable {
 public:
  // Names are limited because one is printed for each row that has it.
  static constexpr size_t kMaxNameBytes = 1024;

  // Truncates values to kMaxNameBytes.
  void Set(uint32_t id, const std::string& value);
  const std::string& Get(uint32_t id) const;

 private:
  std::unordered_map<uint32_t, std::string> strings_;
};

struct Process {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t name = 0;  // string id
};

struct Device {
  proto::Device about;      // identity and vocabulary
  clock::Map clock;         // raw ticks to host time; if it is not valid, see clock_error
  std::string clock_error;  // why the clock could not be fitted
  CounterSamples counters;
  uint64_t clock_samples = 0;
  // Indexes of `about` by name and by number; the first entry counts.
  std::map<std::string, size_t, std::less<>> counter_rows;
  std::unordered_map<uint32_t, int> opcode_rows;

  const std::string& UnitName(uint32_t unit) const;
  const std::string& OpcodeName(uint32_t opcode) const;
  const std::string& StatusName(uint32_t status) const;
  const std::string& LimiterName(uint32_t limiter) const;
  // Returns the word for a number; it must not be kNone.
  const std::string& NameOf(DeviceNames names, uint32_t number) const;
  bool IsDma(uint32_t unit) const;
  // From one time of this device to a later one, in ns: see clock::Map. Without a usable clock, the
  // bounds are zero and unbounded.
  Interval Duration(const DeviceTime& begin, const DeviceTime& end) const;
  Interval Length(uint64_t lo_ticks, uint64_t hi_ticks, const DeviceTime& from,
                  const DeviceTime& to) const;
};

struct Wanted;

// What is wrong with the rows of a trace; each of these is a finding.
struct LoadStats {
  uint64_t unknown_device_rows = 0;  // rows of a device that was never described
  uint64_t bad_rows = 0;             // unit, job or size outside the limits of the device
  uint64_t duplicate_commands = 0;   // (device, job, index) seen before
  uint64_t duplicate_jobs = 0;       // (device, job) seen before on one side
  uint64_t duplicate_records = 0;    // a device's record number seen before
  uint64_t disordered_rows = 0;      // record numbers that do not rise within their table
  uint64_t unconverted_times = 0;    // device times of a device without clock samples
  uint64_t long_stalls = 0;          // commands whose stalls exceed their duration
};

// What was written but is missing from the file, according to the index in its footer, if any, and
// to the accounts.
struct Missing {
  struct Part {
    uint32_t body = 0;  // field number in proto::Packet
    uint64_t packets = 0, rows = 0;
  };
  std::vector<Part> parts;
  bool anything = false;         // packets of unknown kinds, in an unknown number
  uint64_t unknown_packets = 0;  // in the file, but not in the index
  uint64_t rows = 0;             // missing according to the accounts, in addition to those of parts
};

// What a selection omitted (select.h).
struct Cut {
  std::string text;           // "process 112, from 1.5 ms"; empty if everything was selected
  uint64_t rows = 0, of = 0;  // number of rows kept, and of all
  bool by_job = false;        // jobs were selected by their origin, so that counters include others
  bool any() const { return !text.empty(); }
};

// Devices are identified by their position in `devices`, not by their number in the trace.
struct Model {
  proto::TraceInfo info;
  bool has_info = false;
  proto::Accounts accounts;
  bool has_accounts = false;
  stream::ReadStats read;
  LoadStats load;
  Missing missing;
  Cut cut;

  StringTable strings;
  std::vector<Process> processes;  // sorted by (pid, tid)
  std::vector<Device> devices;

  ApiCalls api;                  // by begin
  Ranges ranges;                 // by begin, outer first
  HostEvents host;               // by time
  Jobs jobs;                     // by (device, job)
  Commands commands;             // by (device, job, index)
  Column<uint64_t> stall_ticks;  // see Commands::first_stall
  Column<uint64_t> no_stalls{stream::kMaxStalls, 0};
  DeviceOrders orders;           // by submission
  DeviceEvents device_events;    // by (device, ticks)
  OthersUse others;              // in order of arrival
  ProcessEvents process_events;  // in order of arrival
  SystemTables system;           // reported by the host's kernel
  Stacks stacks;                 // of API calls
  std::vector<Loss> losses;

  // First and last host time in the trace; 0, 0 if it is empty.
  int64_t begin_ns = 0, end_ns = 0;

  // Stall ticks of a command by cause, for all causes of its device.
  ColumnIterator<Column<uint64_t>> Stalls(size_t command) const {
    const uint32_t first = commands.first_stall[command];
    return first == kNoRow ? no_stalls.begin() : stall_ticks.begin() + first;
  }
  // Returns the ticks of a command that were neither idle nor stalled, or nullopt if its duration
  // in ticks is not known because the clock was set meanwhile.
  std::optional<uint64_t> BusyTicks(size_t command) const;
  // Returns the program's name for a command, or the name of its opcode if it has none.
  const std::string& OpName(size_t command) const;
  std::string ProcessName(uint32_t pid) const;
  std::string ThreadName(uint32_t pid, uint32_t tid) const;
};

struct LoadOptions {
  // Traces with more rows than this are refused. In addition, the numbers of rows and jobs are
  // limited by the number of bytes (kFreeRows of stream/columns/validate.h, kFreeJobs of load.cc),
  // so that a small damaged file cannot use up the machine's memory.
  uint64_t max_rows = 100'000'000;
  // Only for analysis::ComputeVerification(): columns that no law reads stay empty, and device
  // times are only converted to the host's clock when they are read, if their ticks alone determine
  // them.
  bool checks_only = false;
  // What has to be loaded; nullptr means all. Must outlive the call. Errors in rows that are read
  // are counted in any case.
  const Wanted* wanted = nullptr;
  // Called from time to time with the number of bytes read so far.
  std::function<void(uint64_t bytes)> progress;
};

// Reads a whole trace. Damage is skipped and counted in Model::read; the only errors are those of
// the reader and max_rows.
Result<std::unique_ptr<Model>> Load(stream::Reader* reader, const LoadOptions& options = {});
// path: as for stream::Reader::Open.
Result<std::unique_ptr<Model>> LoadFile(const std::string& path, const LoadOptions& options = {});

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_MODEL_H_
