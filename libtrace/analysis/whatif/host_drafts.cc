// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/whatif/host_drafts.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/radix.h"

namespace acceltrace::analysis {
namespace {

using Draft = HostDraft;

class Collecting {
 public:
  Collecting(const model::Model& model, const GraphBuilder& builder,
             const std::unordered_set<uint32_t>& threads, const std::vector<HandOff>& hand_offs,
             JobsBySequence* jobs)
      : model_(model),
        builder_(builder),
        threads_(threads),
        hand_offs_(hand_offs),
        jobs_by_sequence_(*jobs) {}

  std::vector<Draft> Run() {
    const model::ApiCalls& api = model_.api;
    {
      Cursor<uint32_t> tids(api.tid);
      Cursor<int64_t> begin_ns(api.begin_ns), end_ns(api.end_ns);
      Cursor<uint8_t> open(api.open);
      uint64_t last = UINT64_MAX;  // not the number of any thread
      bool known = false;
      for (uint32_t i = 0; i < api.size(); ++i) {
        const uint32_t tid = tids[i];
        if (tid != last) known = threads_.contains(tid), last = tid;
        if (!known) continue;
        Add(begin_ns[i], tid, Draft::kBegin, i);
        if (!open[i]) Add(end_ns[i], tid, Draft::kEnd, i);
      }
    }
    const model::Jobs& jobs = model_.jobs;
    {
      Cursor<uint32_t> tid(jobs.tid);
      Cursor<int64_t> submit_ns(jobs.submit_ns), doorbell_ns(jobs.doorbell_ns);
      Cursor<int64_t> submit_end_ns(jobs.submit_end_ns);
      for (uint32_t j = 0; j < jobs.size(); ++j) {
        Add(submit_ns[j], tid[j], Draft::kSubmit, j);
        Add(doorbell_ns[j], tid[j], Draft::kDoorbell, j);
        Add(submit_end_ns[j], tid[j], Draft::kSubmitEnd, j);
      }
    }
    const model::HostEvents& host = model_.host;
    Cursor<uint8_t> kind(host.kind);
    for (size_t i = 0; i < host.size(); ++i) {
      const bool wait = kind[i] == proto::HostBatch::KIND_WAIT;
      if (!wait && kind[i] != proto::HostBatch::KIND_WAKE) continue;
      Add(host.time_ns[i], host.tid[i], wait ? Draft::kWait : Draft::kWake,
          jobs_by_sequence_.Find(host.device[i], host.queue[i], host.sequence[i]), host.cpu[i]);
    }
    for (uint32_t h = 0; h < hand_offs_.size(); ++h) {
      Add(hand_offs_[h].at_ns, hand_offs_[h].from, Draft::kHandOff, h);
    }
    for (Draft& draft : drafts_) draft.of_new_call = OfNewCall(draft);
    SortDrafts();
    return std::move(drafts_);
  }

 private:
  void Add(int64_t at_ns, uint32_t tid, Draft::Kind kind, uint32_t row, uint32_t cpu = 0) {
    if (at_ns != model::kNoTime && builder_.Within(at_ns)) {
      drafts_.push_back({at_ns, tid, kind, false, row, cpu});
    }
  }

  // Sorts by thread and time, and by order within the same instant.
  void SortDrafts() {
    SortByNumber([](const Draft& draft) { return static_cast<uint64_t>(draft.at_ns) + kMiddle; },
                 &drafts_);
    SortByNumber([](const Draft& draft) { return uint64_t{draft.tid}; }, &drafts_);
    const auto key = [](const Draft& draft) {
      return std::tie(draft.tid, draft.at_ns, draft.of_new_call, draft.kind, draft.row);
    };
    for (size_t i = 0; i < drafts_.size();) {
      size_t end = i + 1;
      while (end < drafts_.size() && drafts_[end].tid == drafts_[i].tid &&
             drafts_[end].at_ns == drafts_[i].at_ns) {
        ++end;
      }
      const auto at = [&](size_t place) { return drafts_.begin() + static_cast<ptrdiff_t>(place); };
      if (end - i > 1) {
        std::sort(at(i), at(end),
                  [&key](const Draft& a, const Draft& b) { return key(a) < key(b); });
      }
      i = end;
    }
  }
  static constexpr uint64_t kMiddle = uint64_t{1} << 63;  // so that negative times are sorted first

  // If one call ends at the very instant at which the next one begins, the latter comes second.
  bool OfNewCall(const Draft& draft) const {
    uint32_t call = model::kNoRow;
    if (draft.kind == Draft::kBegin || draft.kind == Draft::kEnd) call = draft.row;
    if (draft.kind == Draft::kSubmit || draft.kind == Draft::kDoorbell ||
        draft.kind == Draft::kSubmitEnd) {
      call = model_.jobs.api_row[draft.row];
    }
    return call != model::kNoRow && model_.api.begin_ns[call] >= draft.at_ns;
  }

  const model::Model& model_;
  const GraphBuilder& builder_;
  const std::unordered_set<uint32_t>& threads_;
  const std::vector<HandOff>& hand_offs_;
  JobsBySequence& jobs_by_sequence_;
  std::vector<Draft> drafts_;
};

}  // namespace

std::unordered_set<uint32_t> ThreadsWithJobs(const model::Model& model) {
  std::unordered_set<uint32_t> threads;
  const model::Jobs& jobs = model.jobs;
  Cursor<uint8_t> on_host(jobs.on_host);
  Cursor<uint32_t> tid(jobs.tid);
  uint64_t last = UINT64_MAX;  // not the number of any thread
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (on_host[j] && tid[j] != last) threads.insert(tid[j]), last = tid[j];
  }
  const model::HostEvents& host = model.host;
  Cursor<uint8_t> kind(host.kind);
  for (size_t i = 0; i < host.size(); ++i) {
    if (kind[i] == proto::HostBatch::KIND_WAKE) threads.insert(host.tid[i]);
  }
  return threads;
}

std::vector<HostDraft> CollectDrafts(const model::Model& model, const GraphBuilder& builder,
                                     const std::unordered_set<uint32_t>& threads,
                                     const std::vector<HandOff>& hand_offs, JobsBySequence* jobs) {
  return Collecting(model, builder, threads, hand_offs, jobs).Run();
}

}  // namespace acceltrace::analysis
