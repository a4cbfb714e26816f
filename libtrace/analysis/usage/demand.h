// SPDX-License-Identifier: Apache-2.0
//
// What a command demands of each resource, as derived from the trace.
//
// From start to end, a command takes:
//
//   dispatch + latency of the link + latency of the memory + streaming
//
// While streaming it uses its unit's arithmetic, the link, tags, the memory and the scratchpad at
// the same time. Alone it takes as long as the slowest of them; with other commands that use the
// link or the memory it gets a share of these. Ticks in which it computed are recorded whatever
// delayed it, and stalls name the cause of a delay. Therefore:
//
//   own        = busy ticks, including those when it was throttled
//   dispatch   = the stall of that kind
//   latency    = the shortest such stall of all commands of the device, without those that
//                use only on-chip memory and are stalled nearly as long as they compute
//   streaming  = start to end minus these three
//   link, tags = streaming, if that stall is longer than the latency; otherwise by the bytes
//   memory     = likewise; the data bus takes the bytes at the rate that the device reports.
//                Any excess is opening rows (if there were enough row misses) or the scratchpad.
#ifndef LIBTRACE_ANALYSIS_USAGE_DEMAND_H_
#define LIBTRACE_ANALYSIS_USAGE_DEMAND_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "libtrace/analysis/rows/resources.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

// Times in ns, each as if the command had the device to itself.
struct Demand {
  float dispatch = 0, link_latency = 0, memory_latency = 0;
  float own = 0, throttled = 0;  // throttled is what throttling adds to own
  float link = 0;                // transferring bytes over the link
  float tag_latency = 0;         // successive round trips, for lack of tags
  float tag_wire = 0;            // the bytes of these round trips, which nothing else hides
  float link_reads = 0;          // number of reads from host memory
  float memory = 0;              // using the data bus
  float rows = 0;                // opening rows, if that took longer than the data bus
  float scratch = 0;
  float bus_in_rows = 0;  // share of `memory` that is not hidden behind `rows`, 0 to 1
  float stretch = 1;      // recorded length of streaming relative to what all this predicts
  uint8_t unit = 0;
  uint16_t queue = 0;
  bool to_device = false, from_device = false;  // in which direction it uses the link
  enum Bound : uint8_t { kByOwn, kByLink, kByTags, kByMemory } bound = kByOwn;

  // Most demands are 0, which avoids a division.
  static double At(double ns, double speed) { return ns > 0 ? ns / speed : ns; }
  // The time before it streams.
  double FixedNs(const Scales& scales) const {
    return At(dispatch, scales.speed[kDispatch]) + At(link_latency, scales.speed[kPcieLatency]) +
           At(memory_latency, scales.speed[kDramLatency]);
  }
  double OwnNs(const Scales& scales, proto::Unit::Kind kind) const {
    const double whole = own + At(throttled, scales.speed[kThrottle]);
    if (kind == proto::Unit::KIND_MATRIX) return At(whole, scales.speed[kMatrixRate]);
    if (kind == proto::Unit::KIND_VECTOR) return At(whole, scales.speed[kVectorRate]);
    return whole;
  }
  double LinkNs(const Scales& scales) const { return At(link, scales.speed[kPcieBandwidth]); }
  double TagNs(const Scales& scales) const {
    return At(
        At(tag_latency, scales.speed[kPcieLatency]) + At(tag_wire, scales.speed[kPcieBandwidth]),
        scales.speed[kPcieTags]);
  }
  // one_bank replaces bus_in_rows unless it is negative.
  double MemoryNs(const Scales& scales, double one_bank = -1) const {
    const double bus = At(memory, scales.speed[kDramBandwidth]);
    if (rows <= 0) return bus;
    const double share = one_bank >= 0 ? one_bank : bus_in_rows;
    const double opening = std::max(0.0, rows - share * memory);
    return std::max(bus, share * bus + opening / scales.speed[kDramRowCost]);
  }
  double ScratchNs(const Scales& scales) const { return At(scratch, scales.speed[kScratchpad]); }
};

// The properties of a device that its commands reveal.
struct DeviceRates {
  double ns_per_tick = 1;
  double link_latency_ns = 0, memory_latency_ns = 0;
  double to_device_ns_per_byte = 0, from_device_ns_per_byte = 0;
  double memory_ns_per_byte = 0;
  double tags = 0;        // reads that may be outstanding; 0 = the limit was never reached
  double least_tags = 0;  // in that case, there are more than this
  std::vector<proto::Unit::Kind> units;
};

// link_latency_ns has the shortest fetch of each device, 0 = none was recorded.
std::vector<Demand> ComputeDemands(const model::Model& model,
                                   const std::vector<double>& link_latency_ns,
                                   std::vector<DeviceRates>* rates);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_DEMAND_H_
