// SPDX-License-Identifier: Apache-2.0
//
// Random histories of device clocks, as whole traces with the truth beside them: wraps,
// jumps and steps announced and unannounced, ramps, resets, lost samples and records.
//
//   const History history = MakeHistory(seed);
//   auto model = LoadHistory(history);            // through encoder, reader and model
//   const Verdict verdict = CheckTimes(*model, history);
#ifndef TESTS_SCORING_HISTORY_H_
#define TESTS_SCORING_HISTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "libtrace/model/model.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::scoring {

// A device clock whose count at each host time (ns) is known.
class TrueClock {
 public:
  TrueClock(double hz, uint32_t bits, uint64_t start_ticks, int64_t start_ns);

  // In order of time. From then on so many ticks per nominal tick, wandering.
  void SetRate(double at_ns, double ratio, double wander_ppm_per_s);
  void Jump(double at_ns, int64_t ticks);
  void Reset(double at_ns);  // the count is 0

  // What it shows.
  uint64_t Raw(double ns) const { return (Elapsed(ns) + OffsetAt(ns)) & mask_; }
  uint64_t RawBefore(double ns) const;  // right before a jump at that time
  // Whole ticks counted so far, whatever it shows.
  uint64_t Elapsed(double ns) const;
  double RatioAt(double ns) const;
  uint64_t mask() const { return mask_; }

 private:
  struct Piece {
    double from_ns = 0, ratio = 1, wander = 0;  // per s
    long double count = 0;
  };
  long double CountAt(double ns) const;
  uint64_t OffsetAt(double ns) const;

  double hz_;
  uint64_t mask_;
  int64_t start_ns_;
  std::vector<Piece> pieces_;
  std::vector<std::pair<double, uint64_t>> offsets_;
};

struct TrueCommand {
  double fetched = 0, head = 0, start = 0, end = 0;  // host ns
  double stalled = 0;                                // ns, beyond the wait for its start
  uint32_t unit = 0;
};
struct TrueJob {
  double doorbell = 0, fetched = 0, first_start = 0, last_end = 0, completion = 0, irq = 0;
  bool has_irq = true;
};

// What truly happened. Keys are as in the trace.
struct HistoryTruth {
  std::map<std::pair<uint32_t, uint32_t>, TrueJob> jobs;                     // device, job
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, TrueCommand> commands;  // and index
  // Device, kind, and arg0 (arg2 of clock events).
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, double> events;
  std::map<std::pair<uint32_t, uint64_t>, double> counters;  // device, value of counter 0
  std::map<std::pair<uint32_t, uint64_t>, std::pair<double, double>> losses;  // device, count
  std::vector<TrueClock> clocks;                                              // by device
};

struct History {
  uint64_t seed = 0;
  std::string text;  // what it is made of
  std::vector<proto::Packet> packets;
  HistoryTruth truth;
};

// harsh: up to twelve changes, unannounced ones beside others, records of announced ones lost as
// well, more losses on either side, uneven sampling, no samples in a row at the ends.
History MakeHistory(uint64_t seed, bool harsh = false);

// One of its clock samples was noted 2 to 50 us too early or too late. False: it has none.
bool PlantWrongSample(History* history);
// Whether the clock of a device says that one is, or is none.
bool IsWrongSampleFound(const model::Model& model);

// Through the encoder, the reader and the model's loader; null if it cannot be read.
std::unique_ptr<model::Model> LoadHistory(const History& history);

// The same of what lies between two fractions of its time, read as a part of a long trace is; null
// too where there is nothing.
std::unique_ptr<model::Model> LoadHistoryPart(const History& history, double from, double to);

struct Verdict {
  uint64_t times = 0, outside = 0, durations = 0, durations_outside = 0;
  uint64_t open = 0;                       // times whose epoch is not known
  uint64_t long_times = 0, long_open = 0;  // those of clocks that wrap once a second or less often
  std::string worst;                       // the time that is furthest outside
  double worst_ns = 0;
  std::vector<double> widths;  // of times with a known epoch, round trip of their device = 1
};

// Every device time of every table, and the durations of commands.
Verdict CheckTimes(const model::Model& model, const History& history);

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_HISTORY_H_
