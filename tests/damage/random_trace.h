// SPDX-License-Identifier: Apache-2.0
//
// Small valid traces of everything that a stream can contain.
#ifndef TESTS_DAMAGE_RANDOM_TRACE_H_
#define TESTS_DAMAGE_RANDOM_TRACE_H_

#include <vector>

#include "tests/damage/mutator.h"

namespace acceltrace::test {

// A few rows of each kind: one to three devices of any frequency and width, whose clocks jump,
// change and restart, announced or not; jobs seen by both sides, by one, by others; counters,
// latched or not; ranges, processes, losses; columns as batches or as blocks.
std::vector<proto::Packet> RandomTrace(Random* random);

}  // namespace acceltrace::test

#endif  // TESTS_DAMAGE_RANDOM_TRACE_H_
