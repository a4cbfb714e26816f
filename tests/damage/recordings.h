// SPDX-License-Identifier: Apache-2.0
//
// Three recordings whose answers are known.
#ifndef TESTS_DAMAGE_RECORDINGS_H_
#define TESTS_DAMAGE_RECORDINGS_H_

#include <string>
#include <vector>

#include "libtrace/analysis/usage/breakdown.h"

namespace acceltrace::test {

struct Recording {
  std::string name;
  std::string bytes;
  analysis::Class truth;
};

// host is tests/golden/demo.atrace, a real one, bound by API calls. The others (compute, transfer)
// are synthetic, so that their limiter is known. Their batches are as small relative to the whole
// as those of a long recording.
std::vector<Recording> Recordings();

}  // namespace acceltrace::test

#endif  // TESTS_DAMAGE_RECORDINGS_H_
