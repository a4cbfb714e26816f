// SPDX-License-Identifier: Apache-2.0
//
// The format of the shared memory in which a host API library passes its events to a tracer.
//
// A process has up to kMaxSegments segments, each an anonymous shared mapping of its own. No file
// descriptor refers to a segment, so that it cannot be truncated and limits on files do not apply:
//
//   SegmentHeader | names | ThreadRing[threads] | slots of ring 0 | slots of ring 1 | ...
//   page 0          ^ page 1                      ^ page-aligned
//
// Each ring has one writer, the thread that claimed it, and one reader, the tracer. `head` and
// `tail` count slots and never wrap. An event takes one slot, and further ones for a long text; the
// store to `head` publishes it as a whole. The traced process can write to all of this memory, so a
// reader must copy values before it checks them.
#ifndef LIBTRACE_RING_FORMAT_H_
#define LIBTRACE_RING_FORMAT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace acceltrace::ring {

inline constexpr uint64_t kMagic = 0x31474e4952495041;  // "APIRING1"
inline constexpr uint32_t kVersion = 2;
// The signal with which a tracer tells a thread that its process is recorded. SIGWINCH is ignored
// by default.
inline constexpr int kAnswerSignal = 28;
inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kNameBytes = 64;  // of a function's name, with its terminating 0
inline constexpr uint32_t kMaxNames = 1024;
inline constexpr uint32_t kMaxThreads = 256;  // per segment
inline constexpr uint32_t kMinSlotBits = 4, kMaxSlotBits = 20;
inline constexpr uint32_t kMaxSegments = 16;
inline constexpr size_t kMaxTextBytes = 127;  // of a range, a mark or an op's name
inline constexpr uint32_t kMaxSlots = 5;      // per event

enum class Kind : uint8_t {
  kApiBegin = 1,   // arg is the stream
  kApiEnd = 2,     // arg is the result
  kRangePush = 3,  // arg is the depth; has a text
  kRangePop = 4,   // arg is the depth
  kMark = 5,       // has a text
  kOpName = 6,     // arg is the tag; has a text
};

struct Slot {
  uint64_t stamp;
  uint8_t kind;
  uint8_t more;   // number of following slots, which hold only text
  uint16_t name;  // number of a function, or length of a text
  uint32_t arg;
  union {
    struct {
      uint64_t correlation;
      uint64_t bytes;
    } call;
    char text[16];  // the beginning; the following slots have the rest
  };
};
static_assert(sizeof(Slot) == 32);

// Returns how many slots follow the first one of a text.
constexpr uint32_t MoreSlots(size_t text_bytes) {
  return text_bytes <= sizeof(Slot::text)
             ? 0
             : static_cast<uint32_t>((text_bytes - sizeof(Slot::text) + sizeof(Slot) - 1) /
                                     sizeof(Slot));
}
static_assert(1 + MoreSlots(kMaxTextBytes) == kMaxSlots);

enum class RingState : uint32_t {
  kFree = 0,    // any thread may claim it; head == tail
  kOpen = 1,    // owned by a thread
  kClosed = 2,  // its thread has ended; kFree once all of it is read
};

struct ThreadRing {
  // Written by the owning thread.
  alignas(64) std::atomic<uint64_t> head;
  std::atomic<uint32_t> state;
  std::atomic<uint32_t> tid;
  // Counts events that found the ring full. Of the three fields, `dropped` is stored last.
  std::atomic<uint64_t> drop_first;  // stamp of the first drop since the reader last looked
  std::atomic<uint64_t> drop_last;
  std::atomic<uint64_t> dropped;
  // How long setting up the ring delayed the thread within its call, in stamps. The reader resets
  // it to 0.
  std::atomic<uint64_t> set_up;
  // Written by the reader.
  alignas(64) std::atomic<uint64_t> tail;
  std::atomic<uint64_t> dropped_seen;
};
static_assert(sizeof(ThreadRing) == 128);

// The clock that stamps are taken from.
enum class StampClock : uint32_t {
  kTsc = 1,        // the TSC, where the kernel uses it as its clock, too
  kMonotonic = 2,  // CLOCK_MONOTONIC of the process's time namespace, ns
};

// Who reads the rings: no tracer yet, one tracer, or none because none is allowed or able to.
enum class Reader : uint32_t { kNone = 0, kReading = 1, kRefused = 2 };

struct SegmentHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t index;  // among the process's segments
  uint32_t pid;    // in the process's own PID namespace
  StampClock clock;
  uint32_t names, threads, slot_bits;
  uint32_t late;  // 1: the process made calls earlier, while it was not recorded
  // Written by the reader.
  alignas(64) std::atomic<uint32_t> reader;  // enum Reader; used as a futex
  std::atomic<uint32_t> generation;          // number of readers so far
  // Counts events of threads that found no free ring.
  alignas(64) std::atomic<uint64_t> unclaimed;
  std::atomic<uint64_t> unclaimed_first, unclaimed_last;  // stamps
};
static_assert(sizeof(SegmentHeader) <= kPageBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

constexpr size_t RoundUpToPage(size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// The offsets of a segment's parts, derived from three validated numbers.
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
