// SPDX-License-Identifier: Apache-2.0
//
// A file that is there when it is complete.
#ifndef LIBTRACE_CLI_OUTPUT_FILE_H_
#define LIBTRACE_CLI_OUTPUT_FILE_H_

#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libtrace/stream/output.h"
#include "libtrace/stream/result.h"

namespace acceltrace::cli {

// stream/output.h says where it is written: what was there before stays until it is complete, and
// stays when something fails.
class OutputFile {
 public:
  // inputs: the files that are read, none of which is written over.
  static Result<OutputFile> Create(const std::string& path, const std::vector<std::string>& inputs);

  // It is stdout, by whatever name.
  bool is_stdout() const { return output_.is_descriptor(STDOUT_FILENO); }
  Status Write(std::string_view bytes);
  Status Finish();

 private:
  explicit OutputFile(stream::Output output) : output_(std::move(output)) {}
  stream::Output output_;
};

// What is not complete is removed when a signal ends the program, as it is when an error does; a
// file that is too large is an error of the call that writes it. The commands that are run are not
// concerned.
void EndTidily();

// Writes all of it to stdout; an error if that fails (a full disk).
Status WriteStdout(std::string_view text);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_OUTPUT_FILE_H_
