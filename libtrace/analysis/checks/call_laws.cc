// SPDX-License-Identifier: Apache-2.0
//
// Laws of what threads did: calls and ranges nest, the driver's events of a call are within it, and
// each job has its call.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "libtrace/analysis/checks/laws.h"
#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/row_loops.h"
#include "libtrace/model/columns/key_index.h"
#include "libtrace/model/tables/job_owners.h"
#include "libtrace/model/tables/permute.h"
#include "libtrace/model/tables/rising_ids.h"
#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::analysis {
namespace {

using proto::HostBatch;

using Thread = std::pair<uint32_t, uint32_t>;  // pid, tid

// Checks the spans of each thread, sorted by begin: each one must be within the one that began
// before it, or after it.
class Nesting {
 public:
  Nesting(const char* what, Tally* nest) : what_(what), nest_(*nest) {}

  // skip(row) excludes rows; `whole` means that there are none to exclude.
  template <typename Spans, typename Skip>
  void Check(const Spans& spans, const Skip& skip, bool whole) {
    model::EachChunk(
        [&](size_t first, size_t rows, const int64_t* begin_ns, const int64_t* end_ns,
            const uint32_t* pids, const uint32_t* tids, const uint8_t* began_before,
            const uint8_t* open) {
          // The usual case: non-overlapping spans of the same thread.
          const bool apart = whole && AreAlike(pids, rows) && AreAlike(tids, rows) &&
                             AreAll(began_before, rows, uint8_t{0}) &&
                             AreAll(open, rows, uint8_t{0}) &&
                             NoneAfter(end_ns, begin_ns + 1, rows - 1);
          for (size_t i = 0; i < rows; ++i) {
            if (skip(first + i) || began_before[i] != 0) continue;  // the true begin is not known
            See({pids[i], tids[i]}, begin_ns[i], {end_ns[i], open[i] != 0});
            // The next ones begin after it has ended, and no other span is open.
            if (!apart || known_->size() != 1) continue;
            known_->back().end_ns = end_ns[rows - 1];
            nest_.Hold(rows - 1 - i);
            break;
          }
          return true;
        },
        spans.begin_ns, spans.end_ns, spans.pid, spans.tid, spans.began_before, spans.open);
  }

 private:
  struct Span {
    int64_t end_ns;
    bool open;
  };

  void See(const Thread& thread, int64_t begin_ns, const Span& span) {
    if (known_ == nullptr || thread != last_) known_ = &begun_[thread];
    last_ = thread;
    std::vector<Span>& stack = *known_;
    while (!stack.empty() && stack.back().end_ns <= begin_ns) stack.pop_back();
    const bool within =
        stack.empty() || span.end_ns <= stack.back().end_ns || span.open || stack.back().open;
    nest_.Holds(within, [&] {
      return fmt::format("{} of thread {} at {} ns ends after the one around it", what_,
                         thread.second, begin_ns);
    });
    stack.push_back(span);
  }

  const char* const what_;
  Tally& nest_;
  std::map<Thread, std::vector<Span>> begun_;
  std::vector<Span>* known_ = nullptr;  // of the previous span's thread
  Thread last_;
};

// Finds calls by their correlation id; if there are several, the first one.
class CallsById {
 public:
  explicit CallsById(const model::ApiCalls& api)
      : ids_(api.correlation), rising_(ids_), index_(rising_.rise() ? 0 : api.size()) {}
  void Add(uint64_t id, uint32_t row) {
    if (!rising_.rise()) index_.Add(id, row, KeyOf{ids_});
  }
  // Returns true if ids increase with rows, so that no index is needed and Add() does nothing.
  bool rise() const { return rising_.rise(); }
  static constexpr uint32_t kNone = model::KeyIndex::kNone;
  // `id` must not be 0.
  uint32_t Find(uint64_t id) {
    // Events of the same call follow each other.
    if (id != last_id_) last_row_ = rising_.rise() ? FindRising(id) : index_.Find(id, KeyOf{ids_});
    last_id_ = id;
    return last_row_;
  }

 private:
  static_assert(model::KeyIndex::kNone == model::kNoRow);
  // Usually, the next one is requested.
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
  uint64_t last_id_ = 0;  // not the id of any call
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

