// SPDX-License-Identifier: Apache-2.0
//
// The files that a command will map to execute, as far as that can be known before it runs: its
// programs, and the libraries that the loader finds for them. Whoever records a process looks
// through what it has mapped; a process that is held back before it runs the command, and has
// them mapped, is seen with the copies of the API library that the command will use.
#ifndef LIBTRACE_CLI_COMMAND_FILES_H_
#define LIBTRACE_CLI_COMMAND_FILES_H_

#include <string>
#include <utility>
#include <vector>

namespace acceltrace::cli {

// As the loader itself says (--list). The programs are the command's first word and what its other
// words name, as in `env LD_LIBRARY_PATH=lib ./program` or `sh -c ./program`; besides, each
// libaxl.so in LD_LIBRARY_PATH, for programs that load it later. Each file once.
std::vector<std::string> CommandFiles(const std::vector<std::string>& command);

// Files that are mapped as programs are while this lives, in this process and those that it forks.
class MappedFiles {
 public:
  // What is no regular file, or cannot be mapped so, is left out.
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
