// SPDX-License-Identifier: Apache-2.0
//
// The command-line options of a recording, and their form for the recorder.
#ifndef LIBTRACE_CLI_RECORD_OPTIONS_H_
#define LIBTRACE_CLI_RECORD_OPTIONS_H_

#include <string>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/cli/verb.h"
#include "libtrace/control/recording.h"
#include "libtrace/proto/control.pb.h"

namespace acceltrace::cli {

struct RecordOptions {
  proto::RecordRequest request;
  std::string output;
  std::vector<std::string> command;  // the whole command
  std::string share;                 // where others may join a private daemon
  control::Recording recording;      // the meaning of the request, set by Complete()
};

// Adds the options that a private daemon and the service have in common.
void AddRecordOptions(Verb* verb, RecordOptions* options);
// Adds one option of the request.
void AddRequestOption(Verb* verb, const std::string& option, const std::string& type,
                      const std::string& text, proto::RecordRequest* request);
// Adds --socket, with the service's default for *socket.
void AddSocketOption(Verb* verb, std::string* socket);

// Sets what the command line leaves open, and checks the request. Errors are misuse.
Status Complete(RecordOptions* options);

// Returns the arguments for `acceltraced --private`.
std::vector<std::string> DaemonArguments(const RecordOptions& options);
// Returns the request for the service, without the file.
proto::RecordRequest StartRequest(const RecordOptions& options);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_RECORD_OPTIONS_H_
