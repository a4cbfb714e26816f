// SPDX-License-Identifier: Apache-2.0
//
// Laws of what threads did: calls and ranges nest, the driver's events of a call lie within
// it, a job has its call.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "libtrace/analysis/cursor.h"
#include "libtrace/analysis/laws.h"
#include "libtrace/model/key_index.h"
#include "libtrace/model/permute.h"
#include "libtrace/model/rising_ids.h"

namespace acceltrace::analysis {
namespace {

using proto::HostBatch;

using Thread = std::pair<uint32_t, uint32_t>;  // pid, tid

// Spans of each thread, by begin: each lies within the one that was begun before it, or after it.
// skip(row): it is none.
template <typename Spans, typename Skip>
void CheckNesting(const Spans& spans, const char* what, const Skip& skip, Tally* nest) {
  struct Span {
    int64_t end_ns;
    bool open;
  };
  std::map<Thread, std::vector<Span>> begun;
  std::vector<Span>* known = nullptr;  // of the thread of the span before
  Thread last;
  model::EachRow(
      [&](size_t i, int64_t begin_ns, int64_t end_ns, uint32_t pid, uint32_t tid,
          uint8_t began_before, uint8_t open) {
        if (skip(i) || began_before != 0) return true;  // its true begin is not known
        const Thread thread(pid, tid);
        if (known == nullptr || thread != last) known = &begun[thread];
        last = thread;
        std::vector<Span>& stack = *known;
        while (!stack.empty() && stack.back().end_ns <= begin_ns) stack.pop_back();
        const bool within =
            stack.empty() || end_ns <= stack.back().end_ns || open != 0 || stack.back().open;
        nest->Holds(within, [&] {
          return fmt::format("{} of thread {} at {} ns ends after the one around it", what, tid,
                             begin_ns);
        });
        stack.push_back({end_ns, open != 0});
        return true;
      },
      spans.begin_ns, spans.end_ns, spans.pid, spans.tid, spans.began_before, spans.open);
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
    if (id != last_id_) last_row_ = rising_.rise() ? FindRising(id) : index_.Find(id, KeyOf{ids_});
    last_id_ = id;
    return last_row_;
  }

 private:
  static_assert(model::KeyIndex::kNone == model::kNoRow);
  // Mostly the next one is asked for.
  uint32_t FindRising(uint64_t id) {
    const uint32_t next = last_row_ + 1;
    return next < ids_.size() && next_ids_[next] == id ? next : rising_.Find(id);
  }
  struct KeyOf {
    const model::Column<uint64_t>& ids;
    uint64_t operator()(uint32_t row) const { return ids.At(row); }
  };

  const model::Column<uint64_t>& ids_;
  Cursor<uint64_t> next_ids_{ids_};
  model::RisingIds rising_;
  model::KeyIndex index_;
  uint64_t last_id_ = 0;  // no call's
  uint32_t last_row_ = kNone;
};

class CallChecker : public LawGroup, public JobLaw {
 public:
  CallChecker(const Coverage& coverage, bool complete, LawPass* pass)
      : model_(pass->model()),
        coverage_(coverage),
        complete_(complete),
        begin_ns_(coverage.begin_ns()),
        in_(pass->jobs()),
        by_id_(model_.api) {
    // Calls are recorded by a probe each, or through a ring that a probe announces.
    for (const proto::Probe& probe : model_.info.probes()) {
      const bool calls = probe.name().find("api_begin") != std::string::npos ||
                         probe.name().find("ring_ready") != std::string::npos;
      api_ = api_ || (calls && probe.attached());
    }
    for (const auto& unseen : model_.accounts.unseen()) unseen_.insert(unseen.pid());
    FindFirst();
    pass->Add(this);
  }

  // A thread whose calls are recorded submits from within one.
  void OfJobs(size_t from, size_t to) override {
    for (size_t j = from; j < to; ++j) {
      const uint64_t id = in_.host_correlation[j];
      if (in_.submit_ns[j] == model::kNoTime || id == 0 || in_.submit_ns[j] < begin_ns_) continue;
      const Thread thread(in_.pid[j], in_.tid[j]);
      if (!caller_ || thread != caller_->thread) caller_ = CallerOf(thread);
      if (!HasCall(id, *caller_)) continue;
      called_.Holds(by_id_.Find(id) != CallsById::kNone, [&] {
        return fmt::format("{} job {}: no call with its correlation {}",
                           model_.devices[in_.device[j]].about.name(), model_.jobs.job[j], id);
      });
    }
  }

  void Finish(std::vector<Law>* laws) override {
    CheckNesting(
        model_.api, "a call", [](size_t) { return false; }, &nest_);
    // Ranges only: marks have no length.
    const model::Ranges& ranges = model_.ranges;
    CheckNesting(
        ranges, "a range", [&](size_t i) { return ranges.mark[i] != 0; }, &nest_);
    CheckHostEvents();
    for (Tally* tally : {&nest_, &within_, &called_}) {
      if (!complete_) tally->Excuse("events were lost");
      laws->push_back(tally->Done());
    }
  }

