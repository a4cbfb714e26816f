// SPDX-License-Identifier: Apache-2.0
//
// Builds one explanation of a clock's samples by processing them in order: how often the clock
// wrapped between two samples, and which jumps it made. Internal: line_up.cc compares explanations.
#ifndef LIBTRACE_CLOCK_ALIGNER_H_
#define LIBTRACE_CLOCK_ALIGNER_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "libtrace/clock/counts.h"

namespace acceltrace::clock::internal {

// The largest number of jumps between two samples that is considered.
inline constexpr uint32_t kMaxJumpsAtOnce = 16;
// How fast a rate may change, in ppm/s, while wraps are counted by it. This is more than the fit
// assumes at first, since drafts.cc may raise that assumption later.
inline constexpr double kWanderPpm = 128;
// A clock with a wrap period this long is assumed not to wrap between samples.
inline constexpr double kLongWrapNs = 1e13;
// After this many samples in a row have been left out, the nearest guess is taken.
inline constexpr int kMaxLeftOut = 1000;
// The number of samples after one that does not fit which are checked for continuing without it.
// More than half of them must.
inline constexpr size_t kStrayWitnesses = 3;
// Rates are derived from samples up to this far apart.
inline constexpr double kRateSpanNs = 2e9;
// The cost of a certain contradiction; anything cheaper is no proof against an explanation.
inline constexpr double kSureCost = 100;
// An unannounced change of rate costs as much as this number of samples left out.
inline constexpr double kSurpriseCost = 10;

// Wraps can be counted if the time between two samples is known to this fraction of a wrap.
inline constexpr double kCountable = 0.2;

struct Span {
  double lo = 0, hi = 0;
  bool Holds(double value) const { return lo <= value && value <= hi; }
};

// A possible way in which the clock got from one sample to the next.
struct Step {
  uint32_t jumps = 0;     // between the two samples
  double elapsed_ns = 0;  // nominal
  int64_t elapsed = 0;    // ticks
  bool as_foreseen = false;
  bool unplaced = false;  // it is not known in which wrap the jumps were
};

class Aligner {
 public:
  Aligner(const TickLine& line, std::span<const Jump> jumps, const Rates& rates)
      : line_(line), jumps_(jumps), rates_(rates) {}

  // first_era is the number of jumps before the first sample.
  std::vector<Count> Run(std::span<const Sample> samples, uint32_t first_era) {
    for (size_t i = 0; i < samples.size(); ++i) {
      const size_t breaks = counts_.size() + surprises_;
      Take(samples[i], samples.subspan(i + 1), first_era);
      const bool is_first = marks_.empty();
      marks_.push_back({counts_.back().readings.back().era,
                        (is_first ? 0 : marks_.back().unannounced) +
                            (!is_first && counts_.size() + surprises_ != breaks)});
    }
    CountLoneEnds();
    for (size_t c = 0; c < counts_.size(); ++c) Outskirts(c);
    return std::move(counts_);
  }
  // For each sample, the number of jumps that precede it in this explanation, and the number of
  // unannounced changes needed so far.
  struct Mark {
    uint32_t era = 0;
    uint32_t unannounced = 0;
  };
  const std::vector<Mark>& marks() const { return marks_; }
  uint64_t left_out() const { return left_out_; }
  uint64_t strays() const { return strays_; }
  // Returns how badly the samples fit.
  double cost(const std::vector<Count>& counts) const {
    return 1e3 * static_cast<double>(counts.size()) + kSureCost * static_cast<double>(misplaced_) +
           kSurpriseCost * static_cast<double>(surprises_) +
           static_cast<double>(left_out_ + strays_);
  }

 private:
  uint32_t num_jumps() const { return static_cast<uint32_t>(jumps_.size()); }

  void Begin(const Sample& sample, uint32_t era) {
    Count& count = counts_.emplace_back();
    count.base_ticks = line_.Mask(sample.device_ticks);
    count.base_host_ns = sample.host_before_ns;
    count.eras.push_back({era, 0});
    count.readings.push_back({0, sample, era});
    at_ = 0;
    rate_since_ = 0;
    skipped_ = 0;
    broken_ = false;
    Pass(sample);
  }

