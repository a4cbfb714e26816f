// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html/pyramid.h"

#include <algorithm>

namespace acceltrace::view {
namespace {

// Sums of times are computed modulo 2^64: differences of them are correct whatever the times are.
uint64_t Bits(int64_t time_ns) { return static_cast<uint64_t>(time_ns); }

}  // namespace

int64_t PixelEdge(int64_t from_ns, int64_t to_ns, size_t pixels, size_t pixel) {
  const auto width = static_cast<unsigned __int128>(Bits(to_ns) - Bits(from_ns));
  return static_cast<int64_t>(Bits(from_ns) + static_cast<uint64_t>(width * pixel / pixels));
}

std::pair<int64_t, int64_t> Pyramid::Span(size_t i) const {
  const auto [begin_ns, end_ns] = source_->span(rows_[i]);
  return {begin_ns, std::max(begin_ns, end_ns)};
}

uint64_t Pyramid::Length(size_t i) const {
  const auto [begin_ns, end_ns] = Span(i);
  return Bits(end_ns) - Bits(begin_ns);
}

// Returns the position of the longer one of two events; if equal, the first.
size_t Pyramid::Longer(size_t a, size_t b) const {
  const uint64_t length_a = Length(a), length_b = Length(b);
  return length_a > length_b || (length_a == length_b && a < b) ? a : b;
}

Pyramid::Pyramid(const PyramidSource* source, std::vector<uint32_t> rows)
    : source_(source), rows_(std::move(rows)) {
  const size_t n = rows_.size(), blocks = (n + kBlock - 1) / kBlock, parts = source_->num_parts;
  first_ns_.reserve(blocks), sums_.reserve(blocks + 1), parts_.reserve((blocks + 1) * parts);
  longest_.emplace_back().reserve(blocks);
  Sums sums;
  std::vector<uint64_t> stalls(parts);
  int64_t latest_ns = INT64_MIN;
  size_t longest = 0;
  uint64_t longest_ns = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto [begin_ns, end_ns] = Span(i);
    const uint64_t length_ns = Bits(end_ns) - Bits(begin_ns);
    if (i % kBlock == 0) {
      first_ns_.push_back(begin_ns), sums_.push_back(sums);
      parts_.insert(parts_.end(), stalls.begin(), stalls.end());
      longest = i, longest_ns = length_ns;
    } else if (length_ns > longest_ns) {
      longest = i, longest_ns = length_ns;
    }
    if (latest_ns > begin_ns) overlaps_ = true;
    latest_ns = std::max(latest_ns, end_ns);
    sums.length_ns += length_ns;
    if (source_->amount) sums.amount += source_->amount(rows_[i]);
    if (parts > 0) {
      const uint64_t* mine = source_->parts(rows_[i]);
      for (size_t p = 0; p < parts; ++p) stalls[p] += mine[p];
    }
    if (i % kBlock == kBlock - 1 || i + 1 == n) {
      longest_[0].push_back(static_cast<uint32_t>(longest));
    }
  }
  sums_.push_back(sums);
  parts_.insert(parts_.end(), stalls.begin(), stalls.end());
  while (longest_.back().size() > kFan) {
    const std::vector<uint32_t>& below = longest_.back();
    std::vector<uint32_t> level((below.size() + kFan - 1) / kFan);
    for (size_t i = 0; i < below.size(); ++i) {
      uint32_t& mine = level[i / kFan];
      mine = i % kFan == 0 ? below[i] : static_cast<uint32_t>(Longer(mine, below[i]));
    }
    longest_.push_back(std::move(level));
  }
  if (overlaps_) BuildOverlaps();
}

void Pyramid::BuildOverlaps() {
  const size_t n = rows_.size();
  begin_sums_.assign(1, 0), end_sums_.assign(1, 0);
  begin_sums_.reserve(n + 1), end_sums_.reserve(n + 1), ends_ns_.reserve(n);
  int64_t latest_ns = INT64_MIN;
  for (size_t i = 0; i < n; ++i) {
    const auto [begin_ns, end_ns] = Span(i);
    begin_sums_.push_back(begin_sums_.back() + Bits(begin_ns));
    ends_ns_.push_back(end_ns);
    latest_ns = std::max(latest_ns, end_ns);
    if (i % kBlock == kBlock - 1 || i + 1 == n) latest_ns_.push_back(latest_ns);
  }
  std::sort(ends_ns_.begin(), ends_ns_.end());
  for (int64_t end_ns : ends_ns_) end_sums_.push_back(end_sums_.back() + Bits(end_ns));
}

// Returns the first position whose event does not begin before a time. from_block is the block of
// an earlier time.
size_t Pyramid::LowerBound(int64_t time_ns, size_t from_block) const {
  // Use doubling steps, since the next edge is near.
  size_t low = from_block, step = 1;
  while (low + step < first_ns_.size() && first_ns_[low + step] < time_ns) low += step, step *= 2;
  const size_t high = std::min(first_ns_.size(), low + step + 1);
  const auto block = static_cast<size_t>(
      std::lower_bound(first_ns_.begin() + static_cast<ptrdiff_t>(low),
                       first_ns_.begin() + static_cast<ptrdiff_t>(high), time_ns) -
      first_ns_.begin());
  if (block == 0) return 0;
  size_t i = (block - 1) * kBlock;
  const size_t end = std::min(rows_.size(), i + kBlock);
  while (i < end && source_->span(rows_[i]).first < time_ns) ++i;
  return i;
}

