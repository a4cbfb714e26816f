// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/verdict.h"

#include <fmt/format.h>

#include "libtrace/analysis/report/doubts.h"
#include "libtrace/analysis/rows/jobs_by_sequence.h"
#include "libtrace/analysis/rows/off_cpu.h"

namespace acceltrace::analysis {
namespace {

// Returns true if the class is the largest for all possible times within the bounds.
bool Stands(const std::array<Span, kNumClasses>& possible, Class largest) {
  for (int c = 0; c < kNumClasses; ++c) {
    if (c != largest && possible[c].hi_ns >= possible[largest].lo_ns) return false;
  }
  return true;
}

// If the source that records every job recorded none, no device was used.
bool SawAllJobs(const Doubts& doubts) {
  return !doubts.contradiction &&
         (!(doubts.unplaced & kHostRows) || !(doubts.unplaced & (kCommandRows | kJobRows)));
}

// If a thread that waits for a job is ready but gets no CPU, the late wake-up is not the fault of
// interrupts.
std::string WhoHadTheCpu(const Evidence& evidence) {
  const model::Model& model = *evidence.model;
  const Breakdown& breakdown = evidence.breakdown;
  if (breakdown.largest != kNotifying || model.system.runs.size() == 0) return "";
  const OffCpu off_cpu(model.system.runs);
  JobsBySequence by_sequence(model.jobs);
  const model::HostEvents& host = model.host;
  int64_t waited_ns = 0;
  for (size_t i = 0; i < host.size(); ++i) {
    if (host.kind[i] != proto::HostBatch::KIND_WAKE) continue;
    const uint32_t job = by_sequence.Find(host.device[i], host.queue[i], host.sequence[i]);
    if (job == model::kNoRow || !model.jobs.on_device[job]) continue;
    waited_ns += off_cpu.Between(OffCpu::kWaiting, host.tid[i],
                                 model.jobs.completion.host[job].mid_ns, host.time_ns[i]);
  }
  return 2 * waited_ns > breakdown.time[kNotifying].mid_ns
             ? ", most of it while other threads had the CPU"
             : "";
}

}  // namespace

const char* StandingName(Verdict::Standing standing) {
  switch (standing) {
    case Verdict::Standing::kCertain:
      return "certain";
    case Verdict::Standing::kClose:
      return "close";
    case Verdict::Standing::kHolds:
      return "holds";
    case Verdict::Standing::kInconclusive:
      break;
  }
  return "inconclusive";
}

std::string CaveatsText(const std::vector<Caveat>& caveats) {
  constexpr size_t kMost = 2;
  std::string text;
  for (size_t i = 0; i < caveats.size() && i < kMost; ++i) {
    text += (i == 0 ? "" : "; ") + caveats[i].text;
  }
  if (caveats.size() > kMost) text += fmt::format("; {} more", caveats.size() - kMost);
  return text;
}

Verdict ComputeVerdict(const Evidence& evidence) {
  using Standing = Verdict::Standing;
  const Breakdown& breakdown = evidence.breakdown;
  Verdict verdict;
  Doubts doubts = FindDoubts(evidence);
  verdict.caveats = std::move(doubts.caveats);
  verdict.outside_only = doubts.outside_only;
  verdict.possible = breakdown.time;
  const std::string because = CaveatsText(verdict.caveats);
  const auto withhold = [&](const char* why) {
    verdict.standing = Standing::kInconclusive;
    verdict.beyond_sources = verdict.whole() && !doubts.contradiction && !doubts.unattached;
    verdict.text =
        fmt::format("{}: {}{}{}",
                    verdict.beyond_sources ? "not to be seen in what was recorded" : "inconclusive",
                    because, because.empty() ? "" : "; ", why);
  };
  if (breakdown.RunNs() <= 0) {
    verdict.text = breakdown.verdict;
    if (!SawAllJobs(doubts)) {
      withhold("nothing is known of what devices did");
    } else if (!doubts.none() || !verdict.whole()) {
      verdict.standing = Standing::kHolds;
      verdict.text += ", although " + because;
    }
    return verdict;
  }
  const bool bounded = BoundClasses(evidence, doubts, &verdict.possible);
  if (doubts.none() && verdict.whole()) {
    const Caveat* disturbed = DisturbedTime(verdict);
    const bool certain = breakdown.certain && disturbed == nullptr;
    verdict.standing = certain ? Standing::kCertain : Standing::kClose;
    verdict.text = breakdown.verdict + WhoHadTheCpu(evidence);
    if (disturbed != nullptr) verdict.text += "; but " + disturbed->text;
  } else if (doubts.contradiction) {
    withhold("its times and counts cannot be trusted");
  } else if (!bounded || !Stands(verdict.possible, breakdown.largest)) {
    withhold("what is missing could change the answer");
  } else {
    verdict.standing = Standing::kHolds;
    verdict.text = fmt::format("{}, whatever is missing: {}", breakdown.verdict, because);
  }
  return verdict;
}

}  // namespace acceltrace::analysis
