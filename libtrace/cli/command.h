// SPDX-License-Identifier: Apache-2.0
//
// The verbs of `acceltrace`.
//
// Each verb adds its subcommand to the command line and, when it is chosen, runs
// and returns an exit status: 0 fine, 1 a finding or a failed run, 2 misuse.
// What went wrong is one line on stderr that says what to do about it.
#ifndef LIBTRACE_CLI_COMMAND_H_
#define LIBTRACE_CLI_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "libtrace/analysis/verdict.h"

namespace acceltrace::cli {

enum Exit { kOk = 0, kFailed = 1, kMisuse = 2 };

// Set by the subcommand that was chosen.
using Run = std::function<int()>;

// trailing: what follows after -- on the command line.
void AddRecord(CLI::App* app, Run* run, const std::vector<std::string>* trailing);
// start, stop, snapshot and status.
void AddService(CLI::App* app, Run* run);
void AddPack(CLI::App* app, Run* run);
void AddReport(CLI::App* app, Run* run);
void AddVerify(CLI::App* app, Run* run);
void AddExport(CLI::App* app, Run* run);
void AddHtml(CLI::App* app, Run* run);
void AddServe(CLI::App* app, Run* run);
void AddCheck(CLI::App* app, Run* run);
void AddDiff(CLI::App* app, Run* run);
void AddQuery(CLI::App* app, Run* run);
void AddDevices(CLI::App* app, Run* run);
void AddProviders(CLI::App* app, Run* run);
void AddCriticalPath(CLI::App* app, Run* run);
void AddWhatIf(CLI::App* app, Run* run);
void AddTop(CLI::App* app, Run* run);

// What is wrong with a trace is said on stderr when its answer was written: the exit status.
int VerdictStatus(const std::string& file, const analysis::Verdict& verdict);

// The same for what is not a verdict: `lacks` says what lacks what is missing.
int FaultStatus(const std::string& file, const model::Model& model, const std::string& lacks);

// FILE of a verb that reads a trace.
void AddTraceFile(CLI::App* verb, std::string* file);

// "acceltrace: MESSAGE" on stderr; returns status.
int Fail(int status, const std::string& message);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_COMMAND_H_
