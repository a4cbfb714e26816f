// SPDX-License-Identifier: Apache-2.0
//
// A device of a random history and its activity. Internal; include history.h instead.
#ifndef TESTS_SCORING_HISTORY_MACHINE_H_
#define TESTS_SCORING_HISTORY_MACHINE_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "libtrace/clock/estimator.h"
#include "tests/scoring/history.h"

namespace acceltrace::scoring {

// A change of the clock, and its announcement.
struct Event {
  double at_ns = 0;
  uint32_t kind = 0;  // proto::DeviceEventBatch::Kind
  uint64_t arg0 = 0, arg1 = 0, queue = 0, id = 0;
  bool lost = false;  // its record
};

struct CommandRow {
  TrueCommand truth;
  uint32_t job = 0, index = 0;
  double made_ns = 0;
  uint64_t record = 0;
};

struct JobRow {
  TrueJob truth;
  uint32_t job = 0, queue = 0, commands = 0;
  double made_ns = 0;
  uint64_t record = 0;
};

struct HostRow {
  double at_ns = 0;
  uint32_t kind = 0, device = 0, job = 0, queue = 0;
  uint64_t arg0 = 0, arg1 = 0;
};

struct LossRow {
  double first_ns = 0, last_ns = 0;
  uint64_t count = 0;
  double made_ns = 0;
};

// One device of a history.
struct Machine {
  uint32_t number = 0;
  double hz = 1e9, end_ns = 0, ppm = 0, ratio = 1;
  uint32_t bits = 64;
  bool ptm = false;
  double request_ns = 300, return_ns = 300, jitter_ns = 20;
  double slow_share = 0;
  std::vector<TrueClock> clock;  // one
  std::vector<Event> events;
  std::vector<clock::Sample> samples;
  std::vector<std::tuple<uint64_t, int64_t, int64_t>> latches;  // ticks, before, after
  std::vector<std::pair<double, uint64_t>> counters;            // when, serial
  std::vector<JobRow> jobs;
  std::vector<CommandRow> commands;
  std::vector<LossRow> losses;
  const TrueClock& c() const { return clock.front(); }
};

// By device and index among its events.
using EventRecords = std::map<std::pair<uint32_t, size_t>, uint64_t>;

// Writes the packets in the order of a stream, and the truth of their rows.
void WritePackets(const std::vector<Machine>& machines, std::vector<HostRow> host,
                  const EventRecords& event_records, double end_ns, History* history);

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_HISTORY_MACHINE_H_
