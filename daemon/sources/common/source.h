// SPDX-License-Identifier: Apache-2.0
//
// Where events come from.
//
// A source has three functions. Everything it finds goes to an EventHandler,
// in the thread that calls Drain. Of its own it has at most one that only waits (ring_proof.h).
#ifndef DAEMON_SOURCES_COMMON_SOURCE_H_
#define DAEMON_SOURCES_COMMON_SOURCE_H_

#include <cstdint>
#include <vector>

#include "daemon/sources/common/events.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// What wakes the recorder before its tick.
struct WakeFd {
  enum Kind {
    kLevel,      // readable while much waits
    kEdge,       // becomes readable when much waits, and is readable while anything does
    kOwnedEdge,  // likewise, and a second poller would take that away
  };
  int fd = -1;  // negative: there is none
  Kind kind = kLevel;
};

// When a source wants to be drained again.
struct Pace {
  uint32_t fill_permille = 0;   // how full the fullest buffer was
  int64_t next_ns = INT64_MAX;  // at this time at the latest
};

class Source {
 public:
  virtual ~Source() = default;

  // Sets up and begins to collect; reports its probes and devices to the handler.
  virtual Status Start() = 0;

  // The recording begins now: what came or was lost while others were set up is not its own.
  virtual void Begin() {}

  // Hands over what has arrived.
  virtual Pace Drain(int64_t now_ns) = 0;

  // Notes what waits now; and whether Drain() has handed over all of that since.
  virtual void Mark() {}
  virtual bool PassedMark() { return true; }

  // Between Start and Stop. The fill level is that of the fullest ring now, in permille; it is
  // asked for by any thread.
  virtual WakeFd wake() const { return {}; }
  virtual uint32_t fill_permille() const { return 0; }

  // Takes the samples that the end of a recording needs; the recording goes on.
  virtual void Checkpoint() {}

  // The accounts so far, with what is under way.
  virtual std::vector<Hop> Hops() = 0;

  // Hands over what it holds back to hand over many at once.
  virtual void Flush() {}

  // Ends collection, hands over the rest and closes the accounts (OnHop).
  virtual void Stop() = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_SOURCE_H_
