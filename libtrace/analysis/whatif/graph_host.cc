// SPDX-License-Identifier: Apache-2.0
//
// Adds the host's part of the graph: threads, point by point.
#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/hand_offs.h"
#include "libtrace/analysis/rows/jobs_by_sequence.h"
#include "libtrace/analysis/rows/median.h"
#include "libtrace/analysis/rows/off_cpu.h"
#include "libtrace/analysis/whatif/graph_builder.h"
#include "libtrace/analysis/whatif/host_drafts.h"

namespace acceltrace::analysis {
namespace {

using Draft = HostDraft;
using enum HostDraft::Kind;

// A submission that takes this many times as long as usual waited for space in its queue.
constexpr double kFullQueue = 4;
// With a free CPU, waking up does not take longer than this.
constexpr double kLongWakeNs = 20'000;

class HostNodes {
 public:
  HostNodes(const model::Model& model, const TracerWork& tracer, DeviceNodes* device,
            GraphBuilder* builder)
      : model_(model),
        tracer_(tracer),
        device_(*device),
        builder_(*builder),
        jobs_by_sequence_(model.jobs),
        off_cpu_(model.system.runs),
        threads_(ThreadsWithJobs(model)),
        hand_offs_(off_cpu_, &threads_),
        drafts_(CollectDrafts(model, *builder, threads_, hand_offs_.all(), &jobs_by_sequence_)),
        given_(hand_offs_.all().size(), Graph::kNone) {
    submits_.resize(model.api.size());
    Cursor<uint32_t> api_row(model.jobs.api_row);
    for (size_t j = 0; j < model.jobs.size(); ++j) {
      if (api_row[j] != model::kNoRow) submits_[api_row[j]] = 1;
    }
  }

  void Run() {
    FindUsual();
    if (OneCpu()) asleep_ = Asleep(0, drafts_.size());
    for (size_t i = 0; i < drafts_.size();) {
      size_t end = i;
      while (end < drafts_.size() && drafts_[end].tid == drafts_[i].tid) ++end;
      AddThread(i, end);
      i = end;
    }
    HandOver();
    FindExcess();
    BoundTracer();
  }

 private:
  Period RunPeriod() const { return {builder_.graph().begin_ns, builder_.graph().end_ns}; }
  bool OneCpu() const { return model_.info.num_cpus() <= 1; }

  // Determines how long a wake-up and a submission usually take.
  void FindUsual() {
    depth_ = FindDepths(model_.jobs, device_, builder_);
    std::vector<double> wakes, passes, submits, consumed, returns;
    for (size_t i = 1; i < drafts_.size(); ++i) {
      const Draft &before = drafts_[i - 1], &draft = drafts_[i];
      if (draft.tid != before.tid) continue;
      if (draft.kind == kWake && before.kind == kWait) {
        const double done_ns = DoneNs(draft.row);
        if (done_ns >= builder_.Since(before.at_ns)) {
          const double wake_ns = builder_.Since(draft.at_ns) - done_ns;
          const int64_t from_ns = draft.at_ns - static_cast<int64_t>(wake_ns);
          wakes.push_back(wake_ns - Waited(draft.tid, from_ns, draft.at_ns));
          const int64_t consumed_ns = model_.jobs.complete_ns[draft.row];
          if (consumed_ns != model::kNoTime) {
            consumed.push_back(std::max(0.0, builder_.Since(consumed_ns) - done_ns));
          }
        } else if (done_ns >= 0) {
          passes.push_back(static_cast<double>(draft.at_ns - before.at_ns));
        }
      }
      if (draft.kind == kEnd && before.kind == kWake) {
        returns.push_back(static_cast<double>(draft.at_ns - before.at_ns));
      }
      if (draft.kind == kDoorbell && before.kind == kSubmit) {
        submits.push_back(static_cast<double>(draft.at_ns - before.at_ns));
      }
    }
    usual_wake_ns_ = std::max(0.0, Median(&wakes));
    builder_.graph().crowded = usual_wake_ns_ > kLongWakeNs;
    usual_pass_ns_ = Median(&passes);
    usual_submit_ns_ = Median(&submits);
    // Entering a call takes about as long as returning from it.
    builder_.graph().asking_ns = Median(&consumed) + Median(&returns);
    for (size_t i = 1; i < drafts_.size(); ++i) {
      const Draft &before = drafts_[i - 1], &draft = drafts_[i];
      if (draft.tid != before.tid || draft.kind != kDoorbell || before.kind != kSubmit) continue;
      if (static_cast<double>(draft.at_ns - before.at_ns) > kFullQueue * usual_submit_ns_) continue;
      const QueueDepth& depth = depth_[draft.row];
      most_quick_.jobs = std::max(most_quick_.jobs, depth.jobs);
      most_quick_.commands = std::max(most_quick_.commands, depth.commands);
    }
  }

