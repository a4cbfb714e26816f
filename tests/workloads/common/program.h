// SPDX-License-Identifier: Apache-2.0
//
// Common parts of the programs in this folder.
#ifndef TESTS_WORKLOADS_COMMON_PROGRAM_H_
#define TESTS_WORKLOADS_COMMON_PROGRAM_H_

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>

#include "libtrace/base/result.h"

namespace acceltrace::workloads {

// Returns the exit status if the program should exit: 0 after --help, 2 on misuse.
inline std::optional<int> ParseArguments(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

// Prints the error and returns the exit status.
inline int Fail(const char* program, const Status& status, int exit_status = 1) {
  std::fprintf(stderr, "%s: %s\n", program, status.message().c_str());
  return exit_status;
}

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_COMMON_PROGRAM_H_
