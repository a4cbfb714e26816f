// SPDX-License-Identifier: Apache-2.0
//
// How laws are counted, and the groups of them. Internal: conservation.h is what others include.
#ifndef LIBTRACE_ANALYSIS_LAWS_H_
#define LIBTRACE_ANALYSIS_LAWS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/analysis/conservation.h"
#include "libtrace/analysis/coverage.h"
#include "libtrace/analysis/law_pass.h"

namespace acceltrace::analysis {

// Counts cases of one law; the first broken one becomes its note.
class Tally {
 public:
  Tally(std::string name, std::string text, std::string device = "") {
    law_.name = std::move(name);
    law_.text = std::move(text);
    law_.device = std::move(device);
  }

  template <typename Describe>
  void Case(uint64_t left, uint64_t right, const Describe& describe) {
    ++law_.checked;
    law_.left += left;
    law_.right += right;
    if (left != right && law_.broken++ == 0) law_.note = describe();
  }
  template <typename Describe>
  void Holds(bool holds, const Describe& describe) {
    ++law_.checked;
    if (!holds && law_.broken++ == 0) law_.note = describe();
  }

  // So many cases that hold, and the sum of what was compared.
  void Hold(uint64_t cases, uint64_t sum = 0) {
    law_.checked += cases;
    law_.left += sum, law_.right += sum;
  }

  // What is said when nothing could be checked; the first reason stays.
  void Because(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }
  // No case says anything then: rows are missing, and that is reported elsewhere.
  void Excuse(std::string why) { excuse_ = std::move(why); }

  Law Done() {
    if (law_.broken > 0 && excuse_.empty()) {
      law_.state = Law::State::kBroken;
    } else if (law_.checked > 0 && excuse_.empty()) {
      law_.state = Law::State::kHolds;
    } else if (!excuse_.empty()) {
      law_.note = law_.note.empty() ? excuse_ : excuse_ + "; " + law_.note;
    } else {
      law_.note = why_.empty() ? "nothing to compare" : why_;
    }
    return law_;
  }

 private:
  Law law_;
  std::string why_, excuse_;
};

class LawGroup {
 public:
  virtual ~LawGroup() = default;
  // Once the pass is over.
  virtual void Finish(std::vector<Law>* laws) = 0;
};
// complete: every event that was collected is in the trace.
std::unique_ptr<LawGroup> JobLaws(const Coverage& coverage, bool complete, LawPass* pass);
std::unique_ptr<LawGroup> CallLaws(const Coverage& coverage, bool complete, LawPass* pass);
std::unique_ptr<LawGroup> CounterLaws(const Coverage& coverage, uint32_t device, bool complete,
                                      LawPass* pass);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_LAWS_H_
