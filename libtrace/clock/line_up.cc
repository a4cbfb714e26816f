// SPDX-License-Identifier: Apache-2.0
//
// Assigns samples to counts, in order: how often the clock wrapped since the previous sample, and
// which jumps it made.
#include <algorithm>

#include "libtrace/clock/aligner.h"

namespace acceltrace::clock::internal {

namespace {

// How many possible jumps before the first sample are considered.
constexpr uint32_t kMaxFirstEras = 4;
// The number of first samples that show a rate and confirm it.
constexpr size_t kFirst = 4;
// Wraps at least this long are counted from the nearest sample if there is no time at all.
constexpr double kGuessedWrapNs = 5e9;
// How much faster than nominal a clock may run.
constexpr double kFastest = 2;

// Returns true if, up to the point from which both explanations place the same jumps, the first one
// needs an unannounced change. It then proves nothing against the second one.
bool MayBeOtherwise(const std::vector<Aligner::Mark>& first,
                    const std::vector<Aligner::Mark>& second) {
  size_t differ = first.size();
  while (differ > 0 && first[differ - 1].era == second[differ - 1].era) --differ;
  if (differ == 0) return false;
  // The unannounced change may be at the sample after these.
  return first[std::min(differ, first.size() - 1)].unannounced > 0;
}

// Returns the number of jumps that were certainly over before a sample.
uint32_t JumpsBehind(const Sample& sample, std::span<const Jump> jumps) {
  uint32_t era = 0;
  while (era < jumps.size() && jumps[era].when.hi_ns < sample.host_before_ns) ++era;
  return era;
}

// Finds the first sample for which the number of jumps before it is certain.
std::vector<Sample>::const_iterator FirstOfKnownEra(const std::vector<Sample>& samples,
                                                    std::span<const Jump> jumps, uint32_t* era) {
  *era = 0;
  return std::find_if(samples.begin(), samples.end(), [&](const Sample& sample) {
    while (*era < jumps.size() && jumps[*era].when.hi_ns < sample.host_before_ns) ++*era;
    return *era == jumps.size() || jumps[*era].when.lo_ns > sample.host_after_ns;
  });
}

}  // namespace

bool WrapsOpen(const TickLine& line, const Window& when) {
  if (!line.wraps()) return false;
  if (when.lo_ns == Window::kMin || when.hi_ns == Window::kMax) {
    return line.wrap_ns() < kGuessedWrapNs;
  }
  return kFastest * static_cast<double>(when.hi_ns - when.lo_ns) >= line.wrap_ns();
}

int64_t Guess(const Window& when) {
  if (when.lo_ns != Window::kMin && when.hi_ns != Window::kMax) {
    return when.lo_ns + (when.hi_ns - when.lo_ns) / 2;
  }
  return when.near_ns;
}

double PositionAt(const Count& count, int64_t host_ns) {
  const auto& readings = count.readings;
  const auto before = [](const Reading& reading, int64_t ns) {
    return reading.sample.host_before_ns < ns;
  };
  const auto next = std::lower_bound(readings.begin(), readings.end(), host_ns, before);
  const auto from = [host_ns](const Reading& reading) {
    return reading.position_ns + static_cast<double>(host_ns - reading.sample.host_before_ns);
  };
  if (next == readings.begin()) return from(readings.front());
  if (next == readings.end()) return from(readings.back());
  const Reading& a = *(next - 1);
  const auto whole = static_cast<double>(next->sample.host_before_ns - a.sample.host_before_ns);
  const auto part = static_cast<double>(host_ns - a.sample.host_before_ns);
  return a.position_ns + part / whole * (next->position_ns - a.position_ns);
}

bool MayBe(const Count& count, double position_ns, const Window& when) {
  const auto& readings = count.readings;
  const auto next = std::partition_point(
      readings.begin(), readings.end(),
      [&](const Reading& reading) { return reading.position_ns <= position_ns; });
  return (next == readings.end() || next->sample.host_after_ns >= when.lo_ns) &&
         (next == readings.begin() || std::prev(next)->sample.host_before_ns <= when.hi_ns);
}

std::vector<Count> LineUp(const TickLine& line, std::vector<Sample> samples,
                          std::span<const Jump> jumps, const Rates& rates, LeftOut* left_out) {
  const auto bad = [](const Sample& s) { return s.host_after_ns < s.host_before_ns; };
  const size_t given = samples.size();
  std::erase_if(samples, bad);
  *left_out = {.wrong = given - samples.size()};
  std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return a.host_before_ns < b.host_before_ns;
  });
  if (samples.empty()) return {};
  // The number of jumps before the first sample is not known exactly. Among the values that their
  // times allow, the one that explains the samples best is used.
  const uint32_t from = JumpsBehind(samples.front(), jumps);
  uint32_t to = from;
  while (to < jumps.size() && to < from + kMaxFirstEras &&
         jumps[to].when.lo_ns <= samples.front().host_after_ns) {
    ++to;
  }
  std::vector<Count> best;
  LeftOut best_left_out;
  double best_cost = 0;
  bool sure = true;
  std::vector<std::vector<Aligner::Mark>> marks;
  size_t best_marks = 0;
  for (uint32_t era = to + 1; era-- > from;) {
    Aligner aligner(line, jumps, rates);
    std::vector<Count> counts = aligner.Run(samples, era);
    const double cost = aligner.cost(counts);
    marks.push_back(aligner.marks());
    if (!best.empty() && cost >= best_cost) {
      sure &= cost >= best_cost + kSureCost;
      continue;
    }
    sure = best.empty() || best_cost >= cost + kSureCost;
    best = std::move(counts);
    best_marks = marks.size() - 1;
    best_cost = cost;
    best_left_out = {aligner.left_out(), aligner.strays()};
  }
  // At first there is no rate yet that the second sample could be checked against.
  const auto first_marks = std::span(marks[best_marks]).first(std::min(samples.size(), kFirst));
  if (samples.size() > kFirst && first_marks.back().unannounced > 0) {
    std::vector<Sample> others = samples;
    others.erase(others.begin() + 1);
    Aligner aligner(line, jumps, rates);
    std::vector<Count> counts = aligner.Run(others, to - static_cast<uint32_t>(best_marks));
    if (const double cost = aligner.cost(counts); cost + kSurpriseCost <= best_cost) {
      best = std::move(counts);
      best_cost = cost;
      best_left_out = {aligner.left_out(), aligner.strays() + 1};
    }
  }
  for (const auto& other : marks) sure &= !MayBeOtherwise(marks[best_marks], other);
  // A single sample proves nothing, nor does an explanation that is hardly better than another one.
  if (to > from && (!sure || best.front().readings.size() < 2)) {
    uint32_t era = 0;
    const auto later = FirstOfKnownEra(samples, jumps, &era);
    if (later != samples.end()) {
      const auto skipped = static_cast<uint64_t>(later - samples.begin());
      Aligner aligner(line, jumps, rates);
      best = aligner.Run({later, samples.end()}, era);
      best_left_out = {aligner.left_out() + skipped, aligner.strays()};
    }
  }
  left_out->unplaced += best_left_out.unplaced;
  left_out->wrong += best_left_out.wrong;
  for (Count& count : best) {
    std::stable_sort(
        count.readings.begin(), count.readings.end(),
        [](const Reading& a, const Reading& b) { return a.position_ns < b.position_ns; });
  }
  return best;
}

}  // namespace acceltrace::clock::internal
