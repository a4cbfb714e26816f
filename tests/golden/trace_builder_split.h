// SPDX-License-Identifier: Apache-2.0
//
// Splits packets as a daemon writes them, which has many small ones.
#ifndef TESTS_GOLDEN_TRACE_BUILDER_SPLIT_H_
#define TESTS_GOLDEN_TRACE_BUILDER_SPLIT_H_

#include <vector>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::test {

// Splits batches of more than `rows` rows.
std::vector<proto::Packet> Split(const std::vector<proto::Packet>& packets, int rows);

}  // namespace acceltrace::test

#endif  // TESTS_GOLDEN_TRACE_BUILDER_SPLIT_H_
