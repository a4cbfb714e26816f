// SPDX-License-Identifier: Apache-2.0
//
// The memory through which a host API library hands its events to a tracer: the
// only definition.
//
// A process has up to kMaxSegments segments, each an anonymous shared mapping of its own, from its
// first byte to its last. No descriptor leads to one, so that nothing can shrink it, and what
// limits files does not concern it:
//
//   SegmentHeader | names | ThreadRing[threads] | slots of ring 0 | slots of ring 1 | ...
//   page 0          ^ page 1                      ^ from a page's start on
//
// Each ring has one writer, the thread that claimed it, and one reader, the tracer.
// `head` and `tail` count slots and never wrap. An event takes one slot, and as
// many more as its text needs; it is published whole by the store to `head`.
// All of it is written by the traced process: a reader copies first, then checks.
#ifndef LIBTRACE_RING_FORMAT_H_
#define LIBTRACE_RING_FORMAT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace acceltrace::ring {

inline constexpr uint64_t kMagic = 0x31474e4952495041;  // "APIRING1"
inline constexpr uint32_t kVersion = 2;
// By which a tracer answers a thread that asks whether its process is recorded: SIGWINCH, which
// does nothing where nobody expects it.
inline constexpr int kAnswerSignal = 28;
inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kNameBytes = 64;  // of a function, with the 0
inline constexpr uint32_t kMaxNames = 1024;
inline constexpr uint32_t kMaxThreads = 256;  // of a segment
inline constexpr uint32_t kMinSlotBits = 4, kMaxSlotBits = 20;
inline constexpr uint32_t kMaxSegments = 16;
inline constexpr size_t kMaxTextBytes = 127;  // of a range, a mark, an op
inline constexpr uint32_t kMaxSlots = 5;      // of one event

enum class Kind : uint8_t {
  kApiBegin = 1,   // arg: stream
  kApiEnd = 2,     // arg: result
  kRangePush = 3,  // arg: depth; with text
  kRangePop = 4,   // arg: depth
  kMark = 5,       // with text
  kOpName = 6,     // arg: tag; with text
};

struct Slot {
  uint64_t stamp;
  uint8_t kind;
  uint8_t more;   // slots that follow, of text only
  uint16_t name;  // of a function: its number; of a text: its length
  uint32_t arg;
  union {
    struct {
      uint64_t correlation;
      uint64_t bytes;
    } call;
    char text[16];  // the first bytes; the rest is in the following slots
  };
};
static_assert(sizeof(Slot) == 32);

// How many slots follow the first one of a text.
constexpr uint32_t MoreSlots(size_t text_bytes) {
  return text_bytes <= sizeof(Slot::text)
             ? 0
             : static_cast<uint32_t>((text_bytes - sizeof(Slot::text) + sizeof(Slot) - 1) /
                                     sizeof(Slot));
}
static_assert(1 + MoreSlots(kMaxTextBytes) == kMaxSlots);

enum class RingState : uint32_t {
  kFree = 0,    // the reader's to give: head == tail
  kOpen = 1,    // a thread's
  kClosed = 2,  // its thread is gone; kFree once it is read to the end
};

struct ThreadRing {
  // The thread's.
  alignas(64) std::atomic<uint64_t> head;
  std::atomic<uint32_t> state;
  std::atomic<uint32_t> tid;
  // Events that found the ring full: counted last of the three.
  std::atomic<uint64_t> drop_first;  // stamps; the first since the reader looked
  std::atomic<uint64_t> drop_last;
  std::atomic<uint64_t> dropped;
  // What setting it up took the thread within a call, in stamps; 0 once the reader has seen it.
  std::atomic<uint64_t> set_up;
  // The reader's.
  alignas(64) std::atomic<uint64_t> tail;
  std::atomic<uint64_t> dropped_seen;
};
static_assert(sizeof(ThreadRing) == 128);

// What the stamps count.
enum class StampClock : uint32_t {
  kTsc = 1,        // which the kernel keeps its time by
  kMonotonic = 2,  // CLOCK_MONOTONIC of the process's time namespace, ns
};

// Who reads: nobody yet, one tracer, or nobody because none may or can.
enum class Reader : uint32_t { kNone = 0, kReading = 1, kRefused = 2 };

struct SegmentHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t index;  // of the process's segments
  uint32_t pid;    // as the process sees itself
  StampClock clock;
  uint32_t names, threads, slot_bits;
  uint32_t late;  // 1: the process has made calls before, while it was not recorded
  // The reader's.
  alignas(64) std::atomic<uint32_t> reader;  // enum Reader; a futex
  std::atomic<uint32_t> generation;          // counts readers
  // Events of threads that found no free ring.
  alignas(64) std::atomic<uint64_t> unclaimed;
  std::atomic<uint64_t> unclaimed_first, unclaimed_last;  // stamps
};
static_assert(sizeof(SegmentHeader) <= kPageBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

constexpr size_t RoundUpToPage(size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// Where everything lies, from three checked numbers.
struct Layout {
  uint32_t names = 0, threads = 0, slot_bits = 0;

  constexpr bool Valid() const {
    return names <= kMaxNames && threads >= 1 && threads <= kMaxThreads &&
           slot_bits >= kMinSlotBits && slot_bits <= kMaxSlotBits;
  }
  constexpr size_t slots() const { return size_t{1} << slot_bits; }
  constexpr size_t names_at() const { return kPageBytes; }
  constexpr size_t threads_at() const {
    return names_at() + RoundUpToPage(size_t{names} * kNameBytes);
  }
  constexpr size_t slots_at() const {
    return threads_at() + RoundUpToPage(size_t{threads} * sizeof(ThreadRing));
  }
  constexpr size_t ring_bytes() const { return RoundUpToPage(slots() * sizeof(Slot)); }
  constexpr size_t bytes() const { return slots_at() + threads * ring_bytes(); }
};

inline constexpr size_t kMaxSegmentBytes = size_t{128} << 20;

}  // namespace acceltrace::ring

#endif  // LIBTRACE_RING_FORMAT_H_
