// SPDX-License-Identifier: Apache-2.0
//
// Decides when data in memory is flushed to the file, which limits what a crash can lose.
//
// Flushes are due at multiples of the period, like the recorder's ticks; otherwise a tick that is
// slightly early would delay everything to the next one. What the sources' rings still hold at a
// flush would stay unwritten for a whole period. Therefore a flush waits until they have been read,
// but only for a limited time.
#ifndef DAEMON_FLUSH_PACE_H_
#define DAEMON_FLUSH_PACE_H_

#include <cstdint>

#include "daemon/sources/common/clock_watch.h"

namespace acceltrace::daemon {

class FlushPace {
 public:
  FlushPace(int64_t period_ns, int64_t wait_ns) : period_ns_(period_ns), wait_ns_(wait_ns) {}

  // Everything up to now has been written or queued.
  void Flushed(int64_t now_ns) {
    due_ns_ = NextMultiple(now_ns, period_ns_);
    marked_ = false;
  }

  // Returns true if the rings' current contents must be marked as part of the next flush.
  bool MustMark(int64_t now_ns) const { return !marked_ && now_ns >= due_ns_; }
  void Marked() { marked_ = true; }
  bool marked() const { return marked_; }

  // `read` is true if the rings have been read up to their marks, or were empty.
  bool MustFlush(int64_t now_ns, bool read) const {
    return now_ns >= due_ns_ + (read ? 0 : wait_ns_);
  }

  int64_t due_ns() const { return due_ns_; }
  // A file without an end is complete up to at most this time before the crash.
  int64_t longest_ns() const { return period_ns_ + wait_ns_; }

 private:
  int64_t period_ns_, wait_ns_;
  int64_t due_ns_ = 0;
  bool marked_ = false;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_FLUSH_PACE_H_
