// SPDX-License-Identifier: Apache-2.0
//
// Laws of what threads did: calls and ranges nest, the driver's events of a call lie within
// it, a job has its call.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "libtrace/analysis/cursor.h"
#include "libtrace/analysis/laws.h"
#include "libtrace/model/key_index.h"
#include "libtrace/model/rising_ids.h"

namespace acceltrace::analysis {
namespace {

using proto::HostBatch;

using Thread = std::pair<uint32_t, uint32_t>;  // pid, tid

// Spans of each thread, by begin: each lies within the one that was begun before it, or after it.
// skip(row): it is none.
template <typename Spans, typename Skip>
void CheckNesting(const Spans& spans, const char* what, const Skip& skip, Tally* nest) {
  std::map<Thread, std::vector<uint32_t>> open;
  std::vector<uint32_t>* known = nullptr;  // of the thread of the span before
  Thread last;
  Cursor<int64_t> begin(spans.begin_ns), end(spans.end_ns);
  Cursor<uint32_t> pid(spans.pid), tid(spans.tid);
  Cursor<uint8_t> began_before(spans.began_before), is_open(spans.open);
  Cursor<int64_t> end_around(spans.end_ns);
  for (size_t i = 0; i < spans.size(); ++i) {
    if (skip(i) || began_before[i]) continue;  // its true begin is not known
    const Thread thread(pid[i], tid[i]);
    if (known == nullptr || thread != last) known = &open[thread];
    last = thread;
    std::vector<uint32_t>& stack = *known;
    const int64_t begin_ns = begin[i];
    while (!stack.empty() && end_around[stack.back()] <= begin_ns) stack.pop_back();
    const bool within = stack.empty() || end[i] <= end_around[stack.back()] || is_open[i] ||
                        spans.open[stack.back()];
    nest->Holds(within, [&] {
      return fmt::format("{} of thread {} at {} ns ends after the one around it", what,
                         spans.tid[i], spans.begin_ns[i]);
    });
    stack.push_back(static_cast<uint32_t>(i));
  }
}

// Calls by their correlation: of several the first.
class CallsById {
 public:
  explicit CallsById(const model::ApiCalls& api)
      : ids_(api.correlation), rising_(ids_), index_(rising_.rise() ? 0 : api.size()) {}
  void Add(uint64_t id, uint32_t row) {
    if (!rising_.rise()) index_.Add(id, row, KeyOf{ids_});
  }
  static constexpr uint32_t kNone = model::KeyIndex::kNone;
  // id: not 0.
  uint32_t Find(uint64_t id) {
    // Events of one call follow each other.
    if (id != last_id_) {
      last_row_ = rising_.rise() ? rising_.Find(id) : index_.Find(id, KeyOf{ids_});
    }
    last_id_ = id;
    return last_row_;
  }

 private:
  static_assert(model::KeyIndex::kNone == model::kNoRow);
  struct KeyOf {
    const model::Column<uint64_t>& ids;
    uint64_t operator()(uint32_t row) const { return ids.At(row); }
  };

  const model::Column<uint64_t>& ids_;
  model::RisingIds rising_;
  model::KeyIndex index_;
  uint64_t last_id_ = 0;  // no call's
  uint32_t last_row_ = kNone;
};

class CallChecker {
 public:
  CallChecker(const model::Model& model, const Coverage& coverage)
      : model_(model), coverage_(coverage), begin_ns_(coverage.begin_ns()), by_id_(model.api) {
    // Calls are recorded by a probe each, or through a ring that a probe announces.
    for (const proto::Probe& probe : model.info.probes()) {
      const bool calls = probe.name().find("api_begin") != std::string::npos ||
                         probe.name().find("ring_ready") != std::string::npos;
      api_ = api_ || (calls && probe.attached());
    }
    for (const auto& unseen : model.accounts.unseen()) unseen_.insert(unseen.pid());
    const model::ApiCalls& api = model.api;
    Cursor<uint64_t> id(api.correlation);
    Cursor<uint32_t> pid(api.pid), tid(api.tid);
    uint64_t* first = nullptr;
    Thread last;
    for (uint32_t i = 0; i < api.size(); ++i) {
      const uint64_t correlation = id[i];
      if (correlation == 0) continue;
      by_id_.Add(correlation, i);
      // Of calls in progress at the beginning, only those that ended are there.
      const Thread thread(pid[i], tid[i]);
      if (first == nullptr || thread != last) {
        first = &first_id_.try_emplace(thread, correlation).first->second;
      }
      last = thread;
      *first = std::min(*first, correlation);
    }
  }

