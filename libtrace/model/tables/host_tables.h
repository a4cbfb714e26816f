// SPDX-License-Identifier: Apache-2.0
//
// What the kernel reports about threads and the machine (libtrace/proto/host.proto), as columns.
#ifndef LIBTRACE_MODEL_TABLES_HOST_TABLES_H_
#define LIBTRACE_MODEL_TABLES_HOST_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "libtrace/model/columns/column.h"

namespace acceltrace::model {

// A thread on a CPU, and before: from begin_ns - away_ns on, it was in state `away`, then runnable
// for ready_ns. Times of CLOCK_MONOTONIC; names are string ids.
struct ThreadRuns {
  Column<int64_t> begin_ns, end_ns;
  Column<uint32_t> pid, tid, cpu;
  Column<uint8_t> away, left;  // proto::ThreadRunBatch::State
  Column<uint64_t> away_ns, ready_ns;
  Column<uint32_t> waker_pid, waker_tid, wait;
  Column<uint8_t> waker_irq, began_before;
  Column<uint64_t> charged_ns, minor_faults, major_faults, migrations, voluntary, involuntary;
  auto Columns() {
    return std::tie(begin_ns, end_ns, pid, tid, cpu, away, left, away_ns, ready_ns, waker_pid,
                    waker_tid, wait, waker_irq, began_before, charged_ns, minor_faults,
                    major_faults, migrations, voluntary, involuntary);
  }
  size_t size() const { return begin_ns.size(); }
  int64_t AwayNs(size_t row) const { return begin_ns[row] - static_cast<int64_t>(away_ns[row]); }
};

// Sums over the interrupts with a kind and number on a CPU, from begin_ns to end_ns.
struct Interrupts {
  Column<int64_t> begin_ns, end_ns;
  Column<uint8_t> kind;  // proto::InterruptBatch::Kind
  Column<uint32_t> cpu, number, name;
  Column<uint64_t> count, total_ns, longest_ns, hits, hit_ns;
  Column<uint32_t> device;  // row of Model::devices, or kNoRow
  auto Columns() {
    return std::tie(begin_ns, end_ns, kind, cpu, number, name, count, total_ns, longest_ns, hits,
                    hit_ns, device);
  }
  size_t size() const { return begin_ns.size(); }
};

struct SystemCounter {
  uint32_t counter = 0;                                 // number in samples
  uint32_t source = 0, name = 0, object = 0, unit = 0;  // string ids
  bool total = false;                                   // if true, only differences are meaningful
  uint32_t device = 0;                                  // row of Model::devices, or kNoRow
};

struct SystemSamples {
  Column<int64_t> time_ns;
  Column<uint32_t> counter;  // position in SystemTables::counters
  Column<uint64_t> value;
  auto Columns() { return std::tie(time_ns, counter, value); }
  size_t size() const { return time_ns.size(); }
};

struct ProcessGroup {
  int64_t time_ns = 0;
  uint32_t pid = 0, group = 0;  // string id
};

// A location in a program's code.
struct Frame {
  uint32_t object = 0, build_id = 0;  // string ids; if both are 0, offset is an address
  uint64_t offset = 0;                // in the file
};

// Stacks of API calls, identified by position.
struct Stacks {
  std::vector<uint32_t> first;  // first frame of each stack, followed by the total number
  std::vector<Frame> frames;    // of each stack, innermost first
  Column<uint32_t> of_call;     // for each of Model::api: stack or kNoStack; empty without stacks
  static constexpr uint32_t kNoStack = 0xffffffff;
  size_t size() const { return first.empty() ? 0 : first.size() - 1; }
};

struct SystemTables {
  ThreadRuns runs;                      // by (pid, tid, end)
  Interrupts interrupts;                // by (kind, number, cpu, end)
  std::vector<SystemCounter> counters;  // by number
  SystemSamples samples;                // by (counter, time)
  std::vector<ProcessGroup> groups;     // by (pid, time)
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_HOST_TABLES_H_
