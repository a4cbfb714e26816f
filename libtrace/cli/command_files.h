// SPDX-License-Identifier: Apache-2.0
//
// Finds the files that a command will map for execution, as far as this can be known before it
// runs: its programs, and the libraries that the loader finds for them. The recorder examines the
// files that a process has mapped. If a process has these files mapped while it is held back before
// it runs the command, the copies of the API library that the command will use are found in time.
#ifndef LIBTRACE_CLI_COMMAND_FILES_H_
#define LIBTRACE_CLI_COMMAND_FILES_H_

#include <string>
#include <utility>
#include <vector>

namespace acceltrace::cli {

// Asks the loader itself (--list). Programs are the first word of the command and files that other
// words name, as in `env LD_LIBRARY_PATH=lib ./program` or `sh -c ./program`. In addition, returns
// each libaxl.so in LD_LIBRARY_PATH, for programs that load it later. Each file is returned once.
std::vector<std::string> CommandFiles(const std::vector<std::string>& command);

// Maps files as programs are mapped, for the lifetime of this object, in this process and those
// that it forks.
class MappedFiles {
 public:
  // Ignores what is not a regular file or cannot be mapped in this way.
  explicit MappedFiles(const std::vector<std::string>& files);
  ~MappedFiles();
  MappedFiles(const MappedFiles&) = delete;
  MappedFiles& operator=(const MappedFiles&) = delete;

  size_t size() const { return mapped_.size(); }

 private:
  std::vector<std::pair<void*, size_t>> mapped_;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_COMMAND_FILES_H_
