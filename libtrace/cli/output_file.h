// SPDX-License-Identifier: Apache-2.0
//
// An output file that only appears when it is complete.
#ifndef LIBTRACE_CLI_OUTPUT_FILE_H_
#define LIBTRACE_CLI_OUTPUT_FILE_H_

#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libtrace/base/output.h"
#include "libtrace/base/result.h"

namespace acceltrace::cli {

// base/output.h describes where it is written: an existing file is kept until the new one is
// complete, and also if anything fails.
class OutputFile {
 public:
  // `inputs` are files that are read, which must not be overwritten.
  static Result<OutputFile> Create(const std::string& path, const std::vector<std::string>& inputs);

  // Returns true if it is stdout by any name.
  bool is_stdout() const { return output_.is_descriptor(STDOUT_FILENO); }
  Status Write(std::string_view bytes);
  Status Finish();

 private:
  explicit OutputFile(Output output) : output_(std::move(output)) {}
  Output output_;
};

// Removes incomplete files if a signal ends the program, as errors do, and turns exceeding the file
// size limit into an error of the write. Does not affect commands that are started.
void EndTidily();

// Writes all of the text to stdout; fails if that is not possible (a full disk).
Status WriteStdout(std::string_view text);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_OUTPUT_FILE_H_