  double DoneNs(uint32_t job) const { return device_.DoneNs(job, builder_); }

  struct Thread {
    uint32_t last = Graph::kNone;
    int64_t last_ns = 0;
    Draft::Kind last_kind = kBegin;
    uint32_t api = model::kNoRow, last_call = model::kNoRow, cpu = 0;
    bool submitting = false, woken = false;
    double owed_ns = 0;  // the tracer's work that did not fit into the time between two points
  };

  // Returns when all threads of these drafts are asleep, according to the scheduler, or waiting for
  // a device that is not done.
  std::vector<Period> Asleep(size_t begin, size_t end) const {
    CommonSleep common;
    for (size_t i = begin; i < end;) {
      const size_t first = i;
      const uint32_t tid = drafts_[i].tid;
      while (i < end && drafts_[i].tid == tid) ++i;
      common.AddThread({drafts_[first].at_ns, drafts_[i - 1].at_ns});
      if (const auto* known = off_cpu_.Of(OffCpu::kAsleep, tid)) {
        for (const OffCpu::Stretch& off : *known) common.AddSleep({off.begin_ns, off.end_ns});
        continue;
      }
      for (size_t w = first; w + 1 < i; ++w) {
        if (drafts_[w].kind != kWait || drafts_[w + 1].kind != kWake) continue;
        const double done_ns = DoneNs(drafts_[w + 1].row) - builder_.Since(drafts_[w].at_ns);
        common.AddSleep(
            {drafts_[w].at_ns,
             std::min(drafts_[w + 1].at_ns, drafts_[w].at_ns + static_cast<int64_t>(done_ns))});
      }
    }
    return common.Take();
  }

  // Returns what the thread did before a point.
  Cause CauseOf(const Thread& thread) const {
    if (thread.submitting) return kByDriver;
    if (thread.api == model::kNoRow) return kByProgram;
    if (thread.woken) return kByWake;
    return submits_[thread.api] ? kBySubmitCall : kByCall;
  }

  void AddThread(size_t begin, size_t end) {
    const bool one_cpu = OneCpu();
    const uint32_t tid = drafts_[begin].tid;
    const WorkSum work(tracer_, one_cpu ? WorkSum::kEvery : tid, kMid, RunPeriod(),
                       one_cpu ? asleep_ : Asleep(begin, end));
    Thread thread;
    if (drafts_[begin].kind == kHandOff) Come(drafts_[begin], &thread);
    for (size_t i = begin; i < end; ++i) {
      const Draft& draft = drafts_[i];
      if (draft.kind == kHandOff && thread.submitting) continue;
      const bool of_call = draft.kind == kBegin || draft.kind == kEnd;
      if (draft.kind == kBegin) thread.api = model::kNoRow;
      const uint32_t node =
          builder_.HostPoint(tid, of_call ? draft.row : thread.api, builder_.Since(draft.at_ns));
      // An event is stamped at some instant of its work: whatever exceeds the time up to this point
      // happened after it.
      const auto traced = [&](int64_t from_ns) {
        if (!tracer_.known()) return 0.0;
        const double ns = thread.owed_ns + work.Between(from_ns, draft.at_ns,
                                                        one_cpu ? WorkSum::kEvery : thread.cpu);
        const double here_ns = std::min(ns, static_cast<double>(draft.at_ns - from_ns));
        thread.owed_ns = ns - here_ns;
        return here_ns;
      };
      const size_t edges = builder_.edges();
      Link(draft, node, thread, traced);
      if (builder_.edges() > edges)
        alike_[LikeOf(draft, thread)].push_back(static_cast<uint32_t>(edges));
      Step(draft, node, &thread);
    }
  }

