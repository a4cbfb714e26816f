// SPDX-License-Identifier: Apache-2.0
//
// What is happening in a stream now: sums between two points in time.
//
// No model is built: each packet is added up as it arrives and then discarded, so that memory is
// bounded however long the stream is. A device reports a command when it has ended, so that a long
// command counts in the interval in which it ends. The history shows it where it ran.
#ifndef LIBTRACE_VIEW_TEXT_LIVE_H_
#define LIBTRACE_VIEW_TEXT_LIVE_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns/table_rows.h"

namespace acceltrace::view {

struct LiveEngine {
  std::string device, unit;
  double busy = 0;  // of the interval
  uint64_t commands = 0;
  std::string cause;  // what stalled it most; empty if nothing did
  double cause_share = 0;
  // Only for units that transfer.
  bool transfers = false, to_device = false;
  double bytes_per_s = 0, running_bytes_per_s = 0, ceiling_bytes_per_s = 0;  // 0 if not known
  uint64_t bytes = 0;
  std::vector<float> history;  // busy shares of earlier intervals, the oldest first
};

struct LiveQueue {
  std::string device;
  uint32_t queue = 0;
  uint64_t in_flight = 0, submitted = 0, completed = 0;
};

struct LiveProcess {
  uint32_t pid = 0;  // 0: contexts whose process is not known
  std::string name;
  double device_ns = 0, share = 0;  // in the interval, summed over units
  uint64_t jobs = 0, memory_bytes = 0;
  std::string container;  // its container (model/tables/container.h)
};

struct LiveFrame {
  int64_t start_ns = 0, begin_ns = 0, end_ns = 0;  // recording's start; interval
  std::string command, host;
  uint64_t rows = 0;  // events of all kinds in the interval
  std::vector<LiveEngine> engines;
  std::vector<LiveQueue> queues;                         // the fullest first
  std::vector<LiveProcess> processes;                    // sorted by device time, then by memory
  std::vector<std::pair<std::string, uint64_t>> losses;  // of the whole stream so far, by hop
  bool ended = false;                                    // the footer has been read
  // The tracer's share, if it is known: from the accounts, or set by a caller that knows it.
  double tracer_cpu_share = -1;
  uint64_t stream_bytes = 0, missed_packets = 0, bad_packets = 0;
  double Seconds() const { return static_cast<double>(end_ns - begin_ns) / 1e9; }
};

class LiveState {
 public:
  static constexpr size_t kHistory = 24;

  // rows: stream::Reader::columns() of the packet.
  void Add(const proto::Packet& packet, const stream::TableRows* rows);
  // The latest host time in the stream.
  int64_t now_ns() const { return now_ns_; }
  // Returns what happened since the last call, or with Whole() in the whole stream so far.
  LiveFrame Cut();
  LiveFrame Whole() const;

 private:
  struct Sums {
    double busy_ns = 0;
    uint64_t commands = 0, bytes = 0;
    std::vector<double> stall_ns;
    void Clear();
  };
  struct Unit {
    Sums now, all;
    std::array<float, kHistory> history{};  // in ns, the latest last
  };
  struct Device {
    proto::Device about;
    std::vector<Unit> units;
    int64_t sample_ns = 0;  // host time and ticks of a clock sample
    uint64_t sample_ticks = 0;
    bool sampled = false;
    double ns_per_tick = 1;
  };
  struct Queue {
    uint64_t submitted_to = 0, completed_to = 0;  // sequence numbers
    bool submitted_any = false, completed_any = false;
    uint64_t submitted = 0, completed = 0, all_submitted = 0, all_completed = 0;
  };
  struct Context {
    uint32_t pid = 0;
    double now_ns = 0, all_ns = 0;
    uint64_t now_jobs = 0, all_jobs = 0;
    int64_t memory_bytes = 0;
  };
  using Key = std::pair<uint32_t, uint32_t>;  // device, and a number within it

  void See(int64_t time_ns);
  void AddDevice(const proto::Device& device);
  void AddStrings(const proto::Strings& strings);
  void AddProcesses(const proto::Processes& processes);
  void AddGroups(const proto::ProcessGroups& groups);
  void EachTime(const stream::TableRows& rows, int column);
  void AddHost(const stream::TableRows& rows);
  void AddCommands(uint32_t device, const stream::TableRows& rows);
  void AddClocks(const proto::ClockBatch& batch);
  void AddLosses(const proto::LossBatch& batch);
  void AddHistory(Device* device, Unit* unit, uint64_t end_ticks, double length_ns);
  void Shift();
  LiveFrame Frame(bool whole) const;
  void AddEngines(bool whole, LiveFrame* frame) const;
  void AddProcesses(bool whole, LiveFrame* frame) const;
  Context* ContextOf(uint32_t device, uint32_t context);
  std::string DeviceName(uint32_t device) const;

  proto::TraceInfo info_;
  proto::Accounts accounts_;
  bool ended_ = false;
  int64_t first_ns_ = 0, cut_ns_ = 0, now_ns_ = 0;
  std::array<double, kHistory> interval_lengths_ns_{};
  uint64_t rows_ = 0, all_rows_ = 0;
  std::map<uint32_t, std::string> strings_;
  std::map<uint32_t, std::string> names_;         // of processes
  std::map<uint32_t, std::string> containers_;    // by string id
  std::map<uint32_t, std::string> container_of_;  // by pid
  std::map<uint32_t, Device> devices_;
  std::map<Key, Queue> queues_;
  std::map<Key, Context> contexts_;
  std::map<std::string, uint64_t> losses_;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TEXT_LIVE_H_
