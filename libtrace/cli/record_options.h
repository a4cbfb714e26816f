// SPDX-License-Identifier: Apache-2.0
//
// The command-line options of a recording, and their form for the recorder.
#ifndef LIBTRACE_CLI_RECORD_OPTIONS_H_
#define LIBTRACE_CLI_RECORD_OPTIONS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libtrace/cli/verb.h"

namespace acceltrace::cli {

struct RecordOptions {
  std::string output;
  std::vector<uint32_t> pids;
  std::vector<std::string> devices, libraries;
  std::string probes, sources, ring, counter_period, overhead;
  bool system = false, no_device = false, stacks = false;
  std::string rotate_size, rotate_time;
  std::vector<std::string> triggers;
  uint32_t keep = 0;  // 0 = the default
  std::vector<std::string> command;
  // Only for a private daemon. `share` is where others may join it.
  std::string priority, cpu, share;
};

// Adds the options that a private daemon and the service have in common.
void AddRecordOptions(Verb* verb, RecordOptions* options);
// Adds --socket, with the service's default for *socket.
void AddSocketOption(Verb* verb, std::string* socket);

// Returns the files in addition to the output: further parts of a rotation, or those of triggers.
std::vector<std::string> MoreFiles(const RecordOptions& options);
// Returns why the options cannot be combined; empty if they can.
std::string FilesMisuse(const RecordOptions& options);

// Returns the arguments for `acceltraced --private`.
std::vector<std::string> DaemonArguments(const RecordOptions& options);
// Returns the "start" command for the service, without the file.
nlohmann::json StartCommand(const RecordOptions& options);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_RECORD_OPTIONS_H_
