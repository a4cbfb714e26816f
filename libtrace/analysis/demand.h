// SPDX-License-Identifier: Apache-2.0
//
// What a command asks of each resource, out of what the trace says of it.
//
// A command takes, from start to end:
//
//   dispatch + latency of the link + latency of the memory + streaming
//
// While it streams it uses its unit's arithmetic, the link, tags, the memory and the scratchpad
// at once; alone it takes as long as the slowest of them, with others that use the link or the
// memory too it gets its share. Ticks that it computed are recorded whatever held it up; a
// stall names what did. So:
//
//   own        = busy ticks, and those that it was throttled
//   dispatch   = the stall of that kind
//   latency    = the least that commands of the device were ever stalled for it; those that use
//                on-chip memory only and are stalled nearly as long as they compute do not count
//   streaming  = start to end less these three
//   link, tags = streaming, if that stall is more than latency; else by its bytes
//   memory     = likewise; by its bytes at the rate that the device reports: the data bus. More
//                than that is rows (where it missed enough of them), else the scratchpad.
#ifndef LIBTRACE_ANALYSIS_DEMAND_H_
#define LIBTRACE_ANALYSIS_DEMAND_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "libtrace/analysis/resources.h"
#include "libtrace/model/model.h"

namespace acceltrace::analysis {

// In ns, each as if it had the device to itself.
struct Demand {
  float dispatch = 0, link_latency = 0, memory_latency = 0;
  float own = 0, throttled = 0;  // what throttling adds to own
  float link = 0;                // bytes over the link
  float tag_latency = 0;         // round trips one after the other for want of tags
  float tag_wire = 0;            // their bytes, which nothing else hides then
  float link_reads = 0;          // of the host's memory
  float memory = 0;              // the data bus
  float rows = 0;                // opening rows, where that took longer than the data bus
  float scratch = 0;
  float bus_in_rows = 0;  // share of `memory` that is not hidden behind `rows`, 0 to 1
  float stretch = 1;      // recorded length of streaming over what all this makes of it
  uint8_t unit = 0;
  uint16_t queue = 0;
  bool to_device = false, from_device = false;  // which way it uses the link
  enum Bound : uint8_t { kByOwn, kByLink, kByTags, kByMemory } bound = kByOwn;

  // Most of it is nothing, which takes no time at any speed.
  static double At(double ns, double speed) { return ns > 0 ? ns / speed : ns; }
  // Before it streams.
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
  // one_bank: in place of bus_in_rows, below 0: as it is.
  double MemoryNs(const Scales& scales, double one_bank = -1) const {
    const double bus = At(memory, scales.speed[kDramBandwidth]);
    if (rows <= 0) return bus;
    const double share = one_bank >= 0 ? one_bank : bus_in_rows;
    const double opening = std::max(0.0, rows - share * memory);
    return std::max(bus, share * bus + opening / scales.speed[kDramRowCost]);
  }
  double ScratchNs(const Scales& scales) const { return At(scratch, scales.speed[kScratchpad]); }
};

// What the commands of one device show of it.
struct DeviceRates {
  double ns_per_tick = 1;
  double link_latency_ns = 0, memory_latency_ns = 0;
  double to_device_ns_per_byte = 0, from_device_ns_per_byte = 0;
  double memory_ns_per_byte = 0;
  double tags = 0;        // reads that may be outstanding; 0 = never so many that it showed
  double least_tags = 0;  // ... and then it is more than this
  std::vector<proto::Unit::Kind> units;
};

// link_latency_ns: the least time of a fetch, by device, 0 = none was seen.
std::vector<Demand> ComputeDemands(const model::Model& model,
                                   const std::vector<double>& link_latency_ns,
                                   std::vector<DeviceRates>* rates);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_DEMAND_H_