  // Skips rates that were announced before a sample, except the last one.
  void Pass(const Sample& sample) {
    while (announced_ + 1 < rates_.announced.size() &&
           rates_.announced[announced_ + 1].when.hi_ns < sample.host_before_ns) {
      ++announced_;
    }
  }

  // `behind` has the samples that follow.
  void Take(const Sample& sample, std::span<const Sample> behind, uint32_t first_era) {
    if (counts_.empty()) return Begin(sample, first_era);
    std::vector<Step> steps;
    const Reading& last = counts_.back().readings.back();
    const bool open = OpenChangeWithin(last.sample, sample);
    if (!open && !broken_) steps = Steps(sample);
    if (!open && !broken_ && IsStray(steps, behind)) {
      ++strays_;
      return;
    }
    // The clock jumped, and the jump cannot be undone.
    if (steps.size() == 1 && steps[0].unplaced) steps.clear();
    if (steps.empty()) {
      // The clock was set anew without announcement. All jumps whose windows have passed precede
      // the sample.
      uint32_t era = last.era;
      if (!open && !broken_ && !TooLong(Foreseen(sample, true))) Doubt(sample);
      while (era < num_jumps() && jumps_[era].when.hi_ns < sample.host_before_ns) ++era;
      // For a jump whose window includes this sample, it is not known which of the two came first.
      const bool either = era < num_jumps() && jumps_[era].when.lo_ns <= sample.host_after_ns;
      if (either && skipped_ < kMaxLeftOut) {
        ++skipped_, ++left_out_;
        broken_ = true;
        return;
      }
      breaks_.push_back(!open && !broken_ && !TooLong(Foreseen(sample, true)));
      return Begin(sample, era);
    }
    const auto likely = std::count_if(steps.begin(), steps.end(), IsForeseen);
    if (steps.size() > 1 && likely != 1 && skipped_ < kMaxLeftOut) {
      ++skipped_, ++left_out_;
      return;
    }
    const auto found = std::find_if(steps.begin(), steps.end(), IsForeseen);
    const Step& step = found == steps.end() ? steps.front() : *found;
    if (step.unplaced) {
      breaks_.push_back(false);
      return Begin(sample, last.era + step.jumps);
    }
    Advance(sample, step);
  }

  static bool IsForeseen(const Step& step) { return step.as_foreseen; }

  // Returns true for a sample that does not fit although most of the following ones continue as if
  // it were not there. Such a sample is wrong; otherwise the clock would have been set and set back
  // again before the next sample.
  bool IsStray(const std::vector<Step>& steps, std::span<const Sample> behind) const {
    if (std::any_of(steps.begin(), steps.end(), IsForeseen)) return false;
    const size_t asked = std::min(behind.size(), kStrayWitnesses);
    size_t agree = 0;
    for (const Sample& next : behind.first(asked)) {
      const std::vector<Step> as_before = Steps(next);
      agree += std::any_of(as_before.begin(), as_before.end(), IsForeseen);
    }
    return 2 * agree > asked;
  }

  // A single sample at either end that does not fit the others is either wrong, or the clock was
  // set in between. It keeps its count, but is reported as wrong.
  void CountLoneEnds() {
    if (breaks_.empty()) return;
    const auto is_lone = [](const Count& count) { return count.readings.size() == 1; };
    strays_ += breaks_.front() && is_lone(counts_.front());
    strays_ += breaks_.back() && is_lone(counts_.back());
  }

  // The rates announced so far may no longer be those of the clock.
  void Doubt(const Sample& sample) {
    while (doubted_ < rates_.announced.size() &&
           rates_.announced[doubted_].when.lo_ns <= sample.host_after_ns) {
      ++doubted_;
    }
  }

  // Returns true if the time span is too uncertain to count the wraps in it.
  bool TooLong(const Span& likely) const {
    return line_.wraps() && likely.hi - likely.lo > kCountable * line_.wrap_ns();
  }

