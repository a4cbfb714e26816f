// SPDX-License-Identifier: Apache-2.0
//
// The files of a recording: opened here, written by whoever records, in place once the recording
// has certainly begun.
#ifndef LIBTRACE_CLI_TRACE_FILES_H_
#define LIBTRACE_CLI_TRACE_FILES_H_

#include <string>
#include <vector>

#include "libtrace/cli/record_options.h"
#include "libtrace/stream/output.h"

namespace acceltrace::cli {

// acceltrace-20261126-161500-4711.atrace for "acceltrace": no other recording's.
std::string DefaultTraceName(const std::string& begin);

class TraceFiles {
 public:
  // Nothing that is there is touched.
  static Result<TraceFiles> Open(const RecordOptions& options);

  std::vector<int> fds() const;
  // A file that gets its name by Place(), not a pipe or what stdout is.
  bool is_file() const { return files_.front().is_file(); }
  // What the service may write.
  bool regular() const;
  // What a command prints to stdout would be mixed with the trace.
  bool takes_stdout() const { return takes_stdout_; }

  // Whoever records has them by now.
  void Close();
  // The recording has begun: the trace gets its name, and what had it before is gone. On an error
  // it stays where it is, which the message says.
  Status Place();
  // The recording goes on without this process: nothing is removed at the end.
  void Leave();

 private:
  std::vector<stream::Output> files_;
  bool takes_stdout_ = false;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_TRACE_FILES_H_
