// SPDX-License-Identifier: Apache-2.0
//
// The options that every reading verb has: which part of the trace.
#ifndef LIBTRACE_CLI_FILTERS_H_
#define LIBTRACE_CLI_FILTERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libtrace/analysis/conservation.h"
#include "libtrace/analysis/report.h"
#include "libtrace/cli/verb.h"
#include "libtrace/model/model.h"
#include "libtrace/model/partial.h"
#include "libtrace/model/select.h"
#include "libtrace/model/wanted.h"

namespace acceltrace::cli {

// Rows of the tables of a report.
struct Arrangement {
  uint64_t top = 0;  // 0: as many as fit
  std::string sort;  // empty: as it comes
};

// A part of a trace, and what reading it may take.
struct Part : model::Selection {
  uint64_t memory_bytes = 0;  // 0: as much as it takes
  // False: damage elsewhere in the file does not matter.
  bool check_all = true;
  // Of the commands only these fields, and no other table: model::PartialTrace::LoadCommands().
  std::optional<std::vector<uint32_t>> command_fields;
  std::optional<model::Wanted> wanted;  // of a part
  bool calls_only = false;              // likewise the API calls: LoadCalls()
  // Of a long trace no more than what lies between these host times need be there; the rest may be.
  std::optional<model::Stretch> needed;
};

void AddFilters(Verb* verb, model::Selection* selection);
void AddMemory(Verb* verb, uint64_t* memory_bytes);
void AddArrangement(Verb* verb, Arrangement* arrangement);

// A trace, or the part of it that was asked for.
struct Loaded {
  std::unique_ptr<model::Model> model;
  // Laws are of the whole: of a part they would not hold. None if it is the whole.
  std::optional<std::vector<analysis::Law>> laws;
  bool narrow = false;  // what Part::command_fields, calls_only or wanted say, and no more

  analysis::Report Report(analysis::Predictions predictions) const {
    return analysis::ComputeReport(*model, laws ? &*laws : nullptr, predictions);
  }
  // Where its time went, and the verdict.
  analysis::Report Judgement() const {
    return analysis::ComputeJudgement(*model, laws ? &*laws : nullptr);
  }
  // As far as the first screen shows it.
  analysis::Report Answer() const {
    return analysis::ComputeAnswer(*model, laws ? &*laws : nullptr);
  }
};
// Whether laws are wanted; kIfWhole: not of a long trace of which only a part has to be read
// (model/partial.h), and then `laws` is empty.
enum class Laws { kNone, kIfWhole, kAlways };
// *status is the exit status where there is an error.
Result<Loaded> LoadSelected(const std::string& file, const Part& selection, Laws laws, int* status);

// All of a trace, if that and its report are likely to fit into so much memory (0: any); the
// error says what else can be done. kChecks: for LoadOptions::checks_only.
enum class Need { kModel, kReport, kChecks };
// wanted: LoadOptions::wanted.
Result<std::unique_ptr<model::Model>> LoadWithin(const std::string& file, uint64_t memory_bytes,
                                                 Need need, const model::Wanted* wanted = nullptr);

void Arrange(const Arrangement& arrangement, analysis::Report* report);

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_FILTERS_H_
