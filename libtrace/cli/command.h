// SPDX-License-Identifier: Apache-2.0
//
// The verbs of `acceltrace`.
//
// Each verb adds its subcommand to the command line and, if selected, runs and returns an exit
// status: 0 success, 1 a finding or a failed run, 2 misuse. Errors are one line on stderr that says
// what to do about them.
#ifndef LIBTRACE_CLI_COMMAND_H_
#define LIBTRACE_CLI_COMMAND_H_

#include <functional>
#include <string>
#include <vector>

#include "libtrace/analysis/report/verdict.h"
#include "libtrace/cli/verb.h"

namespace acceltrace::cli {

enum Exit { kOk = 0, kFailed = 1, kMisuse = 2 };

// Set by the selected subcommand.
using Run = std::function<int()>;

// `trailing` are the words after -- on the command line.
void AddRecord(Verb* app, Run* run, const std::vector<std::string>* trailing);
// Adds start, stop, snapshot and status.
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

// Called after the answer was written. Reports on stderr what is wrong with the trace, and returns
// the exit status.
int VerdictStatus(const std::string& file, const analysis::Verdict& verdict);

// Does the same without a verdict; `lacks` names what lacks the missing data.
int FaultStatus(const std::string& file, const model::Model& model, const std::string& lacks);

// Adds the FILE of a verb that reads a trace.
void AddTraceFile(Verb* verb, std::string* file);

// Prints "acceltrace: MESSAGE" on stderr and returns status.
int Fail(int status, const std::string& message);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_COMMAND_H_
