// SPDX-License-Identifier: Apache-2.0
//
// What is known of when a device's reading was made, before its ticks are read: from the
// host's side of its job, and from the order of the device's records. Internal.
#ifndef LIBTRACE_MODEL_WINDOWS_H_
#define LIBTRACE_MODEL_WINDOWS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "libtrace/model/decode.h"
#include "libtrace/model/host_jobs.h"
#include "libtrace/model/in_step.h"
#include "libtrace/model/model.h"
#include "libtrace/model/run_column.h"

namespace acceltrace::model {

// The bits that a device's clock has; all, where it says none.
inline uint64_t TickMask(uint32_t bits) {
  return bits == 0 || bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

class Windows {
 public:
  Windows(const Model& model, const Decoder& decoder, const HostJobs& host_jobs);

  // All records of the only device rise, over the tables.
  bool in_step() const { return in_step_; }
  // No reading was made later.
  int64_t stop_ns() const { return stop_ns_; }
  // The last time of a record, which was made then.
  clock::Window OfRecord(uint32_t device, uint64_t record, int64_t near_ns) const;
  // Any other time of a record: not after it was made.
  clock::Window UpToRecord(uint32_t device, uint64_t record, int64_t near_ns) const;
  // What the host says of when a job was; kNoTime: nothing.
  using Side = HostJobs::Times;
  Side SideOfJob(size_t row) const { return SideAt(job_sides_[row]); }
  // By row. `made`: of the time at which its record was made.
  clock::Window OfJob(size_t row, bool made) const { return OfJob(row, made, SideOfJob(row)); }
  clock::Window OfJob(size_t row, bool made, const Side& side) const {
    if (made || !in_step_ || side.complete_ns == kNoTime) return OfJobRecord(row, made, side);
    clock::Window window;
    window.lo_ns = side.submit_ns;  // kNoTime is as early as can be
    window.hi_ns = std::min(stop_ns_, side.complete_ns);
    window.near_ns = decoder_.device_jobs.near_ns[row];
    window.max_jumps = 0;
    return window;
  }
  // Sides of a job and of those near it.
  void LoadSides(size_t row, SideRows* rows) const;
  clock::Window OfDoorbell(size_t job_row) const;
  clock::Window OfCommandMade(size_t row) const;
  // Both: what was before its record was made, and then.
  void OfCommand(size_t row, clock::Window* before, clock::Window* made) const;
  clock::Window OfEvent(size_t row) const;
  clock::Window OfCounters(uint32_t device, size_t row) const;
  // Of what has no record: between two clock samples of its device in the stream.
  clock::Window OfStream(uint32_t device, int64_t near_ns) const;
  // Records that were lost are missing in their numbers. Of those that are there, the last
  // one that comes right behind lost ones, and the first that is followed by them; and whether
  // there are any.
  bool Losses(uint32_t device, uint64_t* last_after, uint64_t* first_before) const;
  // When the lost ones were made, in order, once Losses() said that there are any.
  std::vector<clock::Window> WhenLost(uint32_t device) const;

 private:
  // A device's records in order, with the host times that bound when each was made.
  struct Device {
    bool ordered = false;
    Column<uint64_t> records;
    RunColumn<int64_t> lo_ns, hi_ns;  // of each and those before; of each and those after
    RunColumn<uint32_t> jumps;        // announced up to and including each
    std::vector<int64_t> samples_ns;  // the first clock sample of each batch, sorted
    // The first that is not before a record.
    size_t NotBefore(uint64_t record) const;
    mutable size_t last_found = 0;  // by it: most are asked for in order
  };
  // Nothing is kept of the records where their order says nothing (in_step.h).
  SidesOfJobs Sides() const;
  // The device's records, which are collected once somebody asks.
  const Device& Of(uint32_t device) const;
  void CollectRecords() const;
  // A record: where it is in its table.
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
  // What the host's side of a job says of its commands.
  static void Narrow(const Side& side, clock::Window* window);
  void CollectSides();
  void Bound(clock::Window* window) const;
  // Where records are, in their order: of the only device, if each table is in that order, as the
  // tables stand, else by lists.
  bool CollectInOrder() const;
  void CollectSorted() const;
  std::vector<std::vector<Place>> PlacesByDevice() const;
  static void Sort(std::vector<Place>* places);
  // forward(visit), backward(visit): visit(place) of each of so many.
  template <typename Forward, typename Backward>
  void Collect(size_t count, const Forward& forward, const Backward& backward,
               Device* device) const;
  void CollectDoorbells();
  using Doorbell = std::tuple<uint32_t, uint64_t, uint64_t>;  // device, queue, raw ticks
  Doorbell DoorbellOf(uint32_t job) const;
  uint64_t MaskOf(uint32_t device) const;
  // The one job of a doorbell, kNoRow if there are none or several.
  uint32_t JobOf(const Doorbell& doorbell) const;

  const Model& model_;
  const Decoder& decoder_;
  const HostJobs& host_jobs_;
  mutable std::vector<Device> devices_;
  mutable bool collected_ = false;
  bool in_step_ = false, any_lost_ = false;  // in step: whether record numbers are missing
  mutable LostRecords lost_;                 // in step, once they are asked for
  std::vector<uint32_t> job_sides_;          // by row, those of HostJobs; kNone = not seen
  // Of jobs whose commands were asked for: others of them are near.
  struct KnownSide {
    uint64_t job = 0;
    Side side;
  };
  mutable std::array<KnownSide, 64> known_sides_;
  std::vector<uint32_t> doorbells_;  // jobs by device, queue and ticks of their doorbells
  int64_t start_ns_ = clock::Window::kMin, stop_ns_ = clock::Window::kMax;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_WINDOWS_H_