  // Handles a thread that is only included because it lets others continue: it computes from its
  // beginning on.
  void Come(const Draft& first, Thread* thread) {
    thread->last_ns = std::clamp(off_cpu_.Since(first.tid), builder_.graph().begin_ns, first.at_ns);
    thread->last = builder_.HostPoint(first.tid, model::kNoRow, builder_.Since(thread->last_ns));
    builder_.SetCause(thread->last, kByProgram);
  }

  template <typename Traced>
  void Link(const Draft& draft, uint32_t node, const Thread& thread, const Traced& traced) {
    if (thread.last == Graph::kNone) {
      builder_.SetCause(node, kByProgram);
      return;
    }
    const double since_ns = static_cast<double>(draft.at_ns - thread.last_ns);
    if (draft.kind == kWake && thread.last_kind == kWait && DoneNs(draft.row) >= 0) {
      Wake(draft, node, thread, since_ns, traced);
    } else if (draft.kind == kWake && thread.last_kind == kWait) {
      builder_.Edge(thread.last, node, since_ns, kByUnknown);
    } else if (draft.kind == kDoorbell && thread.last_kind == kSubmit &&
               since_ns > kFullQueue * usual_submit_ns_ && WasFull(draft.row) &&
               Room(draft, node, thread, traced)) {
      builder_.Edge(thread.last, node, usual_submit_ns_, kByDriver);
    } else {
      Pass(draft, node, thread, traced(thread.last_ns));
    }
  }

  // If another thread let the thread continue, it follows that one.
  void Pass(const Draft& draft, uint32_t node, const Thread& thread, double tracer_ns) {
    uint32_t from = thread.last;
    int64_t from_ns = thread.last_ns;
    if (CauseOf(thread) == kByProgram) {
      const auto [first, end] = hand_offs_.Between(draft.tid, thread.last_ns, draft.at_ns);
      for (uint32_t h = first; h < end; ++h) {
        const HandOff& hand_off = hand_offs_.all()[h];
        const int64_t asleep_at_ns = std::max(hand_off.at_ns - hand_off.asleep_ns, from_ns);
        const auto point = [&](int64_t at_ns) {
          return builder_.HostPoint(draft.tid, model::kNoRow, builder_.Since(at_ns));
        };
        const uint32_t asleep = point(asleep_at_ns), ready = point(hand_off.at_ns);
        Spend(from, from_ns, asleep, draft, asleep_at_ns, thread, 0);
        taken_.push_back({h, asleep, ready});
        from = ready, from_ns = hand_off.at_ns;
      }
    }
    Spend(from, from_ns, node, draft, draft.at_ns, thread, tracer_ns);
  }

  // Time off the CPU is placed at the end, since its position within the interval does not matter.
  // Within a call, sleep belongs to what the call does.
  void Spend(uint32_t from, int64_t from_ns, uint32_t node, const Draft& draft, int64_t to_ns,
             const Thread& thread, double tracer_ns) {
    const Cause cause = CauseOf(thread);
    const double waited_ns = Waited(draft.tid, from_ns, to_ns);
    const int64_t asleep_ns =
        cause == kByProgram ? off_cpu_.Between(OffCpu::kAsleep, draft.tid, from_ns, to_ns) : 0;
    const auto slept_ns = static_cast<double>(asleep_ns);
    const double busy_ns =
        std::max(0.0, static_cast<double>(to_ns - from_ns) - slept_ns - waited_ns);
    const uint32_t ready = PointBefore(draft, node, thread, waited_ns);
    const uint32_t to = PointBefore(draft, ready, thread, slept_ns);
    builder_.Edge(from, to, busy_ns, cause, std::min(tracer_ns, busy_ns));
    if (to != ready) builder_.Edge(to, ready, slept_ns, kByOutside);
    WaitForCpu(ready, node, waited_ns, tracer_ns - busy_ns);
  }