  void Run(bool complete, std::vector<Law>* laws) {
    CheckNesting(
        model_.api, "a call", [](size_t) { return false; }, &nest_);
    // Ranges only: marks have no length.
    const model::Ranges& ranges = model_.ranges;
    CheckNesting(
        ranges, "a range", [&](size_t i) { return ranges.mark[i] != 0; }, &nest_);
    CheckHostEvents();
    CheckJobs();
    for (Tally* tally : {&nest_, &within_, &called_}) {
      if (!complete) tally->Excuse("events were lost");
      laws->push_back(tally->Done());
    }
  }

 private:
  // What a thread did in the driver on behalf of a call happened during that call.
  void CheckHostEvents() {
    const model::HostEvents& host = model_.host;
    const model::ApiCalls& api = model_.api;
    Cursor<uint8_t> kind(host.kind);
    Cursor<uint64_t> correlation(host.correlation);
    Cursor<int64_t> time_ns(host.time_ns);
    Cursor<int64_t> begin_ns(api.begin_ns), end_ns(api.end_ns);
    Cursor<uint8_t> began_before(api.began_before), open(api.open);
    for (size_t i = 0; i < host.size(); ++i) {
      uint64_t id = 0;
      switch (kind[i]) {
        case HostBatch::KIND_WAKE:
          id = host.arg1[i];  // of the waiting call
          break;
        case HostBatch::KIND_SUBMIT:
        case HostBatch::KIND_DOORBELL:
        case HostBatch::KIND_SUBMIT_END:
        case HostBatch::KIND_WAIT:
          id = correlation[i];
          break;
        default:
          continue;
      }
      const uint32_t call = id == 0 ? CallsById::kNone : by_id_.Find(id);
      if (call == CallsById::kNone) continue;
      const int64_t at_ns = time_ns[i];
      within_.Holds(
          (began_before[call] || begin_ns[call] <= at_ns) && (open[call] || at_ns <= end_ns[call]),
          [&] {
            return fmt::format("{} of job {} at {} ns, its call {} {} from {} to {} ns",
                               HostBatch::Kind_Name(static_cast<HostBatch::Kind>(host.kind[i])),
                               host.job[i], at_ns, id & 0xffffffff,
                               model_.strings.Get(api.name[call]), api.begin_ns[call],
                               api.end_ns[call]);
          });
    }
  }

  // A thread whose calls are recorded submits from within one.
  void CheckJobs() {
    const model::Jobs& jobs = model_.jobs;
    Cursor<int64_t> submit_ns(jobs.submit_ns);
    Cursor<uint64_t> host_correlation(jobs.host_correlation);
    Cursor<uint32_t> pids(jobs.pid), tids(jobs.tid);
    // Of the thread of the job before.
    Thread last;
    bool any = false, attached = false;
    auto first = first_id_.end();
    for (size_t j = 0; j < jobs.size(); ++j) {
      const int64_t at_ns = submit_ns[j];
      const uint64_t id = host_correlation[j];
      if (at_ns == model::kNoTime || id == 0 || at_ns < begin_ns_) continue;
      const Thread thread(pids[j], tids[j]);
      if (!any || thread != last) {
        first = first_id_.find(thread);
        attached = coverage_.CallsAttached(thread.first);
      }
      any = true, last = thread;
      const bool seen = first != first_id_.end();
      if (attached) {
        // It makes no calls that are seen, or this one went on from beginning to end.
        if (!seen || id < first->second) continue;
      } else if (!api_ || unseen_.count(thread.first) != 0 || id >> 32 != thread.first) {
        continue;  // calls were not collected, or it is no call's number
      }
      called_.Holds(by_id_.Find(id) != CallsById::kNone, [&] {
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
  CallsById by_id_;
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
