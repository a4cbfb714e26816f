// SPDX-License-Identifier: Apache-2.0
//
// Reads one segment of a process's API rings (libtrace/ring/format.h). Everything in
// it is the traced process's word: each event is copied, then checked, and the work
// of a call is bounded. Knows nothing of processes or files.
#ifndef DAEMON_SOURCES_API_API_RING_READER_H_
#define DAEMON_SOURCES_API_API_RING_READER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/ring/format.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// What a thread wrote, in its order. Names are indexes of SegmentReader::names().
class RingSink {
 public:
  enum class Verdict { kTaken, kEarlier, kBad };  // kEarlier: not of this recording

  virtual ~RingSink() = default;
  // slot: a copy; its kind and its name are checked, its stamp is not.
  virtual Verdict OnRingCall(uint32_t tid, const ring::Slot& slot) = 0;
  virtual Verdict OnRingText(uint32_t tid, const ring::Slot& slot, std::string_view text) = 0;
  // A call and nothing inside, both ends checked likewise: most calls are so. false: not taken,
  // OnRingCall is given one after the other.
  virtual bool OnRingPair(uint32_t tid, const ring::Slot& begin, const ring::Slot& end) {
    static_cast<void>(tid), static_cast<void>(begin), static_cast<void>(end);
    return false;
  }
  // A thread took so long, by its stamps, to set its ring up in the middle of a call.
  virtual void OnRingSetUp(uint64_t stamps) { static_cast<void>(stamps); }
  // dropped events: how many since the last time, and their stamps.
  virtual void OnRingLoss(uint64_t count, uint64_t first, uint64_t last) = 0;
  // Asked after each text, which may cost much more than a call: false ends Read, and what remains
  // stays.
  virtual bool MayGoOn() const { return true; }
};

class SegmentReader {
 public:
  struct Counts {
    uint64_t out = 0, lost = 0, bad = 0;
  };

  // memory: of `bytes`, mapped for reading and writing as long as this lives. since_ns: nothing in
  // it was written before. file: the same memory, or negative; slots are then read by it, since a
  // page that nobody has written would otherwise be made by the reader, at the reader's expense.
  // Errors: it is no segment of this version.
  static Result<SegmentReader> Open(void* memory, size_t bytes, int64_t since_ns, int file);

  const std::vector<std::string>& names() const { return names_; }
  uint32_t pid() const { return pid_; }
  uint32_t index() const { return index_; }
  ring::StampClock clock() const { return clock_; }
  bool late() const { return late_; }  // calls were made before, while it was not recorded

  // What was written and lost so far is nobody's: this reader came later.
  void SkipBacklog();

  // Notes how far the rings are filled; Read goes no further. Each published event
  // has a stamp from before this. Returns the fullest ring's filling, in permille.
  uint32_t Look();

  // Notes what was written by the last Look(); and whether Read() has taken it since.
  void Mark();
  bool PassedMark() const;

  // How full the fullest ring is now, in permille; from any thread.
  uint32_t Filling() const;

  // Hands over max_slots, or as many more as are read at a time, and what remains stays. Returns
  // the slots taken.
  size_t Read(size_t max_slots, RingSink* sink);

  // What was written by the last Look() and not read counts as lost, a slot as an event.
  void GiveUp(RingSink* sink);

  // Announces to the process who reads, and wakes it.
  void Answer(ring::Reader reader);

  const Counts& counts() const { return counts_; }
  // What is wrong with the rings themselves, first one; empty = nothing.
  const std::string& damage() const { return damage_; }

 private:
  struct Ring {
    uint64_t tail = 0, limit = 0, mark = 0;
    uint64_t dropped = 0;
    int64_t counted_ns = 0;  // no drop that is in `dropped` came later
    uint32_t bad = 0;        // events since the last Look()
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
  int64_t unclaimed_ns_ = 0;  // as Ring::counted_ns
  int64_t looked_ns_ = 0;     // before the last Look() read anything
  Counts counts_;
  std::string damage_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_API_RING_READER_H_