  // Returns true if a change of rate happened between the two samples but it is not known in which
  // wrap. What is between them is lost then.
  bool OpenChangeWithin(const Sample& last, const Sample& next) const {
    for (size_t r = announced_; line_.wraps() && r < rates_.announced.size(); ++r) {
      const Window& when = rates_.announced[r].when;
      if (when.lo_ns > next.host_after_ns) break;
      if (when.hi_ns >= last.host_before_ns && WrapsOpen(line_, when)) return true;
    }
    return false;
  }

  // Returns the nominal ns since the last reading: at any possible rate, or at the rate so far.
  Span Foreseen(const Sample& sample, bool as_before) const {
    const Count& count = counts_.back();
    const Reading& last = count.readings.back();
    const auto host = [](const Sample& a, const Sample& b) {
      return Span{static_cast<double>(b.host_before_ns - a.host_after_ns),
                  static_cast<double>(b.host_after_ns - a.host_before_ns)};
    };
    const double tick = line_.ns_per_tick();
    const auto scaled = [tick](const Span& ns, double lo, double hi) {
      return Span{ns.lo * (ns.lo > 0 ? lo : hi) - tick, ns.hi * (ns.hi > 0 ? hi : lo) + tick};
    };
    const Span ns = host(last.sample, sample);
    Span rate{rates_.lo, rates_.hi};
    if (!as_before) return scaled(ns, rate.lo, rate.hi);
    // Use the earlier reading that gives the tightest bounds.
    bool known = false;
    const size_t n = count.readings.size();
    for (size_t back = 1; back < n - rate_since_; back *= 2) {
      const Reading& from = count.readings[n - 1 - back];
      const Span took = host(from.sample, last.sample);
      if (took.hi > kRateSpanNs) break;
      if (took.lo <= 0) continue;
      const double ticked = last.position_ns - from.position_ns;
      const double slack = kWanderPpm * 1e-6 * 1e-9 * (took.hi + std::abs(ns.hi));
      const Span seen{(ticked - tick) / took.hi * (1 - slack),
                      (ticked + tick) / took.lo * (1 + slack)};
      if (seen.hi - seen.lo < rate.hi - rate.lo) rate = seen, known = true;
    }
    // Take into account what the device announced: the rate before, and rates that may have begun
    // since.
    for (size_t r = announced_; r < rates_.announced.size(); ++r) {
      const Rates::Announced& announced = rates_.announced[r];
      if (announced.when.lo_ns > sample.host_after_ns) break;
      const bool over = announced.when.hi_ns < last.sample.host_before_ns;
      if (over && known) continue;
      const Span next{announced.ratio * (1 - kAnnouncedRate),
                      announced.ratio * (1 + kAnnouncedRate)};
      // Once the clock has deviated from an announced rate, it is not used any more: samples are
      // taken at even intervals, so that they could fit it again and again by chance.
      if (announced.ratio <= 0 || r < doubted_) {
        rate = {rates_.lo, rates_.hi};
      } else {
        rate = over ? next : Span{std::min(rate.lo, next.lo), std::max(rate.hi, next.hi)};
      }
    }
    return scaled(ns, rate.lo, rate.hi);
  }

  // Returns the possible steps, ordered by number of jumps; empty if there is none.
  std::vector<Step> Steps(const Sample& sample) const {
    const Reading& last = counts_.back().readings.back();
    const Span any = Foreseen(sample, false), likely = Foreseen(sample, true);
    std::vector<Step> steps;
    // The span is too uncertain even at the rate so far.
    if (TooLong(likely)) return steps;
    const uint64_t raw = line_.Mask(last.sample.device_ticks);
    uint64_t jumped = 0;  // sum of the jumps in between
    int64_t reached = 0;  // position of the last of them, in ticks after the last reading
    for (uint32_t m = 0; m <= kMaxJumpsAtOnce; ++m) {
      if (m > 0) {
        if (last.era + m > num_jumps()) break;
        const Jump& jump = jumps_[last.era + m - 1];
        if (jump.when.lo_ns > sample.host_after_ns) break;
        // The counter must have passed the jump's `before` ticks on the way.
        const int64_t passed = reached;
        reached = line_.AtLeast(static_cast<int64_t>(line_.Mask(jump.before - raw - jumped)),
                                static_cast<double>(reached));
        if (reached < passed - 1) break;  // a clock without wraps never gets there
        jumped += jump.after - jump.before;
        if (jump.when.hi_ns < last.sample.host_before_ns) continue;
      }
      if (MustHaveJumped(last, m, sample)) continue;
      Step step;
      step.jumps = m;
      const int64_t distance =
          line_.SignedTicks(line_.Mask(raw + jumped), line_.Mask(sample.device_ticks));
      const double tick = line_.ns_per_tick();
      step.elapsed = line_.Nearest(distance, 0.5 * (likely.lo + likely.hi) / tick);
      step.elapsed_ns = static_cast<double>(step.elapsed) * tick;
      if (!any.Holds(step.elapsed_ns) || (m > 0 && reached > step.elapsed)) continue;
      step.unplaced = m > 0 && line_.wraps() && step.elapsed_ns >= line_.wrap_ns();
      if (PassedNext(last, m, raw, jumped, step)) continue;
      step.as_foreseen = likely.Holds(step.elapsed_ns);
      // Only the rate can tell which wrap it is, and it does not fit.
      if (!step.as_foreseen && IsLongerThanWrap(any)) continue;
      steps.push_back(step);
    }
    return steps;
  }

