// SPDX-License-Identifier: Apache-2.0
//
// Programs with a limiter that is known by construction: rounds of parts, each of which keeps one
// resource busy for a given time on a device with usual properties.
#ifndef TESTS_WORKLOADS_SYNTH_SYNTH_H_
#define TESTS_WORKLOADS_SYNTH_SYNTH_H_

#include <array>
#include <cstdint>
#include <string>

#include "libtrace/base/result.h"
#include "tests/workloads/common/region.h"

namespace acceltrace::workloads {

enum Part {
  kMatrixPart,    // matmuls in the scratchpad
  kVectorPart,    // softmax in the scratchpad
  kDramPart,      // additions over DRAM, in order
  kRowsPart,      // 64 bytes from each of many rows of one bank
  kScratchPart,   // additions in the scratchpad
  kCopyInPart,    // 64 KiB copies to the device
  kCopyOutPart,   // ... from it
  kLatencyPart,   // 64-byte copies to the device in sequence
  kFirstPart,     // copies of 16 elements in DRAM in sequence
  kDispatchPart,  // vector ops of 16 elements
  kHostPart,      // the host computes
  kSubmitPart,    // jobs of one small command
  kSyncPart,      // the same, each waited for
  kNumParts
};
const char* PartName(Part part);

struct SynthOptions {
  std::array<double, kNumParts> us{};  // of each part in a round
  uint32_t rounds = 12;
  // Each part's device work has its own stream; otherwise all of a round is one chain.
  bool overlap = false;
  uint32_t sync_every = 0;  // rounds; 0 = once, at the end
  // If not 0, calls that submit are measured and take this many times as long (submit_knob.h).
  double submit_cost = 0;
  bool poll = false;  // polls instead of sleeping until something is done
  int device = 0;
};

// Parses "matrix:50,copy-in:20"; an error has the reason.
Status ParseParts(const std::string& text, SynthOptions* options);
// Gives one part 5 to 50 % more than its even share among a few others, depending on the seed.
void RandomParts(uint64_t seed, SynthOptions* options);
std::string PartsText(const SynthOptions& options);

Status RunSynth(const SynthOptions& options, Region* region);

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_SYNTH_SYNTH_H_
