// SPDX-License-Identifier: Apache-2.0
//
// How close did each op and each phase come to what the device can do?
//
// The roofline model (Williams, Waterman, Patterson: "Roofline", CACM 52(4), 2009): a command that
// does `work` and moves `bytes` takes at least work / peak of its unit and bytes / bandwidth of
// what carries them. The longer of the two is its roof, and which one that is depends on its
// arithmetic intensity, the work per byte. The device counts work and bytes for each command:
//
//   unit's rate  its work, in the unit that the device counts (MACs, elements)
//   memory       bytes of device memory in whole bursts, including bytes that programs did not
//                use, so that wasted fetches show as a low intensity
//   a DMA unit   payload bytes over the link, in its direction
//
// The ceilings are the device's own figures (peak rates, memory bandwidth, payload ceiling of the
// link), or measured ones (axl-calibrate). The scratchpad's ceiling is only shown: commands do not
// tell how many of its bytes they used.
#ifndef LIBTRACE_ANALYSIS_USAGE_ROOFLINE_H_
#define LIBTRACE_ANALYSIS_USAGE_ROOFLINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/usage/ops.h"
#include "libtrace/analysis/usage/ranges.h"
#include "libtrace/analysis/usage/transfers.h"

namespace acceltrace::analysis {

struct Ceiling {
  std::string resource;  // memory, scratchpad, or a unit's name
  std::string counts;    // bytes, or the unit of the unit's work
  double per_s = 0;      // always positive
  bool measured = false;
};
// Measured ceilings of the device with that name or, if it is not empty, at that PCI address.
struct MeasuredCeilings {
  std::string device, address;
  std::vector<Ceiling> ceilings;
};

// The commands of one op or of one range on one unit.
struct RoofUse {
  std::string name, unit;
  uint64_t commands = 0, work = 0, bytes = 0, memory_bytes = 0;
  Amount time;           // sum of start to end of the commands
  Ratio per_s;           // work (for a DMA unit, bytes) during `time`
  double intensity = 0;  // work / memory_bytes; 0 if either is 0
  std::string roof;      // resource of the ceiling; empty if none is known
  double roof_ns = 0;    // the least time by that ceiling
  // roof_ns relative to `time`. It exceeds 1 if a measured ceiling was not the most that the device
  // can do.
  Ratio of_roof;
};

struct DeviceRoofline {
  uint32_t device = 0;
  std::vector<Ceiling> ceilings;
  std::vector<RoofUse> ops;     // in the order of OpUse
  std::vector<RoofUse> phases;  // ranges in order, each with the unit with the most time first
};

// `ops` and `ranges` are groups by name. Devices without commands are omitted.
std::vector<DeviceRoofline> ComputeRoofline(const model::Model& model,
                                            const std::vector<DeviceTransfers>& transfers,
                                            const std::vector<OpUse>& ops,
                                            const std::vector<RangeUse>& ranges,
                                            const std::vector<MeasuredCeilings>& measured);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_ROOFLINE_H_