 private:
  void FindFirst() {
    const model::ApiCalls& api = model_.api;
    uint64_t* first = nullptr;
    Thread last;
    model::EachRow(
        [&](size_t i, uint64_t correlation, uint32_t pid, uint32_t tid) {
          if (correlation == 0) return true;
          by_id_.Add(correlation, static_cast<uint32_t>(i));
          // Of calls in progress at the beginning, only those that ended are there.
          const Thread thread(pid, tid);
          if (first == nullptr || thread != last) {
            first = &first_id_.try_emplace(thread, correlation).first->second;
          }
          last = thread;
          *first = std::min(*first, correlation);
          return true;
        },
        api.correlation, api.pid, api.tid);
  }

  // When a call was under way, as far as it is known.
  struct During {
    uint64_t id = 0;  // no call's
    uint32_t call = CallsById::kNone;
    int64_t begin_ns = 0, end_ns = 0;
  };
  void Find(uint64_t id, During* during) {
    const uint32_t call = id == 0 ? CallsById::kNone : by_id_.Find(id);
    during->id = id, during->call = call;
    if (call == CallsById::kNone) return;
    using Times = std::numeric_limits<int64_t>;
    during->begin_ns = began_before_[call] ? Times::min() : call_begin_ns_[call];
    during->end_ns = open_[call] ? Times::max() : call_end_ns_[call];
  }

  // What a thread did in the driver on behalf of a call happened during that call.
  void CheckHostEvents() {
    const model::HostEvents& host = model_.host;
    const model::ApiCalls& api = model_.api;
    During during;
    model::EachRow(
        [&](size_t i, uint8_t kind, uint64_t correlation, int64_t at_ns) {
          uint64_t id = correlation;
          switch (kind) {
            case HostBatch::KIND_WAKE:
              id = host.arg1[i];  // of the waiting call
              break;
            case HostBatch::KIND_SUBMIT:
            case HostBatch::KIND_DOORBELL:
            case HostBatch::KIND_SUBMIT_END:
            case HostBatch::KIND_WAIT:
              break;
            default:
              return true;
          }
          // Events of one call follow each other.
          if (id != during.id) Find(id, &during);
          if (during.call == CallsById::kNone) return true;
          within_.Holds(during.begin_ns <= at_ns && at_ns <= during.end_ns, [&] {
            return fmt::format("{} of job {} at {} ns, its call {} {} from {} to {} ns",
                               HostBatch::Kind_Name(static_cast<HostBatch::Kind>(kind)),
                               host.job[i], at_ns, id & 0xffffffff,
                               model_.strings.Get(api.name[during.call]), api.begin_ns[during.call],
                               api.end_ns[during.call]);
          });
          return true;
        },
        host.kind, host.correlation, host.time_ns);
  }

  // What is known of the calls of a thread.
  struct Caller {
    bool attached = false, seen = false;
    uint64_t first_id = 0;
    Thread thread;
  };
  Caller CallerOf(const Thread& thread) const {
    const auto first = first_id_.find(thread);
    const bool any = first != first_id_.end();
    return {coverage_.CallsAttached(thread.first), any, any ? first->second : 0, thread};
  }
  bool HasCall(uint64_t id, const Caller& caller) const {
    // It makes no calls that are seen, or this one went on from beginning to end.
    if (caller.attached) return caller.seen && id >= caller.first_id;
    // Else calls were not collected, or it is no call's number.
    const uint32_t pid = caller.thread.first;
    return api_ && unseen_.count(pid) == 0 && id >> 32 == pid;
  }

  const model::Model& model_;
  const Coverage& coverage_;
  const bool complete_;
  const int64_t begin_ns_;
  const JobChunk& in_;
  bool api_ = false;                     // calls were collected
  std::unordered_set<uint32_t> unseen_;  // processes whose calls could not be
  CallsById by_id_;
  Cursor<uint8_t> began_before_{model_.api.began_before}, open_{model_.api.open};
  Cursor<int64_t> call_begin_ns_{model_.api.begin_ns}, call_end_ns_{model_.api.end_ns};
  std::map<Thread, uint64_t> first_id_;
  std::optional<Caller> caller_;  // of the job before
  Tally nest_{"nesting", "calls and ranges of a thread lie within each other or apart"};
  Tally within_{"events_of_calls", "what the driver did for a call happened during it"};
  Tally called_{"calls_of_jobs", "each job has the call that submitted it"};
};

}  // namespace

std::unique_ptr<LawGroup> CallLaws(const Coverage& coverage, bool complete, LawPass* pass) {
  return std::make_unique<CallChecker>(coverage, complete, pass);
}

}  // namespace acceltrace::analysis
