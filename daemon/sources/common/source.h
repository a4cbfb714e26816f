// SPDX-License-Identifier: Apache-2.0
//
// The interface of all sources of events.
//
// Everything that a source finds is passed to an EventHandler in the thread that calls Drain. A
// source has at most one thread of its own, which only waits (ring_proof.h).
#ifndef DAEMON_SOURCES_COMMON_SOURCE_H_
#define DAEMON_SOURCES_COMMON_SOURCE_H_

#include <cstdint>
#include <vector>

#include "daemon/sources/common/events.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

// A descriptor that wakes the recorder before its tick.
struct WakeFd {
  enum Kind {
    kLevel,      // readable while much is waiting
    kEdge,       // becomes readable when much is waiting, and stays so while anything is
    kOwnedEdge,  // likewise, but there must be only one poller
  };
  int fd = -1;  // negative if there is none
  Kind kind = kLevel;
};

// When a source must be drained again.
struct Pace {
  uint32_t fill_permille = 0;   // of the fullest buffer
  int64_t next_ns = INT64_MAX;  // the latest time
};

class Source {
 public:
  virtual ~Source() = default;

  // Sets up and begins to collect; reports its probes and devices to the handler.
  virtual Status Start() = 0;

  // The recording begins now: what arrived or was lost while others were set up is not part of it.
  virtual void Begin() {}

  // Passes on what has arrived.
  virtual Pace Drain(int64_t now_ns) = 0;

  // Mark() notes what is waiting now; PassedMark() returns true once Drain() has passed on all of
  // that.
  virtual void Mark() {}
  virtual bool PassedMark() { return true; }

  // Valid between Start and Stop. The fill level is the current one of the fullest ring, in
  // permille; it may be called from any thread.
  virtual WakeFd wake() const { return {}; }
  virtual uint32_t fill_permille() const { return 0; }

  // Takes the samples that the end of a recording requires, although the recording continues.
  virtual void Checkpoint() {}

  // The current accounts, including what is in progress.
  virtual std::vector<Hop> Hops() = 0;

  // Passes on incomplete batches.
  virtual void Flush() {}

  // Ends collection, passes on the rest and closes the accounts (OnHop).
  virtual void Stop() = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_SOURCE_H_
