// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tests/scoring/history.h"

namespace acceltrace::scoring {

TrueClock::TrueClock(double hz, uint32_t bits, uint64_t start_ticks, int64_t start_ns)
    : hz_(hz), mask_(bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1), start_ns_(start_ns) {
  pieces_.push_back({static_cast<double>(start_ns), 1, 0, 0});
  offsets_.emplace_back(static_cast<double>(start_ns), start_ticks);
}

long double TrueClock::CountAt(double ns) const {
  const Piece* piece = &pieces_.front();
  for (const Piece& candidate : pieces_) {
    if (candidate.from_ns <= ns) piece = &candidate;
  }
  const long double s = (static_cast<long double>(ns) - piece->from_ns) * 1e-9L;
  const long double since = (piece->from_ns - static_cast<long double>(start_ns_)) * 1e-9L;
  return piece->count +
         static_cast<long double>(hz_) * piece->ratio * (s + piece->wander * s * (since + s / 2));
}

void TrueClock::SetRate(double at_ns, double ratio, double wander_ppm_per_s) {
  const long double count = CountAt(at_ns);
  pieces_.push_back({at_ns, ratio, wander_ppm_per_s * 1e-6, count});
}

double TrueClock::RatioAt(double ns) const {
  const Piece* piece = &pieces_.front();
  for (const Piece& candidate : pieces_) {
    if (candidate.from_ns <= ns) piece = &candidate;
  }
  return piece->ratio * (1 + piece->wander * (ns - static_cast<double>(start_ns_)) * 1e-9);
}

uint64_t TrueClock::Elapsed(double ns) const {
  // Starts long before the history, so that it is never negative.
  constexpr int64_t kBefore = int64_t{1} << 62;
  return static_cast<uint64_t>(static_cast<int64_t>(std::floor(CountAt(ns))) + kBefore);
}

uint64_t TrueClock::OffsetAt(double ns) const {
  uint64_t offset = offsets_.front().second;
  for (const auto& [from_ns, value] : offsets_) {
    if (from_ns <= ns) offset = value;
  }
  return offset;
}

uint64_t TrueClock::RawBefore(double ns) const {
  uint64_t offset = offsets_.front().second;
  for (const auto& [from_ns, value] : offsets_) {
    if (from_ns < ns) offset = value;
  }
  return (Elapsed(ns) + offset) & mask_;
}

void TrueClock::Jump(double at_ns, int64_t ticks) {
  offsets_.emplace_back(at_ns, OffsetAt(at_ns) + static_cast<uint64_t>(ticks));
}

void TrueClock::Reset(double at_ns) { offsets_.emplace_back(at_ns, 0 - Elapsed(at_ns)); }

}  // namespace acceltrace::scoring
