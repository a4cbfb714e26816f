// SPDX-License-Identifier: Apache-2.0
//
// Laws of what threads did: calls and ranges nest, the driver's events of a call lie within
// it, a job has its call.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "libtrace/analysis/laws.h"

namespace acceltrace::analysis {
namespace {

using proto::HostBatch;

using Thread = std::pair<uint32_t, uint32_t>;  // pid, tid

// Spans of each thread, by begin: each lies within the one that was begun before it, or after it.
template <typename Spans>
void CheckNesting(const Spans& spans, const char* what, Tally* nest) {
  std::map<Thread, std::vector<size_t>> open;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (spans.began_before[i]) continue;  // its true begin is not known
    std::vector<size_t>& stack = open[{spans.pid[i], spans.tid[i]}];
    while (!stack.empty() && spans.end_ns[stack.back()] <= spans.begin_ns[i]) stack.pop_back();
    const bool within = stack.empty() || spans.end_ns[i] <= spans.end_ns[stack.back()] ||
                        spans.open[i] || spans.open[stack.back()];
    nest->Holds(within, [&] {
      return fmt::format("{} of thread {} at {} ns ends after the one around it", what,
                         spans.tid[i], spans.begin_ns[i]);
    });
    stack.push_back(i);
  }
}

class CallChecker {
 public:
  CallChecker(const model::Model& model, const Coverage& coverage)
      : model_(model), coverage_(coverage), begin_ns_(coverage.begin_ns()) {
    // Calls are recorded by a probe each, or through a ring that a probe announces.
    for (const proto::Probe& probe : model.info.probes()) {
      const bool calls = probe.name().find("api_begin") != std::string::npos ||
                         probe.name().find("ring_ready") != std::string::npos;
      api_ = api_ || (calls && probe.attached());
    }
    for (const auto& unseen : model.accounts.unseen()) unseen_.insert(unseen.pid());
    const model::ApiCalls& api = model.api;
    for (size_t i = 0; i < api.size(); ++i) {
      if (api.correlation[i] == 0) continue;
      by_id_.emplace(api.correlation[i], i);
      // Of calls in progress at the beginning, only those that ended are there.
      const auto [first, fresh] =
          first_id_.try_emplace({api.pid[i], api.tid[i]}, api.correlation[i]);
      if (!fresh) first->second = std::min(first->second, api.correlation[i]);
    }
  }

  void Run(bool complete, std::vector<Law>* laws) {
    CheckNesting(model_.api, "a call", &nest_);
    CheckRanges();
    CheckHostEvents();
    CheckJobs();
    for (Tally* tally : {&nest_, &within_, &called_}) {
      if (!complete) tally->Excuse("events were lost");
      laws->push_back(tally->Done());
    }
  }

 private:
  // Ranges only: marks have no length.
  void CheckRanges() {
    model::Ranges ranges;
    for (size_t i = 0; i < model_.ranges.size(); ++i) {
      if (model_.ranges.mark[i]) continue;
      ranges.begin_ns.push_back(model_.ranges.begin_ns[i]);
      ranges.end_ns.push_back(model_.ranges.end_ns[i]);
      ranges.pid.push_back(model_.ranges.pid[i]);
      ranges.tid.push_back(model_.ranges.tid[i]);
      ranges.open.push_back(model_.ranges.open[i]);
      ranges.began_before.push_back(model_.ranges.began_before[i]);
    }
    CheckNesting(ranges, "a range", &nest_);
  }

  // What a thread did in the driver on behalf of a call happened during that call.
  void CheckHostEvents() {
    const model::HostEvents& host = model_.host;
    const model::ApiCalls& api = model_.api;
    for (size_t i = 0; i < host.size(); ++i) {
      uint64_t id = host.correlation[i];
      switch (host.kind[i]) {
        case HostBatch::KIND_WAKE:
          id = host.arg1[i];  // of the waiting call
          break;
        case HostBatch::KIND_SUBMIT:
        case HostBatch::KIND_DOORBELL:
        case HostBatch::KIND_SUBMIT_END:
        case HostBatch::KIND_WAIT:
          break;
        default:
          continue;
      }
      const auto found = id == 0 ? by_id_.end() : by_id_.find(id);
      if (found == by_id_.end()) continue;
      const size_t call = found->second;
      const int64_t at_ns = host.time_ns[i];
      within_.Holds((api.began_before[call] || api.begin_ns[call] <= at_ns) &&
                        (api.open[call] || at_ns <= api.end_ns[call]),
                    [&] {
                      return fmt::format(
                          "{} of job {} at {} ns, its call {} {} from {} to {} ns",
                          HostBatch::Kind_Name(static_cast<HostBatch::Kind>(host.kind[i])),
                          host.job[i], at_ns, id & 0xffffffff, model_.strings.Get(api.name[call]),
                          api.begin_ns[call], api.end_ns[call]);
                    });
    }
  }

  // A thread whose calls are recorded submits from within one.
  void CheckJobs() {
    const model::Jobs& jobs = model_.jobs;
    for (size_t j = 0; j < jobs.size(); ++j) {
      if (jobs.submit_ns[j] == model::kNoTime || jobs.host_correlation[j] == 0 ||
          jobs.submit_ns[j] < begin_ns_) {
        continue;
      }
      const auto first = first_id_.find({jobs.pid[j], jobs.tid[j]});
      const bool seen = first != first_id_.end();
      if (coverage_.CallsAttached(jobs.pid[j])) {
        // It makes no calls that are seen, or this one went on from beginning to end.
        if (!seen || jobs.host_correlation[j] < first->second) continue;
      } else if (!api_ || unseen_.count(jobs.pid[j]) != 0 ||
                 jobs.host_correlation[j] >> 32 != jobs.pid[j]) {
        continue;  // calls were not collected, or it is no call's number
      }
      called_.Holds(by_id_.count(jobs.host_correlation[j]) != 0, [&] {
        return fmt::format("{} job {}: no call with its correlation {}",
                           model_.devices[jobs.device[j]].about.name(), jobs.job[j],
                           jobs.host_correlation[j]);
      });
    }
  }

  const model::Model& model_;
  const Coverage& coverage_;
  const int64_t begin_ns_;
  bool api_ = false;                     // calls were collected
  std::unordered_set<uint32_t> unseen_;  // processes whose calls could not be
  std::unordered_map<uint64_t, size_t> by_id_;
  std::map<Thread, uint64_t> first_id_;
  Tally nest_{"nesting", "calls and ranges of a thread lie within each other or apart"};
  Tally within_{"events_of_calls", "what the driver did for a call happened during it"};
  Tally called_{"calls_of_jobs", "each job has the call that submitted it"};
};

}  // namespace

void CallLaws(const model::Model& model, const Coverage& coverage, bool complete,
              std::vector<Law>* laws) {
  CallChecker(model, coverage).Run(complete, laws);
}

}  // namespace acceltrace::analysis
