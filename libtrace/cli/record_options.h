// SPDX-License-Identifier: Apache-2.0
//
// What a recording is asked for on the command line, and how that is said to who records.
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
  uint32_t keep = 0;  // 0: the usual number
  std::vector<std::string> command;
  // Of a daemon of its own only. share: where others may join it.
  std::string priority, cpu, share;
};

// The options that a daemon of its own and the service have in common.
void AddRecordOptions(Verb* verb, RecordOptions* options);
// --socket; *socket is the service's usual one.
void AddSocketOption(Verb* verb, std::string* socket);

// The files besides the output: further parts of a rotation, or those of triggers.
std::vector<std::string> MoreFiles(const RecordOptions& options);
// Why these options do not go together; empty: they do.
std::string FilesMisuse(const RecordOptions& options);

// For `acceltraced --private`.
std::vector<std::string> DaemonArguments(const RecordOptions& options);
// For the service: its "start" command, without the file.
nlohmann::json StartCommand(const RecordOptions& options);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_RECORD_OPTIONS_H_
