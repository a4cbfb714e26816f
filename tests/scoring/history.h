// SPDX-License-Identifier: Apache-2.0
//
// Random histories of device clocks, as whole traces with the truth: wraps, jumps and steps
// announced and unannounced, ramps, resets, lost samples and records.
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

#include "libtrace/model/tables/model.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::scoring {

// A device clock whose count is known at each host time (ns).
class TrueClock {
 public:
  TrueClock(double hz, uint32_t bits, uint64_t start_ticks, int64_t start_ns);

  // Call in order of time. From then on the clock has this ratio to the nominal rate, and wanders.
  void SetRate(double at_ns, double ratio, double wander_ppm_per_s);
  void Jump(double at_ns, int64_t ticks);
  void Reset(double at_ns);  // the count is 0

  // The value that the clock shows.
  uint64_t Raw(double ns) const { return (Elapsed(ns) + OffsetAt(ns)) & mask_; }
  uint64_t RawBefore(double ns) const;  // right before a jump at that time
  // Whole ticks counted so far, whatever the clock shows.
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

// The true times, with the keys of the trace.
struct HistoryTruth {
  std::map<std::pair<uint32_t, uint32_t>, TrueJob> jobs;                     // device, job
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, TrueCommand> commands;  // and index
  // By device, kind, and arg0 (arg2 of clock events).
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

// harsh: up to twelve changes, unannounced ones close to others, lost records of announced ones,
// more losses on either side, uneven sampling, no samples in a row at the ends.
History MakeHistory(uint64_t seed, bool harsh = false);

// Shifts one clock sample by 2 to 50 us. Returns false if there is no sample.
bool PlantWrongSample(History* history);
// Whether the model reports a wrong sample of some device's clock.
bool IsWrongSampleFound(const model::Model& model);

// Loads it through the encoder, the reader and the model's loader; null if it cannot be read.
std::unique_ptr<model::Model> LoadHistory(const History& history);

// Loads the part between two fractions of its time, as a part of a long trace is read; null as well
// if it is empty.
std::unique_ptr<model::Model> LoadHistoryPart(const History& history, double from, double to);

struct Verdict {
  uint64_t times = 0, outside = 0, durations = 0, durations_outside = 0;
  uint64_t open = 0;                       // times whose epoch is not known
  uint64_t long_times = 0, long_open = 0;  // those of clocks that wrap once a second or less often
  std::string worst;                       // the time that is furthest outside
  double worst_ns = 0;
  std::vector<double> widths;  // of times with a known epoch, round trip of their device = 1
};

// Checks every device time of every table, and the durations of commands.
Verdict CheckTimes(const model::Model& model, const History& history);

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_HISTORY_H_
