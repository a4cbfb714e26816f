// SPDX-License-Identifier: Apache-2.0
//
// Summaries of the events of a lane at all scales, for a view of a window of a long recording with
// a given number of pixels.
//
// The events are sorted by begin and grouped in blocks of 16. Sums of all previous events are kept
// for each block, and the longest event of each block, of each four blocks, of each sixteen and so
// on. Building takes linear time and a few bytes for each event, and answers are exact for any
// window. As it is a pyramid over events rather than time, neither a recording that is idle for
// hours nor one where everything happens at once makes an answer slow or coarse.
#ifndef LIBTRACE_VIEW_HTML_PYRAMID_H_
#define LIBTRACE_VIEW_HTML_PYRAMID_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace acceltrace::view {

// Access to the events of a lane. What a row means is up to the owner.
struct PyramidSource {
  // Returns the begin and the end of an event. If the end is before the begin, it counts as an
  // instant.
  std::function<std::pair<int64_t, int64_t>(uint32_t row)> span;
  // Returns a value to be summed up, such as bytes, or lost events of a loss. May be empty.
  std::function<uint64_t(uint32_t row)> amount;
  // Returns num_parts further values, such as stalls by cause. May be empty.
  std::function<const uint64_t*(uint32_t row)> parts;
  size_t num_parts = 0;
};

// Answers for n pixels. Pixel p covers [from + (to - from) * p / n, ... * (p + 1) / n) in whole ns.
// An event counts in the pixel in which it begins, but its time is distributed.
struct PyramidWindow {
  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint64_t> count, amount;
  std::vector<uint64_t> busy_ns;  // time of all events within the pixel; may exceed its width
  std::vector<uint32_t> longest;  // a row, the first of equals; kNone if nothing begins there
  std::vector<uint64_t> parts;    // num_parts for each pixel
  std::vector<uint32_t> carried;  // rows that began before and reach into the window
  bool carried_all = true;        // false if there are more than kMostCarried of them
};

int64_t PixelEdge(int64_t from_ns, int64_t to_ns, size_t pixels, size_t pixel);

class Pyramid {
 public:
  static constexpr size_t kBlock = 16, kFan = 4, kMostCarried = 64;

  // `rows` must be sorted by begin. `source` must outlive the pyramid.
  Pyramid(const PyramidSource* source, std::vector<uint32_t> rows);

  size_t size() const { return rows_.size(); }
  const std::vector<uint32_t>& rows() const { return rows_; }
  // Returns how many events begin before a time.
  size_t Before(int64_t time_ns) const { return LowerBound(time_ns, 0); }
  // from_ns must be less than to_ns.
  PyramidWindow Window(int64_t from_ns, int64_t to_ns, size_t pixels) const;
  // Returns events that began before from_ns and reach beyond it, sorted by begin.
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
  // Returns the sums of the events before i; their parts are added to *parts.
  Sums SumsBefore(size_t i, uint64_t* parts) const;
  // Returns the time until time_ns of the events before i, which are those that begin before
  // time_ns.
  uint64_t BusyUntil(int64_t time_ns, size_t i, uint64_t length_ns) const;
  size_t Longest(size_t from, size_t to) const;

  const PyramidSource* source_;
  std::vector<uint32_t> rows_;
  std::vector<int64_t> first_ns_;               // of each block
  std::vector<Sums> sums_;                      // before each block, and of all
  std::vector<uint64_t> parts_;                 // likewise
  std::vector<std::vector<uint32_t>> longest_;  // positions: of each block, of each four, ...
  // For overlapping events: the latest end up to each block, sums of begins, and sorted ends.
  bool overlaps_ = false;
  std::vector<int64_t> latest_ns_, ends_ns_;
  std::vector<uint64_t> begin_sums_, end_sums_;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_PYRAMID_H_
