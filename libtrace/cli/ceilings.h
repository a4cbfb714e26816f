// SPDX-License-Identifier: Apache-2.0
//
// Reads --ceilings FILE, which has the results of axl-calibrate, see docs/json.md.
#ifndef LIBTRACE_CLI_CEILINGS_H_
#define LIBTRACE_CLI_CEILINGS_H_

#include <string>
#include <vector>

#include "libtrace/analysis/usage/roofline.h"
#include "libtrace/base/result.h"
#include "libtrace/cli/verb.h"

namespace acceltrace::cli {

void AddCeilings(Verb* verb, std::string* file);

// The file is untrusted: at most 1 MiB, 64 devices and 64 ceilings each. Returns an empty list if
// the name is empty.
Result<std::vector<analysis::MeasuredCeilings>> ReadCeilings(const std::string& file);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_CEILINGS_H_
