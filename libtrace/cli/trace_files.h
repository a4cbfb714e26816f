// SPDX-License-Identifier: Apache-2.0
//
// The files of a recording. They are opened here and written by the recorder, and get their names
// once the recording has really begun.
#ifndef LIBTRACE_CLI_TRACE_FILES_H_
#define LIBTRACE_CLI_TRACE_FILES_H_

#include <string>
#include <vector>

#include "libtrace/base/output.h"
#include "libtrace/cli/record_options.h"

namespace acceltrace::cli {

// Returns a unique name such as acceltrace-20261126-161500-4711.atrace for "acceltrace".
std::string DefaultTraceName(const std::string& begin);

class TraceFiles {
 public:
  // Does not change existing files.
  static Result<TraceFiles> Open(const RecordOptions& options);

  std::vector<int> fds() const;
  // Returns true for a file that gets its name by Place(), unlike a pipe or what stdout is.
  bool is_file() const { return files_.front().is_file(); }
  // Returns true if the service can write the files.
  bool regular() const;
  // Returns true if output of a command on stdout would be mixed with the trace.
  bool takes_stdout() const { return takes_stdout_; }

  // Must be called when the recorder has the files.
  void Close();
  // Must be called when the recording has begun: the trace replaces the file of its name. If this
  // fails, it stays where it is, and the error says where.
  Status Place();
  // The recording continues without this process, so nothing is removed at the end.
  void Leave();

 private:
  std::vector<Output> files_;
  bool takes_stdout_ = false;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_TRACE_FILES_H_
