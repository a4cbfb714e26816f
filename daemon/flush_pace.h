// SPDX-License-Identifier: Apache-2.0
//
// When what is in memory goes to the file: what a crash may cost.
//
// At multiples of the period, as the recorder's ticks are: a tick that comes a little early would
// otherwise leave everything to the next one. What is flushed before the sources' rings have given
// what was in them leaves the rest for a whole period, so a flush waits for that, but not for ever.
#ifndef DAEMON_FLUSH_PACE_H_
#define DAEMON_FLUSH_PACE_H_

#include <cstdint>

#include "daemon/sources/common/clock_watch.h"

namespace acceltrace::daemon {

class FlushPace {
 public:
  FlushPace(int64_t period_ns, int64_t wait_ns) : period_ns_(period_ns), wait_ns_(wait_ns) {}

  // Everything up to now is on its way.
  void Flushed(int64_t now_ns) {
    due_ns_ = NextMultiple(now_ns, period_ns_);
    marked_ = false;
  }

  // What is in the rings now is to be in the next flush.
  bool MustMark(int64_t now_ns) const { return !marked_ && now_ns >= due_ns_; }
  void Marked() { marked_ = true; }
  bool marked() const { return marked_; }

  // read: the rings have given what was in them when they were marked, or were found empty.
  bool MustFlush(int64_t now_ns, bool read) const {
    return now_ns >= due_ns_ + (read ? 0 : wait_ns_);
  }

  int64_t due_ns() const { return due_ns_; }
  // Of what came in before it, a file that has no end has everything but the last so many ns.
  int64_t longest_ns() const { return period_ns_ + wait_ns_; }

 private:
  int64_t period_ns_, wait_ns_;
  int64_t due_ns_ = 0;
  bool marked_ = false;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_FLUSH_PACE_H_
