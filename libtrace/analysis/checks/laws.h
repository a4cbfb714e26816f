// SPDX-License-Identifier: Apache-2.0
//
// Counts the cases of laws, and declares the groups of laws. Internal: others include
// conservation.h.
#ifndef LIBTRACE_ANALYSIS_CHECKS_LAWS_H_
#define LIBTRACE_ANALYSIS_CHECKS_LAWS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/analysis/checks/conservation.h"
#include "libtrace/analysis/checks/coverage.h"
#include "libtrace/analysis/checks/law_pass.h"

namespace acceltrace::analysis {

// Counts the cases of one law; the first broken one becomes its note.
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

  // Adds cases that hold, and the sum of the values that were compared.
  void Hold(uint64_t cases, uint64_t sum = 0) {
    law_.checked += cases;
    law_.left += sum, law_.right += sum;
  }

  // Sets the reason in case nothing could be checked; the first reason is kept.
  void Because(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }
  // Makes the law unknown whatever its cases are: rows are missing, which is reported elsewhere.
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
  // Must be called after the pass has ended.
  virtual void Finish(std::vector<Law>* laws) = 0;
};
// `complete` means that the trace has every event that was collected.
std::unique_ptr<LawGroup> JobLaws(const Coverage& coverage, bool complete, LawPass* pass);
std::unique_ptr<LawGroup> CallLaws(const Coverage& coverage, bool complete, LawPass* pass);
std::unique_ptr<LawGroup> CounterLaws(const Coverage& coverage, uint32_t device, bool complete,
                                      LawPass* pass);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CHECKS_LAWS_H_
