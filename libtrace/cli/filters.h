// SPDX-License-Identifier: Apache-2.0
//
// The options that all verbs for reading have: which part of the trace.
#ifndef LIBTRACE_CLI_FILTERS_H_
#define LIBTRACE_CLI_FILTERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libtrace/analysis/checks/conservation.h"
#include "libtrace/analysis/report/report.h"
#include "libtrace/cli/verb.h"
#include "libtrace/model/part/partial.h"
#include "libtrace/model/part/select.h"
#include "libtrace/model/tables/model.h"
#include "libtrace/model/tables/wanted.h"

namespace acceltrace::cli {

// How the tables of a report are arranged.
struct Arrangement {
  uint64_t top = 0;  // 0 = as many as fit
  std::string sort;  // if empty, the default order
};

// A part of a trace, and limits on reading it.
struct Part : model::Selection {
  uint64_t memory_bytes = 0;  // 0 = no limit
  // If false, damage in other parts of the file does not matter.
  bool check_all = true;
  // Load only these fields of commands and no other table: model::PartialTrace::LoadCommands().
  std::optional<std::vector<uint32_t>> command_fields;
  std::optional<model::Wanted> wanted;  // what to load of a part
  bool calls_only = false;              // load only API calls: LoadCalls()
  // Of a long trace, only the time between these host times is needed; more may be loaded.
  std::optional<model::Stretch> needed;
};

void AddFilters(Verb* verb, model::Selection* selection);
void AddMemory(Verb* verb, uint64_t* memory_bytes);
void AddArrangement(Verb* verb, Arrangement* arrangement);

// A trace, or the requested part of it.
struct Loaded {
  std::unique_ptr<model::Model> model;
  // The laws of the whole trace, since they would not hold for a part. Not set for a whole trace.
  std::optional<std::vector<analysis::Law>> laws;
  bool narrow = false;  // only has what Part::command_fields, calls_only or wanted select

  analysis::Report Report(analysis::Predictions predictions) const {
    return analysis::ComputeReport(*model, laws ? &*laws : nullptr, predictions);
  }
  // Computes where the time went, and the verdict.
  analysis::Report Judgement() const {
    return analysis::ComputeJudgement(*model, laws ? &*laws : nullptr);
  }
  // Computes what the first screen shows.
  analysis::Report Answer() const {
    return analysis::ComputeAnswer(*model, laws ? &*laws : nullptr);
  }
};
// Whether laws are needed. kIfWhole: not if only a part of a long trace has to be read
// (model/part/partial.h); `laws` is then empty.
enum class Laws { kNone, kIfWhole, kAlways };
// If there is an error, *status is the exit status.
Result<Loaded> LoadSelected(const std::string& file, const Part& selection, Laws laws, int* status);

// Loads a whole trace if it and its report are likely to fit into this much memory (0 = no limit);
// the error suggests alternatives. kChecks is for LoadOptions::checks_only.
enum class Need { kModel, kReport, kChecks };
// For `wanted`, see LoadOptions::wanted.
Result<std::unique_ptr<model::Model>> LoadWithin(const std::string& file, uint64_t memory_bytes,
                                                 Need need, const model::Wanted* wanted = nullptr);

void Arrange(const Arrangement& arrangement, analysis::Report* report);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_FILTERS_H_
