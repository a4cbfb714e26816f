// SPDX-License-Identifier: Apache-2.0
//
// What traces are written to: files named by paths, and descriptors that somebody hands over.
#ifndef DAEMON_OUTPUTS_H_
#define DAEMON_OUTPUTS_H_

#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/options.h"
#include "libtrace/stream/output.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// The file of a recording, and those that it may need besides. What is there is not touched.
Result<std::vector<stream::Output>> OpenOutputs(const std::string& path,
                                                const RecordOptions& options);

// For who writes them.
std::vector<UniqueFd> Descriptors(const std::vector<stream::Output>& outputs);

// Refuses one that is not open for writing, or that another recording writes to.
Status CheckDescriptor(int fd);

}  // namespace acceltrace::daemon

#endif  // DAEMON_OUTPUTS_H_
