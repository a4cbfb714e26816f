// SPDX-License-Identifier: Apache-2.0
//
// The verbs of `acceltrace`.
//
// Each verb adds its subcommand to the command line and, when it is chosen, runs
// and returns an exit status: 0 fine, 1 a finding or a failed run, 2 misuse.
// What went wrong is one line on stderr that says what to do about it.
#ifndef LIBTRACE_CLI_COMMAND_H_
#define LIBTRACE_CLI_COMMAND_H_

#include <functional>
#include <string>
#include <vector>

#include "libtrace/analysis/verdict.h"
#include "libtrace/cli/verb.h"

namespace acceltrace::cli {

enum Exit { kOk = 0, kFailed = 1, kMisuse = 2 };

// Set by the subcommand that was chosen.
using Run = std::function<int()>;

// trailing: what follows after -- on the command line.
void AddRecord(Verb* app, Run* run, const std::vector<std::string>* trailing);
// start, stop, snapshot and status.
void AddService(Verb* app, Run* run);
void AddPack(Verb* app, Run* run);
void AddReport(Verb* app, Run* run);
void AddVerify(Verb* app, Run* run);
void AddExport(Verb* app, Run* run);
void AddHtml(Verb* app, Run* run);
void AddServe(Verb* app, Run* run);
void AddCheck(Verb* app, Run* run);
void AddDiff(Verb* app, Run* run);
void AddQuery(Verb* app, Run* run);
void AddDevices(Verb* app, Run* run);
void AddProviders(Verb* app, Run* run);
void AddCriticalPath(Verb* app, Run* run);
void AddWhatIf(Verb* app, Run* run);
void AddTop(Verb* app, Run* run);

// What is wrong with a trace is said on stderr when its answer was written: the exit status.
int VerdictStatus(const std::string& file, const analysis::Verdict& verdict);

// The same for what is not a verdict: `lacks` says what lacks what is missing.
int FaultStatus(const std::string& file, const model::Model& model, const std::string& lacks);

// FILE of a verb that reads a trace.
void AddTraceFile(Verb* verb, std::string* file);

// "acceltrace: MESSAGE" on stderr; returns status.
int Fail(int status, const std::string& message);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_COMMAND_H_
