// SPDX-License-Identifier: Apache-2.0
//
// Programs with one slowness planted, each with a twin that does the same work without it.
#ifndef TESTS_WORKLOADS_SYNTH_TWINS_H_
#define TESTS_WORKLOADS_SYNTH_TWINS_H_

#include <cstdint>
#include <span>
#include <string>

#include "libtrace/base/result.h"
#include "tests/workloads/common/region.h"

namespace acceltrace::workloads {

class TwinRun;

struct Twin {
  const char* name;
  const char* advice;  // the kind of advice that names what is planted
  // prepare runs once before the timed rounds, round in each of them.
  Status (*prepare)(TwinRun* run);
  Status (*round)(TwinRun* run, uint32_t number);
};

std::span<const Twin> Twins();
const Twin* FindTwin(const std::string& name);  // null if there is none
Status RunTwin(const Twin& twin, bool mended, uint32_t rounds, int device, Region* region);

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_SYNTH_TWINS_H_