  // There is no point if the other thread let this one continue within a submission.
  void HandOver() {
    for (const Taken& taken : taken_) {
      const uint32_t given = given_[taken.hand_off];
      const double asleep_ns = builder_.At(taken.ready) - builder_.At(taken.asleep);
      builder_.Edge(taken.asleep, taken.ready, given == Graph::kNone ? asleep_ns : 0, kByOutside);
      builder_.Edge(given, taken.ready);
    }
  }

  template <typename Traced>
  void Wake(const Draft& draft, uint32_t node, const Thread& thread, double since_ns,
            const Traced& traced) {
    const double done_ns = DoneNs(draft.row), at_ns = builder_.Since(draft.at_ns);
    const uint32_t completion = device_.completion[draft.row];
    if (done_ns >= builder_.Since(thread.last_ns) && done_ns <= at_ns) {
      const int64_t from_ns = draft.at_ns - static_cast<int64_t>(at_ns - done_ns);
      const double waited_ns = Waited(draft.tid, from_ns, draft.at_ns);
      const double wake_ns = std::max(0.0, at_ns - done_ns - waited_ns);
      const double tracer_ns = traced(from_ns);
      const uint32_t ready = PointBefore(draft, node, thread, waited_ns);
      builder_.Edge(completion, ready, wake_ns, kByWake, tracer_ns - waited_ns, Hold::kSleeps);
      builder_.Edge(thread.last, ready, std::min(usual_pass_ns_, wake_ns), kByWake);
      WaitForCpu(ready, node, waited_ns, tracer_ns);
    } else {
      builder_.Edge(thread.last, node, since_ns, kByWake, traced(thread.last_ns));
      builder_.Edge(completion, node, usual_wake_ns_, kByWake, 0, Hold::kSleeps);
    }
  }

  double Waited(uint32_t tid, int64_t from_ns, int64_t to_ns) const {
    return static_cast<double>(off_cpu_.Between(OffCpu::kWaiting, tid, from_ns, to_ns));
  }
  // Adds a point of the same thread and call, this long before a node. Returns the node itself if
  // the time is 0.
  uint32_t PointBefore(const Draft& draft, uint32_t node, const Thread& thread, double ns) {
    if (ns <= 0) return node;
    return builder_.HostPoint(draft.tid, thread.api, builder_.At(node) - ns);
  }
  void WaitForCpu(uint32_t ready, uint32_t node, double ns, double tracer_ns) {
    if (ready != node) builder_.Edge(ready, node, ns, kByCpu, tracer_ns);
  }

  // Returns true if the queue was fuller than it ever was for a submission that did not wait. Other
  // submissions are slow for other reasons, such as an interrupt or the loss of the CPU.
  bool WasFull(uint32_t job) const {
    const QueueDepth& depth = depth_[job];
    return depth.jobs > most_quick_.jobs || depth.commands > most_quick_.commands;
  }

  // The submission waited until an earlier job of its queue was complete: the last one to complete
  // before the doorbell.
  template <typename Traced>
  bool Room(const Draft& draft, uint32_t node, const Thread& thread, const Traced& traced) {
    const model::Jobs& jobs = model_.jobs;
    uint64_t sequence = jobs.sequence[draft.row];
    for (uint64_t i = 0; i < kMaxQueued && sequence > 1; ++i) {
      const uint32_t before =
          jobs_by_sequence_.Find(jobs.device[draft.row], jobs.queue[draft.row], --sequence);
      if (before == model::kNoRow) return false;
      const double done_ns = DoneNs(before);
      if (done_ns < 0 || done_ns > builder_.At(node)) continue;
      if (done_ns <= builder_.Since(thread.last_ns)) return false;
      const double since_ns = builder_.At(node) - done_ns;
      builder_.Edge(device_.completion[before], node, since_ns, kByWake,
                    traced(draft.at_ns - static_cast<int64_t>(since_ns)));
      return true;
    }
    return false;
  }
  static constexpr uint64_t kMaxQueued = 4096;

