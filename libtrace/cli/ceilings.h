// SPDX-License-Identifier: Apache-2.0
//
// --ceilings FILE: what axl-calibrate measured, see docs/json.md.
#ifndef LIBTRACE_CLI_CEILINGS_H_
#define LIBTRACE_CLI_CEILINGS_H_

#include <string>
#include <vector>

#include "libtrace/analysis/roofline.h"
#include "libtrace/cli/verb.h"
#include "libtrace/stream/result.h"

namespace acceltrace::cli {

void AddCeilings(Verb* verb, std::string* file);

// Untrusted: at most 1 MiB, 64 devices and 64 ceilings of each. No file (an empty name): none.
Result<std::vector<analysis::MeasuredCeilings>> ReadCeilings(const std::string& file);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_CEILINGS_H_
