// SPDX-License-Identifier: Apache-2.0
//
// The resources that a run's time can depend on, and factors by which a what-if changes them.
#ifndef LIBTRACE_ANALYSIS_ROWS_RESOURCES_H_
#define LIBTRACE_ANALYSIS_ROWS_RESOURCES_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::analysis {

enum Resource {
  kPcieBandwidth,
  kPcieLatency,
  kPcieTags,
  kDramBandwidth,
  kDramLatency,
  kDramRowCost,
  kScratchpad,
  kMatrixRate,
  kVectorRate,
  kDispatch,
  kThrottle,
  kHostSpeed,
  kHostSubmit,
  kHostWake,
  kNumResources
};
const char* ResourceKey(Resource resource);   // pcie.bandwidth, as --set takes it
const char* ResourceName(Resource resource);  // PCIe bandwidth
const char* ResourceText(Resource resource);  // a description
std::optional<Resource> FindResource(std::string_view key);

// How many times as fast each resource is: 2 is twice the bandwidth, or half the latency.
struct Scales {
  std::array<double, kNumResources> speed;
  bool without_tracer = false;
  Scales() { speed.fill(1); }
  static Scales Faster(Resource resource, double factor) {
    Scales scales;
    scales.speed[resource] = factor;
    return scales;
  }
};
inline constexpr double kLeastFactor = 0.01, kGreatestFactor = 1000;

// Parses KEY=xF or KEY=F. Returns an empty string, or what is wrong with it.
std::string ParseScale(std::string_view text, Scales* scales);

// Returns the kind of a device's stall cause: from the description of the device or, for older
// traces that lack it, from the usual names of causes.
using StallKind = proto::Device::StallKind;
StallKind StallKindOf(const proto::Device& device, int stall);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_RESOURCES_H_
