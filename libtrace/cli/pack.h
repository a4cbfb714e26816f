// SPDX-License-Identifier: Apache-2.0
//
// Packs a trace into another file, or in place.
#ifndef LIBTRACE_CLI_PACK_H_
#define LIBTRACE_CLI_PACK_H_

#include <string>
#include <vector>

#include "libtrace/stream/file/pack_trace.h"

namespace acceltrace::cli {

// `target` may be the same file, which is replaced when the new one is complete, but none of the
// inputs.
Result<stream::PackedSize> PackFile(const std::string& file, const std::string& target,
                                    const std::vector<std::string>& inputs = {});

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_PACK_H_