  bool MustHaveJumped(const Reading& last, uint32_t m, const Sample& sample) const {
    const uint32_t next = last.era + m;
    return next < num_jumps() && jumps_[next].when.hi_ns < sample.host_before_ns;
  }

  // Returns true if the step leads past the next jump. A clock that wraps rarely cannot get there
  // without making that jump.
  bool PassedNext(const Reading& last, uint32_t m, uint64_t raw, uint64_t jumped,
                  const Step& step) const {
    const uint32_t next = last.era + m;
    if (next >= num_jumps() || line_.wrap_ns() < kLongWrapNs) return false;
    const uint64_t ahead = line_.Mask(jumps_[next].before - raw - jumped);
    return step.elapsed > 0 && ahead < static_cast<uint64_t>(step.elapsed);
  }

  bool IsLongerThanWrap(const Span& any) const {
    return line_.wraps() && any.hi - any.lo >= line_.wrap_ns();
  }

  void Advance(const Sample& sample, const Step& step) {
    Count& count = counts_.back();
    const Reading last = count.readings.back();
    const uint64_t raw = line_.Mask(last.sample.device_ticks);
    uint64_t jumped = 0;
    int64_t reached = 0;
    for (uint32_t j = last.era; j < last.era + step.jumps; ++j) {
      reached = line_.AtLeast(static_cast<int64_t>(line_.Mask(jumps_[j].before - raw - jumped)),
                              static_cast<double>(reached));
      jumped += jumps_[j].after - jumps_[j].before;
      Enter(&count, j + 1, at_ + reached, at_ + reached);
    }
    const bool guessed = line_.wraps() && IsLongerThanWrap(Foreseen(sample, false));
    surprises_ += !step.as_foreseen;
    if (!step.as_foreseen) Doubt(sample);
    if (!step.as_foreseen) rate_since_ = count.readings.size() - 1;
    at_ += step.elapsed;
    skipped_ = 0;
    // If a rate may have begun in between, rates before it are no longer a guide.
    for (size_t r = announced_; r < rates_.announced.size(); ++r) {
      const Window& when = rates_.announced[r].when;
      if (when.lo_ns > sample.host_after_ns) break;
      if (when.hi_ns >= last.sample.host_before_ns) rate_since_ = count.readings.size();
    }
    Pass(sample);
    count.readings.push_back({static_cast<double>(at_) * line_.ns_per_tick(), sample,
                              last.era + step.jumps, guessed, 0});
  }

  // The clock entered another era somewhere between two positions.
  void Enter(Count* count, uint32_t era, int64_t from, int64_t to) {
    const Jump& jump = jumps_[era - 1];
    const uint64_t shift = count->eras.back().shift - (jump.after - jump.before);
    count->eras.back().to = to;
    count->eras.push_back({era, shift, from});
  }