  void Step(const Draft& draft, uint32_t node, Thread* thread) {
    if (draft.kind == kBegin) thread->api = draft.row, thread->woken = false;
    thread->last_call = draft.kind == kEnd ? draft.row : thread->api;
    if (draft.kind == kEnd) thread->api = model::kNoRow, thread->woken = false;
    if (draft.kind == kSubmit) thread->submitting = true;
    if (draft.kind == kSubmitEnd) thread->submitting = false;
    if (draft.kind == kDoorbell) device_.doorbell[draft.row] = node;
    if (draft.kind == kHandOff) given_[draft.row] = node;
    if (draft.kind == kWait || draft.kind == kWake) {
      thread->cpu = draft.cpu;
      thread->woken = true;
    }
    thread->last = node;
    thread->last_ns = draft.at_ns;
    thread->last_kind = draft.kind;
  }

  // Identifies similar parts of host threads: between the same points of the same call, and of the
  // same stream.
  using Like = std::array<uint32_t, 6>;
  Like LikeOf(const Draft& draft, const Thread& thread) const {
    const bool of_call = draft.kind == kBegin || draft.kind == kEnd;
    const uint32_t to = of_call ? draft.row : thread.api, from = thread.last_call;
    const model::ApiCalls& api = model_.api;
    const auto name = [&](uint32_t call) { return call == model::kNoRow ? 0 : api.name[call]; };
    const auto stream = [&](uint32_t call) { return call == model::kNoRow ? 0 : api.stream[call]; };
    return {thread.last_kind, draft.kind, name(from), stream(from), name(to), stream(to)};
  }

  // Fewer similar parts do not show what is usual.
  static constexpr size_t kFewAlike = 4;
  // Three quarters take no longer than `usual`. A part is excessive if it takes clearly longer.
  static constexpr double kClearly = 1.2;
  void FindExcess() {
    std::vector<double> ns;
    for (const auto& [like, edges] : alike_) {
      if (edges.size() < kFewAlike) continue;
      ns.clear();
      for (const uint32_t edge : edges) ns.push_back(builder_.EdgeNs(edge));
      const double usual = Quantile(&ns, 0.75);
      for (const uint32_t edge : edges) {
        const double more = builder_.EdgeNs(edge) - usual;
        if (usual + more > kClearly * usual) builder_.SetExcess(edge, more);
      }
    }
  }

  void BoundTracer() {
    if (!tracer_.known()) return;
    std::array<double, kNumEstimates> sum{};
    for (const Estimate estimate : {kLow, kMid, kHigh}) {
      sum[estimate] =
          WorkSum(tracer_, WorkSum::kEvery, estimate, RunPeriod())
              .Between(builder_.graph().begin_ns, builder_.graph().end_ns, WorkSum::kEvery);
    }
    if (sum[kMid] <= 0) return;
    builder_.graph().tracer_low = sum[kLow] / sum[kMid];
    builder_.graph().tracer_high = sum[kHigh] / sum[kMid];
  }

  const model::Model& model_;
  const TracerWork& tracer_;
  DeviceNodes& device_;
  GraphBuilder& builder_;
  std::vector<uint8_t> submits_;  // by API call
  JobsBySequence jobs_by_sequence_;
  OffCpu off_cpu_;
  std::unordered_set<uint32_t> threads_;
  HandOffs hand_offs_;
  std::vector<Draft> drafts_;
  std::vector<uint32_t> given_;  // by hand-off, the point of the thread that made it
  struct Taken {
    uint32_t hand_off;
    uint32_t asleep, ready;  // points of the graph
  };
  std::vector<Taken> taken_;
  std::vector<QueueDepth> depth_;  // by job
  std::vector<Period> asleep_;     // of all threads, if there is one CPU
  std::unordered_map<Like, std::vector<uint32_t>, HashOfNumbers> alike_;
  QueueDepth most_quick_;
  // How long a wait usually takes from the completion if the thread sleeps, and if the job is
  // already done; and how long a submission usually takes if the queue has space.
  double usual_wake_ns_ = 0, usual_pass_ns_ = 0, usual_submit_ns_ = 0;
};

}  // namespace

void AddHostNodes(const model::Model& model, const TracerWork& tracer, DeviceNodes* device,
                  GraphBuilder* builder) {
  HostNodes(model, tracer, device, builder).Run();
}

}  // namespace acceltrace::analysis
