// SPDX-License-Identifier: Apache-2.0
//
// What a client has the service write to.
#ifndef DAEMON_SERVICE_CLIENT_OUTPUTS_H_
#define DAEMON_SERVICE_CLIENT_OUTPUTS_H_

#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/options.h"
#include "daemon/service/client.h"
#include "libtrace/stream/output.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// What a recording or a snapshot writes to: files that came along, or for root paths.
struct ClientOutputs {
  std::vector<UniqueFd> files;
  std::vector<stream::Output> named;
  std::vector<stream::FileId> ids;  // of the regular ones
};

// kinds: of files that are named; others have been looked at.
Result<ClientOutputs> TakeOutputs(Client* client, const std::string& path,
                                  const RecordOptions& options, FileIntake::Kinds kinds);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_CLIENT_OUTPUTS_H_
