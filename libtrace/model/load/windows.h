// SPDX-License-Identifier: Apache-2.0
//
// Limits on the time of a device's reading that are known without its ticks: from the host's side
// of its job, and from the order of the device's records. Internal.
#ifndef LIBTRACE_MODEL_LOAD_WINDOWS_H_
#define LIBTRACE_MODEL_LOAD_WINDOWS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "libtrace/model/columns/run_column.h"
#include "libtrace/model/load/decode.h"
#include "libtrace/model/load/in_step.h"
#include "libtrace/model/tables/host_jobs.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// The bits of a device's clock; all bits if it does not tell.
inline uint64_t TickMask(uint32_t bits) {
  return bits == 0 || bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

class Windows {
 public:
  Windows(const Model& model, const Decoder& decoder, const HostJobs& host_jobs);

  // Returns true if all record numbers of the only device rise over all tables.
  bool in_step() const { return in_step_; }
  // No reading was made later than this.
  int64_t stop_ns() const { return stop_ns_; }
  // Returns the window of the last time in a record, at which the record was made.
  clock::Window OfRecord(uint32_t device, uint64_t record, int64_t near_ns) const;
  // Returns the window of any other time in a record, which is not after the record was made.
  clock::Window UpToRecord(uint32_t device, uint64_t record, int64_t near_ns) const;
  // The host's times of a job, or kNoTime.
  using Side = HostJobs::Times;
  Side SideOfJob(size_t row) const { return SideAt(job_sides_[row]); }
  // By row. made: for the time at which its record was made.
  clock::Window OfJob(size_t row, bool made) const { return OfJob(row, made, SideOfJob(row)); }
  clock::Window OfJob(size_t row, bool made, const Side& side) const {
    if (made || !in_step_ || side.complete_ns == kNoTime) return OfJobRecord(row, made, side);
    clock::Window window;
    window.lo_ns = side.submit_ns;  // kNoTime is the earliest possible time
    window.hi_ns = std::min(stop_ns_, side.complete_ns);
    window.near_ns = decoder_.device_jobs.near_ns[row];
    window.max_jumps = 0;
    return window;
  }
  // Loads the sides of a job and of those near it.
  void LoadSides(size_t row, SideRows* rows) const;
  clock::Window OfDoorbell(size_t job_row) const;
  clock::Window OfCommandMade(size_t row) const;
  // Returns both the window of times before its record was made, and of when it was made.
  void OfCommand(size_t row, clock::Window* before, clock::Window* made) const;
  clock::Window OfEvent(size_t row) const;
  clock::Window OfCounters(uint32_t device, size_t row) const;
  // For times without a record: between two clock samples of its device in the stream.
  clock::Window OfStream(uint32_t device, int64_t near_ns) const;
  // Lost records are gaps in the numbers. Returns false if there are none. Otherwise, returns the
  // last record that directly follows lost ones, and the first one that is followed by lost ones.
  bool Losses(uint32_t device, uint64_t* last_after, uint64_t* first_before) const;
  // Returns when lost records were made, in order. Must only be called if Losses() returned true.
  std::vector<clock::Window> WhenLost(uint32_t device) const;

 private:
  // A device's records in order, with the host times that bound when each was made.
  struct Device {
    bool ordered = false;
    Column<uint64_t> records;
    RunColumn<int64_t> lo_ns, hi_ns;  // for each and those before; for each and those after
    RunColumn<uint32_t> jumps;        // number announced up to and including each
    std::vector<int64_t> samples_ns;  // the first clock sample of each batch, sorted
    // Returns the first record that is not before this one.
    size_t NotBefore(uint64_t record) const;
    mutable size_t last_found = 0;  // its last result, because most lookups are in order
  };
  // Records are not stored if their order adds nothing (in_step.h).
  SidesOfJobs Sides() const;
  // Returns the device's records, which are collected on first use.
  const Device& Of(uint32_t device) const;
  void CollectRecords() const;
  // The place of a record in its table.
  enum class Table : uint8_t { kJobs, kCommands, kEvents };
  struct Place {
    uint64_t record = 0;
    uint32_t row = 0;
    Table table = Table::kJobs;
  };
  Side SideAt(uint32_t row) const {
    return row == HostJobs::kNone ? Side{} : host_jobs_.TimesOf(row);
  }
  clock::Window OfJobRecord(size_t row, bool made, const Side& side) const;
  Side SideOfCommand(size_t row) const;
  Side KnownSideOf(uint64_t key) const;
  // Applies what the host's side of a job shows about its commands.
  static void Narrow(const Side& side, clock::Window* window);
  void CollectSides();
  void Bound(clock::Window* window) const;
  // Collects the places of records in order: for the only device, directly from the tables if each
  // is sorted by record, else by sorted lists.
  bool CollectInOrder() const;
  void CollectSorted() const;
  std::vector<std::vector<Place>> PlacesByDevice() const;
  static void Sort(std::vector<Place>* places);
  // forward(visit), backward(visit): call visit(place) for each of `count` records.
  template <typename Forward, typename Backward>
  void Collect(size_t count, const Forward& forward, const Backward& backward,
               Device* device) const;
  void CollectDoorbells();
  using Doorbell = std::tuple<uint32_t, uint64_t, uint64_t>;  // device, queue, raw ticks
  Doorbell DoorbellOf(uint32_t job) const;
  uint64_t MaskOf(uint32_t device) const;
  // Returns the only job of a doorbell, or kNoRow if there are none or several.
  uint32_t JobOf(const Doorbell& doorbell) const;

  const Model& model_;
  const Decoder& decoder_;
  const HostJobs& host_jobs_;
  mutable std::vector<Device> devices_;
  mutable bool collected_ = false;
  bool in_step_ = false, any_lost_ = false;  // in step: true if record numbers are missing
  mutable LostRecords lost_;                 // in step, computed on first use
  std::vector<uint32_t> job_sides_;          // by row: row in HostJobs, or kNone if not seen
  // The sides of jobs whose commands were looked up recently, because lookups are close to each
  // other.
  struct KnownSide {
    uint64_t job = 0;
    Side side;
  };
  mutable std::array<KnownSide, 64> known_sides_;
  std::vector<uint32_t> doorbells_;  // jobs by device, queue and ticks of their doorbells
  int64_t start_ns_ = clock::Window::kMin, stop_ns_ = clock::Window::kMax;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_WINDOWS_H_