  // A thread whose calls are recorded must submit from within one.
  void OfJobs(size_t from, size_t to) override {
    if (HaveCalls(from, to)) return called_.Hold(to - from);
    for (size_t j = from; j < to; ++j) {
      const uint64_t id = in_.host_correlation[j];
      if (in_.submit_ns[j] == model::kNoTime || id == 0 || in_.submit_ns[j] < begin_ns_) continue;
      if (!HasCall({in_.pid[j], in_.tid[j]}, id, in_.submit_ns[j])) continue;
      called_.Holds(by_id_.Find(id) != CallsById::kNone, [&] {
        return fmt::format("{} job {}: no call with its correlation {}",
                           model_.devices[in_.device[j]].about.name(), model_.jobs.job[j], id);
      });
    }
  }

  void Finish(std::vector<Law>* laws) override {
    Nesting("a call", &nest_)
        .Check(
            model_.api, [](size_t) { return false; }, true);
    // Only ranges can be checked, since marks have no length.
    const model::Ranges& ranges = model_.ranges;
    Nesting("a range", &nest_)
        .Check(
            ranges, [&](size_t i) { return ranges.mark[i] != 0; }, false);
    CheckHostEvents();
    for (Tally* tally : {&nest_, &within_, &called_}) {
      if (!complete_) tally->Excuse("events were lost");
      laws->push_back(tally->Done());
    }
  }

 private:
  void FindFirst() {
    const model::ApiCalls& api = model_.api;
    uint64_t* first_id = nullptr;
    Counter last;
    model::EachChunk(
        [&](size_t first, size_t rows, const uint64_t* ids, const uint32_t* pids,
            const uint32_t* tids) {
          // If ids increase within one thread, the first one is the smallest. They also increase
          // with the clients of the process.
          const bool rise = by_id_.rise() && AreAlike(pids, rows) && AreAlike(tids, rows) &&
                            model::ClientOf(ids[0]) == model::ClientOf(ids[rows - 1]);
          for (size_t i = 0; i < rows; ++i) {
            if (ids[i] == 0) continue;
            by_id_.Add(ids[i], static_cast<uint32_t>(first + i));
            // Of calls that were under way at the beginning, only those that ended are recorded.
            const Counter counter(pids[i], model::ClientOf(ids[i]), tids[i]);
            if (first_id == nullptr || counter != last) {
              first_id = &first_id_.try_emplace(counter, ids[i]).first->second;
            }
            last = counter;
            *first_id = std::min(*first_id, ids[i]);
            if (rise) break;
          }
          return true;
        },
        api.correlation, api.pid, api.tid);
  }

  // When a call was under way, as far as it is known.
  struct During {
    uint64_t id = 0;  // not the id of any call
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

  // Checks that what a thread did in the driver for a call happened during that call.
  void CheckHostEvents() {
    constexpr uint64_t kKinds =
        uint64_t{1} << HostBatch::KIND_SUBMIT | uint64_t{1} << HostBatch::KIND_DOORBELL |
        uint64_t{1} << HostBatch::KIND_SUBMIT_END | uint64_t{1} << HostBatch::KIND_WAIT |
        uint64_t{1} << HostBatch::KIND_WAKE;
    const model::HostEvents& host = model_.host;
    During during;
    model::EachChunk(
        [&](size_t first, size_t rows, const uint8_t* kinds, const uint64_t* ids,
            const int64_t* at_ns) {
          uint64_t held = 0;
          During now = during;  // a copy that stays in registers
          for (size_t i = 0; i < rows; ++i) {
            if (kinds[i] >= 64 || (kKinds >> kinds[i] & 1) == 0) continue;
            // For a thread that waits, use the waiting call.
            const uint64_t id = kinds[i] == HostBatch::KIND_WAKE ? host.arg1[first + i] : ids[i];
            // Events of the same call follow each other.
            if (id != now.id) Find(id, &during), now = during;
            if (now.call == CallsById::kNone) continue;
            if (now.begin_ns <= at_ns[i] && at_ns[i] <= now.end_ns) {
              ++held;
            } else {
              Outside(first + i, id, during);
            }
          }
          within_.Hold(held);
          return true;
        },
        host.kind, host.correlation, host.time_ns);
  }
  [[gnu::noinline]] void Outside(size_t i, uint64_t id, const During& during) {
    const model::HostEvents& host = model_.host;
    const model::ApiCalls& api = model_.api;
    within_.Holds(false, [&] {
      return fmt::format("{} of job {} at {} ns, its call {} {} from {} to {} ns",
                         HostBatch::Kind_Name(static_cast<HostBatch::Kind>(uint8_t{host.kind[i]})),
                         host.job[i], host.time_ns[i], id & 0xffffffff,
                         model_.strings.Get(api.name[during.call]), api.begin_ns[during.call],
                         api.end_ns[during.call]);
    });
  }

