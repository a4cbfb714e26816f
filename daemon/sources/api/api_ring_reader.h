// SPDX-License-Identifier: Apache-2.0
//
// Reads one segment of a process's API rings (libtrace/ring/format.h). Its contents are not
// trusted: each event is copied, then checked, and the work of a call is bounded. Knows nothing
// about processes or files.
#ifndef DAEMON_SOURCES_API_API_RING_READER_H_
#define DAEMON_SOURCES_API_API_RING_READER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/ring/format.h"

namespace acceltrace::daemon {

// Receives the events of each thread in their order. Names are indexes of SegmentReader::names().
class RingSink {
 public:
  enum class Verdict { kTaken, kEarlier, kBad };  // kEarlier: before this recording

  virtual ~RingSink() = default;
  // `slot` is a copy; its kind and its name have been checked, but not its stamp.
  virtual Verdict OnRingCall(uint32_t tid, const ring::Slot& slot) = 0;
  virtual Verdict OnRingText(uint32_t tid, const ring::Slot& slot, std::string_view text) = 0;
  // A call without nested events, which is the most frequent case; both ends have been checked
  // likewise. If this returns false, OnRingCall is called for begin and end instead.
  virtual bool OnRingPair(uint32_t tid, const ring::Slot& begin, const ring::Slot& end) {
    static_cast<void>(tid), static_cast<void>(begin), static_cast<void>(end);
    return false;
  }
  // The ticks that a thread took to set up its ring in the middle of a call.
  virtual void OnRingSetUp(uint64_t stamps) { static_cast<void>(stamps); }
  // `count` events were dropped since the last time, with stamps from `first` to `last`.
  virtual void OnRingLoss(uint64_t count, uint64_t first, uint64_t last) = 0;
  // Called after each text, which may take much longer than a call. If this returns false, Read
  // ends early and leaves the rest in the ring.
  virtual bool MayGoOn() const { return true; }
};

class SegmentReader {
 public:
  struct Counts {
    uint64_t out = 0, lost = 0, bad = 0;
  };

  // `memory` has `bytes` bytes, mapped for reading and writing for the reader's lifetime. Nothing
  // in it was written before since_ns. If `file` is not negative, it is the same memory, and slots
  // are read from it: reading an untouched page through the mapping would allocate it, charged to
  // the reader. Fails if it is no segment of this version.
  static Result<SegmentReader> Open(void* memory, size_t bytes, int64_t since_ns, int file);

  const std::vector<std::string>& names() const { return names_; }
  uint32_t pid() const { return pid_; }
  uint32_t index() const { return index_; }
  ring::StampClock clock() const { return clock_; }
  bool late() const { return late_; }  // calls were made before, while it was not recorded

  // Skips what was written and lost so far, before this reader came.
  void SkipBacklog();

  // Takes the current fill levels of the rings, which Read does not exceed. Each published event
  // has a stamp from before this call. Returns the fill level of the fullest ring, in permille.
  uint32_t Look();

  // Mark() stores what was written by the last Look(); PassedMark() returns true once Read() has
  // read all of that.
  void Mark();
  bool PassedMark() const;

  // The current fill level of the fullest ring, in permille. May be called from any thread.
  uint32_t Filling() const;

  // Passes on about max_slots slots; it can be one batch more. The rest stays in the ring. Returns
  // the number of slots read.
  size_t Read(size_t max_slots, RingSink* sink);

  // Counts what was written by the last Look() and not read as lost, each slot as an event.
  void GiveUp(RingSink* sink);

  // Tells the process who reads, and wakes it.
  void Answer(ring::Reader reader);

  const Counts& counts() const { return counts_; }
  // The first error found in the rings themselves, or empty.
  const std::string& damage() const { return damage_; }

 private:
  struct Ring {
    uint64_t tail = 0, limit = 0, mark = 0;
    uint64_t dropped = 0;
    int64_t counted_ns = 0;  // all counted drops came before this
    uint32_t bad = 0;        // bad events since the last Look()
    bool closed = false;
  };

  SegmentReader() = default;
  ring::SegmentHeader* header() const { return static_cast<ring::SegmentHeader*>(memory_); }
  ring::ThreadRing* shared(size_t index) const {
    return reinterpret_cast<ring::ThreadRing*>(static_cast<char*>(memory_) + layout_.threads_at()) +
           index;
  }
  size_t ReadRing(size_t index, size_t max_slots, RingSink* sink);
  bool CopySlots(size_t index, uint64_t at, size_t count, ring::Slot* slots) const;
  bool IsPair(const ring::Slot* slots) const;
  size_t TakeEvent(const ring::Slot* slots, size_t available, uint32_t tid, RingSink* sink);
  void TakeLosses(Ring* ring, ring::ThreadRing* from, RingSink* sink);
  void TakeUnclaimed(RingSink* sink);
  void Damaged(const char* what);

  void* memory_ = nullptr;
  int file_ = -1;
  ring::Layout layout_;
  uint32_t pid_ = 0, index_ = 0;
  bool late_ = false;
  ring::StampClock clock_ = ring::StampClock::kMonotonic;
  std::vector<std::string> names_;
  std::vector<Ring> rings_;
  size_t next_ring_ = 0;
  uint64_t unclaimed_ = 0;
  int64_t unclaimed_ns_ = 0;  // like Ring::counted_ns
  int64_t looked_ns_ = 0;     // before the last Look() read anything
  Counts counts_;
  std::string damage_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_API_RING_READER_H_
