// SPDX-License-Identifier: Apache-2.0
//
// The outputs that a client passes to the service.
#ifndef DAEMON_SERVICE_CLIENT_OUTPUTS_H_
#define DAEMON_SERVICE_CLIENT_OUTPUTS_H_

#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/options.h"
#include "daemon/service/client.h"
#include "libtrace/base/output.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

// The outputs of a recording or a snapshot: attached files, or paths if the client is root.
struct ClientOutputs {
  std::vector<UniqueFd> files;
  std::vector<Output> named;
  std::vector<FileId> ids;  // of regular files
};

// `kinds` applies to files named by paths; attached ones have been checked already.
Result<ClientOutputs> TakeOutputs(Client* client, const std::string& path,
                                  const RecordOptions& options, FileIntake::Kinds kinds);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_CLIENT_OUTPUTS_H_
