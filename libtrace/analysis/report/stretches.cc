// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/stretches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "libtrace/base/in_order.h"

namespace acceltrace::analysis {
namespace {

// Student's distribution, two-sided 95 %, by degrees of freedom.
double StudentsT(size_t freedom) {
  constexpr double kT[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                           2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  if (freedom == 0) return 0;
  return freedom <= std::size(kT) ? kT[freedom - 1] : 2.0;
}

// The results of one stretch, computed on any thread.
struct Analysed {
  Status status;
  std::unique_ptr<model::Model> model;
  Report report;
};

Analysed Analyse(const model::PartialTrace& trace, const model::Stretch& stretch) {
  Analysed one;
  auto model = trace.Load(stretch);
  one.status = model.status();
  if (!model.ok()) return one;
  one.model = std::move(*model);
  // Laws apply to the whole trace, which was not read.
  const std::vector<Law> none;
  one.report = ComputeLimits(*one.model, &none);
  return one;
}

class Collector {
 public:
  explicit Collector(const model::PartialTrace& trace) : trace_(trace) {}

  void Add(const model::Stretch& stretch, double weight, const Analysed& analysed) {
    const model::Model& model = *analysed.model;
    const Report& report = analysed.report;
    Stretches::One one;
    one.from_ns = stretch.from_ns - trace_.begin_ns();
    one.to_ns = stretch.to_ns - trace_.begin_ns();
    one.events = model.api.size() + model.ranges.size() + model.host.size() + model.jobs.size() +
                 model.commands.size();
    one.weight = weight;
    one.largest = report.breakdown.largest;
    one.withheld = report.verdict.withheld();
    if (!report.verdict.predicts() && !report.verdict.fails()) {
      ++beyond_sources_;
      beyond_text_ = report.limiter.text;
    }
    one.limiter = report.limiter.text;
    one.named = report.limiter.standing == Limiter::Standing::kNamed ||
                report.limiter.standing == Limiter::Standing::kSeveral;
    one.confidence = report.limiter.confidence;
    result_.read += one.events;
    AddShares(report, weight);
    AddGains(report, one, weight);
    AddJobs(model);
    for (const Caveat& caveat : report.verdict.caveats) {
      const bool known =
          std::any_of(result_.caveats.begin(), result_.caveats.end(),
                      [&](const Caveat& other) { return other.kind == caveat.kind; });
      if (!known) result_.caveats.push_back(caveat);
    }
    if (result_.devices.empty()) {
      for (const model::Device& device : model.devices) {
        result_.devices.push_back(device.about.name());
      }
    }
    result_.each.push_back(std::move(one));
  }

  Stretches Done() {
    result_.events = trace_.events();
    result_.run_ns = static_cast<double>(trace_.end_ns() - trace_.begin_ns());
    for (int c = 0; c < kNumClasses; ++c) result_.classes[c] = classes_[c].Value();
    result_.tracer = tracer_.Value();
    FinishGains();
    FinishAdvice();
    result_.latency = SummariseExact(std::move(latencies_ns_));
    Say();
    return std::move(result_);
  }

 private:
  struct Weighted {
    SampledShare estimate;
    double weight = 0;
    size_t in = 0;
  };
  struct Advised : Weighted {
    double most = -1;
    std::string kind, change, text;
  };

  void AddShares(const Report& report, double weight) {
    if (report.breakdown.RunNs() <= 0) return;
    for (int c = 0; c < kNumClasses; ++c) {
      classes_[c].Add(weight, report.breakdown.Share(report.breakdown.time[c]));
      result_.seen[c] = result_.seen[c] || report.breakdown.time[c].hi_ns > 0;
    }
    if (!report.overhead.calibrated) return;
    result_.calibrated = true;
    tracer_.Add(weight, report.breakdown.Share(report.overhead.run));
  }

  void AddGains(const Report& report, const Stretches::One& one, double weight) {
    if (one.withheld || report.limiter.withheld()) return;
    weight_ += weight;
    for (const ResourceGain& gain : report.limiter.gains) {
      Weighted& sum = gains_[gain.resource];
      sum.estimate.Add(weight, {gain.lo_share, gain.share, gain.hi_share});
      sum.weight += weight;
    }
    if (one.named && !report.limiter.gains.empty()) ++gains_[report.limiter.gains[0].resource].in;
    for (const Advice& advice : report.advice) {
      Advised& sum = advice_[{advice.kind, advice.change}];
      sum.estimate.Add(weight, {advice.lo_share, advice.share, advice.hi_share});
      sum.weight += weight;
      ++sum.in;
      if (advice.share * weight > sum.most) {
        sum.most = advice.share * weight;
        sum.kind = advice.kind, sum.change = advice.change, sum.text = advice.text;
      }
    }
  }

  void AddJobs(const model::Model& model) {
    const model::Jobs& jobs = model.jobs;
    for (size_t j = 0; j < jobs.size(); ++j) {
      const int64_t from_ns = jobs.submit_ns[j], to_ns = jobs.complete_ns[j];
      if (from_ns == model::kNoTime || to_ns == model::kNoTime || to_ns < from_ns) continue;
      latencies_ns_.push_back(to_ns - from_ns);
    }
  }

  // A stretch that does not name a resource gains nothing by it.
  Ratio OverAll(Weighted* sum) const {
    if (weight_ > sum->weight) sum->estimate.Add(weight_ - sum->weight, {0, 0, 0});
    return sum->estimate.Value();
  }

  void FinishGains() {
    for (auto& [resource, sum] : gains_) {
      result_.gains.push_back({resource, OverAll(&sum), sum.in});
    }
    std::stable_sort(result_.gains.begin(), result_.gains.end(),
                     [](const auto& a, const auto& b) { return a.share.mid > b.share.mid; });
  }

  void FinishAdvice() {
    for (auto& [key, sum] : advice_) {
      const Ratio share = OverAll(&sum);
      if (share.mid < Advice::kLeast) continue;
      result_.advice.push_back({sum.kind, sum.change, sum.text, share, sum.in});
    }
    std::stable_sort(result_.advice.begin(), result_.advice.end(),
                     [](const auto& a, const auto& b) { return a.share.mid > b.share.mid; });
  }

  // Writes the sentence.
  void Say() {
    const size_t all = result_.each.size();
    const auto withheld = static_cast<size_t>(
        std::count_if(result_.each.begin(), result_.each.end(), [](const Stretches::One& one) {
          return one.withheld || (!one.named && one.limiter.rfind("inconclusive", 0) == 0);
        }));
    // If a device is not observed inside, the recording cannot show its limits, which is no fault
    // of the trace.
    if (all > 0 && 2 * beyond_sources_ >= all) {
      result_.text = beyond_text_;
      return;
    }
    // If the verdict is withheld for most of the run, the rest is not representative.
    if (2 * withheld >= all || weight_ <= 0) {
      result_.withheld = true;
      result_.text = fmt::format("inconclusive: {} of {} stretches say too little", withheld, all);
      return;
    }
    if (result_.gains.empty() || result_.gains[0].share.mid < Limiter::kLeast) {
      result_.text = "no resource alone limits it: none gains anything worth a word";
      return;
    }
    const Stretches::Gain& best = result_.gains[0];
    result_.text = fmt::format(
        "{} limits it: first in {} of {} stretches, 1.25x as fast it is "
        "{:.1f} % shorter ({:.1f} to {:.1f} %)",
        ResourceName(best.resource), best.first, all, 100 * best.share.mid, 100 * best.share.lo,
        100 * best.share.hi);
    if (result_.gains.size() > 1) {
      const Stretches::Gain& second = result_.gains[1];
      // The two differ by less than the choice of stretches or the replays leave open.
      const bool close = second.share.mid >= (1 - Limiter::kClose) * best.share.mid ||
                         second.share.hi > best.share.lo;
      if (close && second.share.mid >= Limiter::kLeast) {
        result_.text += fmt::format("; {} may gain as much: {:.1f} % ({:.1f} to {:.1f} %)",
                                    ResourceName(second.resource), 100 * second.share.mid,
                                    100 * second.share.lo, 100 * second.share.hi);
      }
    }
    if (withheld > 0) {
      result_.text += fmt::format("; {} stretches say too little", withheld);
    }
  }

  const model::PartialTrace& trace_;
  Stretches result_;
  std::array<SampledShare, kNumClasses> classes_;
  SampledShare tracer_;
  std::map<Resource, Weighted> gains_;
  std::map<std::pair<std::string, std::string>, Advised> advice_;
  size_t beyond_sources_ = 0;  // stretches whose limit no recorded source can show
  std::string beyond_text_;
  double weight_ = 0;  // of the stretches that have gains
  std::vector<int64_t> latencies_ns_;
};

}  // namespace

Ratio SampledShare::Value() const {
  Ratio mean;
  double weights = 0;
  for (const Part& part : parts_) {
    weights += part.weight;
    mean.lo += part.weight * part.share.lo;
    mean.mid += part.weight * part.share.mid;
    mean.hi += part.weight * part.share.hi;
  }
  if (weights <= 0) return {};
  mean.lo /= weights, mean.mid /= weights, mean.hi /= weights;
  const size_t n = parts_.size();
  if (n < 2) return mean;
  double squares = 0;
  for (const Part& part : parts_) {
    const double off = part.weight * (part.share.mid - mean.mid);
    squares += off * off;
  }
  const double dn = static_cast<double>(n);
  const double error = StudentsT(n - 1) * std::sqrt(squares * dn / (dn - 1)) / weights;
  mean.lo = std::max(0.0, mean.lo - error);
  mean.hi = std::min(1.0, mean.hi + error);
  mean.hi = std::max(mean.hi, mean.mid), mean.lo = std::min(mean.lo, mean.mid);
  return mean;
}

Result<Stretches> ComputeStretches(const model::PartialTrace& trace, size_t count, uint64_t events,
                                   const std::function<void(size_t, size_t)>& progress) {
  const std::vector<model::Stretch> stretches = trace.Spread(count, events);
  Collector collector(trace);
  Status status;
  InOrder(
      stretches.size(), Threads(), [&](size_t i) { return Analyse(trace, stretches[i]); },
      [&](size_t i, const Analysed& one) {
        status = one.status;
        if (!status.ok()) return false;
        collector.Add(stretches[i], trace.TimeAround(stretches, i), one);
        if (progress) progress(i + 1, stretches.size());
        return true;
      });
  if (!status.ok()) return status;
  return collector.Done();
}

}  // namespace acceltrace::analysis
