// SPDX-License-Identifier: Apache-2.0
//
// How near did each op and each phase come to what the device can do?
//
// The roofline model (Williams, Waterman, Patterson: "Roofline", CACM 52(4), 2009): a command that
// does `work` and moves `bytes` takes at least work / peak of its unit and bytes / bandwidth of
// what carries them. The longer of the two is its roof; which one that is depends on its arithmetic
// intensity, work for each byte. Work and bytes are those that the device counted for each command:
//
//   unit's rate  its work, in the unit that the device counts (MACs, elements)
//   memory       bytes of device memory in whole bursts; what programs asked for and did not
//                use is in it, so that wasted fetches show as a low intensity
//   a DMA unit   payload bytes over the link, in its direction
//
// The device's own figures (peak rates, memory bandwidth, payload ceiling of the link) are the
// ceilings; what was measured (axl-calibrate) replaces them. The scratchpad is a ceiling to look
// at: no command says how many bytes of it were used.
#ifndef LIBTRACE_ANALYSIS_ROOFLINE_H_
#define LIBTRACE_ANALYSIS_ROOFLINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/ops.h"
#include "libtrace/analysis/ranges.h"
#include "libtrace/analysis/transfers.h"

namespace acceltrace::analysis {

struct Ceiling {
  std::string resource;  // memory, scratchpad, or a unit's name
  std::string counts;    // what: bytes, or the unit's work
  double per_s = 0;      // above 0
  bool measured = false;
};
// Of the device of that name or, if it is not empty, at that PCI address.
struct MeasuredCeilings {
  std::string device, address;
  std::vector<Ceiling> ceilings;
};

// Commands of one op, or of one range, on one unit.
struct RoofUse {
  std::string name, unit;
  uint64_t commands = 0, work = 0, bytes = 0, memory_bytes = 0;
  Amount time;           // start to end of the commands
  Ratio per_s;           // work, or bytes of a DMA unit, during time
  double intensity = 0;  // work / memory_bytes; 0: no such bytes, or no work
  std::string roof;      // the ceiling's resource; empty: none is known
  double roof_ns = 0;    // least time by that ceiling
  // roof_ns of time. Above 1: a measured ceiling was not the most that the device can do.
  Ratio of_roof;
};

struct DeviceRoofline {
  uint32_t device = 0;
  std::vector<Ceiling> ceilings;
  std::vector<RoofUse> ops;     // as OpUse lists them
  std::vector<RoofUse> phases;  // ranges in their order, the unit with the most time first
};

// ops, ranges: groups by name. Devices without a command are left out.
std::vector<DeviceRoofline> ComputeRoofline(const model::Model& model,
                                            const std::vector<DeviceTransfers>& transfers,
                                            const std::vector<OpUse>& ops,
                                            const std::vector<RangeUse>& ranges,
                                            const std::vector<MeasuredCeilings>& measured);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROOFLINE_H_