Pyramid::Sums Pyramid::SumsBefore(size_t i, uint64_t* parts) const {
  const size_t block = i / kBlock, num_parts = source_->num_parts;
  Sums sums = sums_[block];
  for (size_t p = 0; p < num_parts; ++p) parts[p] = parts_[block * num_parts + p];
  for (size_t k = block * kBlock; k < i; ++k) {
    sums.length_ns += Length(k);
    if (source_->amount) sums.amount += source_->amount(rows_[k]);
    if (num_parts == 0) continue;
    const uint64_t* mine = source_->parts(rows_[k]);
    for (size_t p = 0; p < num_parts; ++p) parts[p] += mine[p];
  }
  return sums;
}

uint64_t Pyramid::BusyUntil(int64_t time_ns, size_t i, uint64_t length_ns) const {
  if (i == 0) return 0;
  if (!overlaps_) {
    // Only the last one can reach beyond it.
    const int64_t end_ns = Span(i - 1).second;
    return end_ns > time_ns ? length_ns - (Bits(end_ns) - Bits(time_ns)) : length_ns;
  }
  // Sum up from the begins of those that have begun until now, minus the time since the ends of
  // those that have ended.
  const auto ended = static_cast<size_t>(
      std::lower_bound(ends_ns_.begin(), ends_ns_.end(), time_ns) - ends_ns_.begin());
  const uint64_t begun_ns = Bits(time_ns) * i - begin_sums_[i];
  return begun_ns - (Bits(time_ns) * ended - end_sums_[ended]);
}

// Returns the position of the longest event in [from, to), which must not be empty.
size_t Pyramid::Longest(size_t from, size_t to) const {
  size_t best = from;
  size_t low = (from + kBlock - 1) / kBlock, high = to / kBlock;
  if (low >= high) {
    for (size_t i = from + 1; i < to; ++i) best = Longer(best, i);
    return best;
  }
  for (size_t i = from + 1; i < low * kBlock; ++i) best = Longer(best, i);
  for (size_t i = high * kBlock; i < to; ++i) best = Longer(best, i);
  for (const std::vector<uint32_t>& level : longest_) {
    for (; low < high && low % kFan != 0; ++low) best = Longer(best, level[low]);
    for (; low < high && high % kFan != 0; --high) best = Longer(best, level[high - 1]);
    if (&level == &longest_.back()) {
      for (; low < high; ++low) best = Longer(best, level[low]);
    }
    if (low >= high) break;
    low /= kFan, high /= kFan;
  }
  return best;
}

std::vector<uint32_t> Pyramid::Carried(int64_t from_ns, bool* all) const {
  std::vector<uint32_t> found;
  *all = true;
  size_t i = LowerBound(from_ns, 0);
  while (i > 0) {
    const size_t block = (i - 1) / kBlock;
    if (overlaps_ && latest_ns_[block] <= from_ns) break;
    --i;
    if (Span(i).second > from_ns) {
      if (found.size() == kMostCarried) {
        *all = false;
        break;
      }
      found.push_back(rows_[i]);
    }
    if (!overlaps_) break;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

PyramidWindow Pyramid::Window(int64_t from_ns, int64_t to_ns, size_t pixels) const {
  const size_t num_parts = source_->num_parts;
  PyramidWindow window;
  window.count.resize(pixels), window.amount.resize(pixels), window.busy_ns.resize(pixels);
  window.longest.assign(pixels, PyramidWindow::kNone), window.parts.resize(pixels * num_parts);
  window.carried = Carried(from_ns, &window.carried_all);
  std::vector<uint64_t> parts(num_parts), last_parts(num_parts);
  size_t last = 0;
  Sums last_sums;
  uint64_t last_busy_ns = 0;
  for (size_t p = 0; p <= pixels; ++p) {
    const int64_t edge_ns = PixelEdge(from_ns, to_ns, pixels, p);
    const size_t i = LowerBound(edge_ns, last / kBlock);
    const Sums sums = SumsBefore(i, parts.data());
    const uint64_t busy_ns = BusyUntil(edge_ns, i, sums.length_ns);
    if (p > 0) {
      window.count[p - 1] = i - last;
      window.amount[p - 1] = sums.amount - last_sums.amount;
      window.busy_ns[p - 1] = busy_ns - last_busy_ns;
      if (i > last) window.longest[p - 1] = rows_[Longest(last, i)];
      for (size_t s = 0; s < num_parts; ++s) {
        window.parts[(p - 1) * num_parts + s] = parts[s] - last_parts[s];
      }
    }
    last = i, last_sums = sums, last_busy_ns = busy_ns;
    std::swap(parts, last_parts);
  }
  return window;
}

size_t Pyramid::Bytes() const {
  size_t bytes = rows_.size() * sizeof(uint32_t) + first_ns_.size() * sizeof(int64_t) +
                 sums_.size() * sizeof(Sums) + parts_.size() * sizeof(uint64_t) +
                 (latest_ns_.size() + ends_ns_.size()) * sizeof(int64_t) +
                 (begin_sums_.size() + end_sums_.size()) * sizeof(uint64_t);
  for (const auto& level : longest_) bytes += level.size() * sizeof(uint32_t);
  return bytes;
}

}  // namespace acceltrace::view
