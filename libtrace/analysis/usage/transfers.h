// SPDX-License-Identifier: Apache-2.0
//
// How well was the link used?
//
// Link bandwidth is what the lanes carry after line coding, in one direction:
//   generations 1, 2: 2.5, 5 GT/s, 8b/10b; 3, 4, 5: 8, 16, 32 GT/s, 128b/130b;
//   6: 64 GT/s in flits, of whose 256 bytes 236 carry packets
// (PCI Express Base Specification 6.0, sections 4.2.2, 4.2.3). The payload ceiling is what packets
// of max_payload_bytes leave of it for data: each has a header of 16 bytes (64-bit address) for
// writes or 12 for read completions, and 8 bytes of framing, sequence number and LCRC.
#ifndef LIBTRACE_ANALYSIS_USAGE_TRANSFERS_H_
#define LIBTRACE_ANALYSIS_USAGE_TRANSFERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libtrace/analysis/rows/command_pass.h"
#include "libtrace/analysis/rows/span.h"

namespace acceltrace::analysis {

// Returns bytes per second in one direction, or 0 for an unknown generation or width.
double LinkBytesPerSecond(uint32_t generation, uint32_t width);
// Returns the share of it that data can use. With to_device, the data is in read completions.
double PayloadEfficiency(uint32_t max_payload_bytes, bool to_device);

// Transfers of up to `up_to_bytes`.
struct SizeClass {
  uint64_t up_to_bytes = 0;
  uint64_t count = 0, bytes = 0;
  Amount time;        // sum of start to end
  Ratio bytes_per_s;  // while they ran
  Ratio of_link;      // all 0 if the link is not known
};

struct Direction {
  std::string name;  // name of the unit
  bool to_device = false;
  double link_bytes_per_s = 0, ceiling_bytes_per_s = 0;
  SizeClass all;           // of any size
  Ratio best_bytes_per_s;  // the fastest single transfer of at least kBestBytes
  std::vector<SizeClass> sizes;
  static constexpr uint64_t kBestBytes = 4096;
};

struct DeviceTransfers {
  uint32_t device = 0;
  uint32_t generation = 0, width = 0, generation_max = 0, width_max = 0;
  std::vector<Direction> directions;
};

std::vector<DeviceTransfers> ComputeTransfers(const model::Model& model);
// Computes the same in a shared pass.
class TransfersSum : public CommandSum {
 public:
  virtual std::vector<DeviceTransfers> Finish() = 0;
};
std::unique_ptr<TransfersSum> SumTransfers(const CommandPass& pass);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_TRANSFERS_H_
