// SPDX-License-Identifier: Apache-2.0
//
// The outputs of traces: files named by paths, and descriptors that clients pass.
#ifndef DAEMON_OUTPUTS_H_
#define DAEMON_OUTPUTS_H_

#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/options.h"
#include "libtrace/base/output.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

// Opens the file of a recording and those that it may need in addition. Existing files are not
// changed.
Result<std::vector<Output>> OpenOutputs(const std::string& path, const RecordOptions& options);

// Returns the descriptors for the writer of the outputs.
std::vector<UniqueFd> Descriptors(const std::vector<Output>& outputs);

// Fails if the descriptor is not open for writing, or if another recording writes to it.
Status CheckDescriptor(int fd);

}  // namespace acceltrace::daemon

#endif  // DAEMON_OUTPUTS_H_