  // Returns the positions, in ticks, that a count may have reached within a window.
  Span Reach(const Count& count, const Window& when) const {
    const auto at = [&](int64_t ns, bool latest) {
      const double near = PositionAt(count, ns);
      // Beyond the samples the rate can be anything that is possible.
      const double first = count.readings.front().position_ns;
      const double last = count.readings.back().position_ns;
      const double beyond = std::max({0.0, first - near, near - last});
      const bool out = latest == (near > last);
      return near + (latest ? 1 : -1) * (out ? rates_.hi - 1 : 1) * beyond;
    };
    const double tick = line_.ns_per_tick();
    Span span{-1e18, 1e18};
    if (when.lo_ns != Window::kMin) span.lo = at(when.lo_ns, false) / tick - 2;
    if (when.hi_ns != Window::kMax) span.hi = at(when.hi_ns, true) / tick + 2;
    return span;
  }

  // Places the jumps before a count's first sample and after its last one.
  void Outskirts(size_t c) {
    Count& count = counts_[c];
    const uint32_t behind = c == 0 ? 0 : counts_[c - 1].readings.back().era;
    const uint32_t ahead =
        c + 1 == counts_.size() ? num_jumps() : counts_[c + 1].readings.front().era;
    const double tick = line_.ns_per_tick();
    const double wrap = line_.wrap_ns() / tick;
    for (uint32_t era = count.eras.back().jumps; era < ahead; ++era) {
      const Jump& jump = jumps_[era];
      const double last = std::max(static_cast<double>(count.eras.back().from),
                                   count.readings.back().position_ns / tick);
      const uint64_t at = jump.before + count.eras.back().shift - count.base_ticks;
      const int64_t distance = line_.SignedTicks(0, line_.Mask(at));
      if (!line_.wraps()) {
        if (static_cast<double>(distance) < last - 1) {
          ++misplaced_;  // it never gets there
          break;
        }
        Enter(&count, era + 1, distance, distance);
        continue;
      }
      const Span reach = Reach(count, jump.when);
      const double lo = std::max(reach.lo, last), hi = std::max(reach.hi, lo + wrap);
      const int64_t from = line_.AtLeast(distance, lo - 1);
      Enter(&count, era + 1, from, std::max(from, -line_.AtLeast(-distance, -hi)));
    }
    for (uint32_t era = count.eras.front().jumps; era > behind; --era) {
      const Jump& jump = jumps_[era - 1];
      const Era after = count.eras.front();
      const double first =
          std::min(static_cast<double>(after.to), count.readings.front().position_ns / tick);
      const uint64_t at = jump.after + after.shift - count.base_ticks;
      const int64_t distance = line_.SignedTicks(0, line_.Mask(at));
      int64_t from = distance, to = distance;
      if (!line_.wraps()) {
        if (static_cast<double>(distance) > first + 1) {
          ++misplaced_;  // it cannot come from there
          break;
        }
      } else {
        const Span reach = Reach(count, jump.when);
        const double hi = std::min(reach.hi, first), lo = std::min(reach.lo, hi - wrap);
        to = -line_.AtLeast(-distance, -hi - 1);
        from = std::min(to, line_.AtLeast(distance, lo));
        misplaced_ += static_cast<double>(to) < reach.lo;
      }
      count.eras.front().from = from;
      Era before{era - 1, after.shift + (jump.after - jump.before)};
      before.to = to;
      count.eras.insert(count.eras.begin(), before);
    }
  }

  const TickLine& line_;
  std::span<const Jump> jumps_;
  Rates rates_;
  std::vector<Count> counts_;
  int64_t at_ = 0;         // position of the last reading, in ticks
  size_t rate_since_ = 0;  // index of the reading from which on the rate is constant
  size_t doubted_ = 0;     // number of announced rates that an unannounced change has made doubtful
  size_t announced_ = 0;   // index of the last rate announced before the last reading
  int skipped_ = 0;
  bool broken_ = false;  // the count has ended, but no sample after it could be placed yet
  uint64_t left_out_ = 0;
  uint64_t strays_ = 0;
  std::vector<bool> breaks_;  // for each gap between counts, whether the ticks themselves proved it
  uint64_t surprises_ = 0;    // number of unannounced rates
  uint64_t misplaced_ = 0;    // number of jumps that cannot have been where they were announced
  std::vector<Mark> marks_;
};

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_ALIGNER_H_
