// SPDX-License-Identifier: Apache-2.0
//
// Summaries of the events of a lane at every scale: what a view of a long recording asks for a
// window of time at so many pixels.
//
// The events lie in order of begin, in blocks of 16; sums of all that comes before are kept for
// each block, the longest event for each block, each four blocks, each sixteen and so on. It is
// built in linear time, takes a few bytes for each event, and answers exactly whatever the window
// is: it is a pyramid over events, not over time, so that neither a recording that is idle for
// hours nor one where everything happens at once makes an answer slow or coarse.
#ifndef LIBTRACE_VIEW_PYRAMID_H_
#define LIBTRACE_VIEW_PYRAMID_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace acceltrace::view {

// What the events of a lane are. A row is whatever its owner calls it.
struct PyramidSource {
  // From when to when; what ends before it begins counts as an instant.
  std::function<std::pair<int64_t, int64_t>(uint32_t row)> span;
  // To be summed: bytes, or of a loss the events lost. Empty: nothing.
  std::function<uint64_t(uint32_t row)> amount;
  // Likewise, num_parts of them: stalls by cause. Empty: nothing.
  std::function<const uint64_t*(uint32_t row)> parts;
  size_t num_parts = 0;
};

// Of pixel p of n: [from + (to - from) * p / n, ... * (p + 1) / n), in whole ns. An event counts
// where it begins, but for the time that it takes.
struct PyramidWindow {
  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint64_t> count, amount;
  std::vector<uint64_t> busy_ns;  // of all events, within the pixel: may be more than its width
  std::vector<uint32_t> longest;  // a row, of equals the first; kNone: nothing begins there
  std::vector<uint64_t> parts;    // num_parts of each pixel
  std::vector<uint32_t> carried;  // rows that began before and reach into the window
  bool carried_all = true;        // false: there are more than kMostCarried of them
};

int64_t PixelEdge(int64_t from_ns, int64_t to_ns, size_t pixels, size_t pixel);

class Pyramid {
 public:
  static constexpr size_t kBlock = 16, kFan = 4, kMostCarried = 64;

  // rows: in order of begin. source: outlives this.
  Pyramid(const PyramidSource* source, std::vector<uint32_t> rows);

  size_t size() const { return rows_.size(); }
  const std::vector<uint32_t>& rows() const { return rows_; }
  // How many begin before a time.
  size_t Before(int64_t time_ns) const { return LowerBound(time_ns, 0); }
  // from_ns < to_ns.
  PyramidWindow Window(int64_t from_ns, int64_t to_ns, size_t pixels) const;
  // What began before from_ns and reaches beyond it, in order of begin.
  std::vector<uint32_t> Carried(int64_t from_ns, bool* all) const;
  size_t Bytes() const;  // of memory

 private:
  struct Sums {
    uint64_t length_ns = 0, amount = 0;
  };
  std::pair<int64_t, int64_t> Span(size_t i) const;
  uint64_t Length(size_t i) const;
  size_t Longer(size_t a, size_t b) const;
  void BuildOverlaps();
  size_t LowerBound(int64_t time_ns, size_t from_block) const;
  // Of the events before i; parts are added to *parts.
  Sums SumsBefore(size_t i, uint64_t* parts) const;
  // Of the events before i, which are those that begin before time_ns: their time until then.
  uint64_t BusyUntil(int64_t time_ns, size_t i, uint64_t length_ns) const;
  size_t Longest(size_t from, size_t to) const;

  const PyramidSource* source_;
  std::vector<uint32_t> rows_;
  std::vector<int64_t> first_ns_;               // of each block
  std::vector<Sums> sums_;                      // before each block, and of all
  std::vector<uint64_t> parts_;                 // likewise
  std::vector<std::vector<uint32_t>> longest_;  // positions: of each block, of each four, ...
  // Where events overlap: the latest end up to each block, sums of begins, ends in order.
  bool overlaps_ = false;
  std::vector<int64_t> latest_ns_, ends_ns_;
  std::vector<uint64_t> begin_sums_, end_sums_;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_PYRAMID_H_
