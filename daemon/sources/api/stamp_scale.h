// SPDX-License-Identifier: Apache-2.0
//
// Converts TSC stamps of other threads to CLOCK_MONOTONIC.
//
// The kernel computes that clock from the TSC with a scale that it corrects in small steps.
// Therefore the clock is read between two reads of the TSC at each drain (a mark), and a stamp is
// converted by linear interpolation between the marks around it. The error is at most half the
// width of a mark's bracket plus the deviation of the line from the kernel's steps in between;
// bound_ns() is the largest error of the recording.
#ifndef DAEMON_SOURCES_API_STAMP_SCALE_H_
#define DAEMON_SOURCES_API_STAMP_SCALE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace acceltrace::daemon {

class StampScale {
 public:
  // The clock's value between two reads of the TSC.
  struct Mark {
    uint64_t before = 0, after = 0;
    int64_t ns = 0;
  };

  // Returns the narrowest of a few readings.
  static Mark Read();

  // Marks must be added in order. After the second mark, stamps from before the last mark can be
  // converted.
  void Add(const Mark& mark);

  // Rounds down, so that the order of stamps is kept.
  int64_t ToNs(uint64_t stamp) {
    if (last_.tsc <= stamp || count_ <= 1) return At(last_, stamp);
    return stamp - found_.tsc < found_ticks_ ? At(found_, stamp) : Search(stamp);
  }

  // Returns the duration of a number of ticks by the last line; 0 before the second mark.
  double DurationNs(uint64_t ticks) const {
    return static_cast<double>(ticks) * static_cast<double>(last_.rate) / 4294967296.0;
  }

  // The stamp of the last mark.
  uint64_t last_stamp() const { return last_stamp_; }
  uint64_t bound_ns() const { return bound_ns_; }

 private:
  static constexpr size_t kLines = 64;  // the number of marks back to which stamps can be converted

  // From its begin on, ns = ns + (stamp - tsc) * rate / 2^32.
  struct Line {
    uint64_t tsc = 0;
    int64_t ns = 0;
    uint64_t rate = 0;
  };

  static int64_t At(const Line& line, uint64_t stamp) {
    const auto ticks = static_cast<int64_t>(stamp - line.tsc);
    return line.ns + static_cast<int64_t>(
                         static_cast<__int128>(ticks) * static_cast<int64_t>(line.rate) >> 32);
  }
  int64_t Search(uint64_t stamp);
  uint64_t Departure(uint64_t tsc, int64_t ns);

  std::array<Line, kLines> lines_;
  Line last_;  // a copy of lines_[newest_], for speed
  // Likewise, the line that was found last, and its length: consecutive stamps are on one line.
  Line found_;
  uint64_t found_ticks_ = 0;
  size_t newest_ = 0, count_ = 0;
  uint64_t marked_tsc_ = 0, last_stamp_ = 0;
  int64_t marked_ns_ = 0;
  uint64_t half_width_ticks_ = 0, bound_ns_ = 0;
  uint64_t long_tsc_ = 0, long_rate_ = 0;
  int64_t long_ns_ = 0;
  bool marked_ = false;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_STAMP_SCALE_H_
