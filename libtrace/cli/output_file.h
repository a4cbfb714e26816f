// SPDX-License-Identifier: Apache-2.0
//
// A file that is there when it is complete.
#ifndef LIBTRACE_CLI_OUTPUT_FILE_H_
#define LIBTRACE_CLI_OUTPUT_FILE_H_

#include <string>
#include <string_view>

#include "libtrace/stream/result.h"

namespace acceltrace::cli {

// Writes beside the target and renames at the end: what was there before stays
// until then, and stays when something fails. "-" is stdout; devices, pipes and
// sockets are written to as they are.
class OutputFile {
 public:
  static Result<OutputFile> Create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status Write(std::string_view bytes);
  Status Finish();

 private:
  OutputFile() = default;
  int fd_ = -1;
  bool owned_ = false;          // the descriptor is ours to close
  std::string path_, partial_;  // partial_ empty: written in place
};

// Writes all of it to stdout; an error if that fails (a full disk).
Status WriteStdout(std::string_view text);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_OUTPUT_FILE_H_