  // Identifies calls with consecutive numbers: those that a thread made as one client.
  using Counter = std::tuple<uint32_t, uint32_t, uint32_t>;  // pid, client, tid
  // What is known of such calls, which are usually those of the previous job.
  struct Caller {
    Thread thread;
    uint32_t client = 0;
    Coverage::Life life;
    bool seen = false, collected = false;
    uint64_t first_id = 0;
  };
  void SeeCaller(const Thread& thread, uint32_t client, int64_t at_ns) {
    const auto [pid, tid] = thread;
    const auto first = first_id_.find({pid, client, tid});
    caller_ = {thread, client, coverage_.LifeAt(pid, at_ns)};
    caller_->collected = api_ && unseen_.count(pid) == 0 && MakesCalls(pid, client);
    caller_->seen = first != first_id_.end();
    if (caller_->seen) caller_->first_id = first->second;
  }
  // Returns true if the process has calls with this client in their ids. If it has no calls, they
  // could only have the process's own number, as in traces from before drivers assigned clients.
  bool MakesCalls(uint32_t pid, uint32_t client) const {
    if (client == 0) return false;
    auto next = first_id_.lower_bound({pid, client, 0});
    if (next != first_id_.end() && std::get<0>(next->first) == pid &&
        std::get<1>(next->first) == client) {
      return true;
    }
    next = first_id_.lower_bound({pid, 0, 0});
    const bool none = next == first_id_.end() || std::get<0>(next->first) != pid;
    return client == pid && none;
  }
  // Returns true if the job with this id was submitted within a call that must be recorded.
  bool HasCall(const Thread& thread, uint64_t id, int64_t at_ns) {
    const uint32_t client = model::ClientOf(id);
    if (!caller_ || thread != caller_->thread || client != caller_->client ||
        at_ns < caller_->life.from_ns || at_ns >= caller_->life.to_ns) {
      SeeCaller(thread, client, at_ns);
    }
    // The thread makes no recorded calls, or this call began and ended within the recording.
    if (caller_->life.CallsAttached()) return caller_->seen && id >= caller_->first_id;
    // Otherwise, calls were not collected, or the id is not that of a call.
    return caller_->collected;
  }

  // Handles the usual case: returns true if the jobs belong to one thread, and all of them must
  // have a call and have one.
  bool HaveCalls(size_t from, size_t to) {
    const size_t jobs = to - from;
    const uint32_t* calls = in_.api_row.At(from);
    uint32_t low = calls[0], high = low;
    stream::WidenTo(calls, jobs, &low, &high);
    constexpr size_t kMost = 2048;  // the calls of successive jobs are close to each other
    if (!AreAlike(in_.pid.At(from), jobs) || !AreAlike(in_.tid.At(from), jobs) ||
        !NoneBelow(in_.submit_ns.At(from), jobs, std::max(begin_ns_, model::kNoTime + 1)) ||
        high == model::kNoRow || high - low >= kMost) {
      return false;
    }
    uint64_t ids[kMost];
    model_.api.correlation.Read(low, size_t{high} - low + 1, ids);
    const Thread thread(in_.pid[from], in_.tid[from]);
    bool all = true;
    for (size_t i = 0; i < jobs; ++i) {
      const uint64_t id = in_.host_correlation[from + i];
      all &= id != 0 && id == ids[calls[i] - low] && HasCall(thread, id, in_.submit_ns[from + i]);
    }
    return all;
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
  std::map<Counter, uint64_t> first_id_;
  std::optional<Caller> caller_;  // of the previous job
  Tally nest_{"nesting", "calls and ranges of a thread lie within each other or apart"};
  Tally within_{"events_of_calls", "what the driver did for a call happened during it"};
  Tally called_{"calls_of_jobs", "each job has the call that submitted it"};
};

}  // namespace

std::unique_ptr<LawGroup> CallLaws(const Coverage& coverage, bool complete, LawPass* pass) {
  return std::make_unique<CallChecker>(coverage, complete, pass);
}

}  // namespace acceltrace::analysis
