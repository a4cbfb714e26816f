// SPDX-License-Identifier: Apache-2.0
//
// Programs with a limiter that is known by construction: rounds of parts, each of which keeps one
// resource busy for so long on a device with usual properties.
#ifndef TESTS_WORKLOADS_SYNTH_SYNTH_H_
#define TESTS_WORKLOADS_SYNTH_SYNTH_H_

#include <array>
#include <cstdint>
#include <string>

#include "libtrace/stream/result.h"
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
  kLatencyPart,   // 64-byte copies to the device, one after the other
  kFirstPart,     // copies of 16 elements in DRAM, one after the other
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
  // Each part's device work on a stream of its own; else all of a round is one chain.
  bool overlap = false;
  uint32_t sync_every = 0;  // rounds; 0 = once, at the end
  // Not 0: calls that submit are measured, and take so many times what they do (submit_knob.h).
  double submit_cost = 0;
  bool poll = false;  // nobody sleeps until something is done: it is asked for instead
  int device = 0;
};

// "matrix:50,copy-in:20"; an error says what is wrong.
Status ParseParts(const std::string& text, SynthOptions* options);
// One part has 5 to 50 % more than its even share among a few others, as the seed wants it.
void RandomParts(uint64_t seed, SynthOptions* options);
std::string PartsText(const SynthOptions& options);

Status RunSynth(const SynthOptions& options, Region* region);

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_SYNTH_SYNTH_H_
