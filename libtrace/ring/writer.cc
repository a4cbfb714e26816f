// SPDX-License-Identifier: Apache-2.0
#include "libtrace/ring/writer.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "libtrace/ring/ask.h"
#include "libtrace/ring/segment.h"

namespace acceltrace::ring {
namespace {

constexpr size_t kFirstBytes = 32 << 10;  // 1024 slots
constexpr uint32_t kPreparedRings = 8;

// All segments of the process, in memory that is wiped on fork: a child begins with none.
struct Process {
  std::atomic<uint32_t> locked;
  std::atomic<uint32_t> num_segments;
  std::atomic<uint32_t> failed;  // rings could not be made; the tracer was told
  std::atomic<uint32_t> waited;  // the wait for the first answer is over
  Segment segments[kMaxSegments];
};

std::atomic<const Host*> host{nullptr};
std::atomic<Process*> process{nullptr};
std::atomic<uint64_t> early_drops{0};  // in signal handlers, while the first segment is made
pthread_key_t thread_key;
bool has_key = false;
Writer nobody = {};

class Lock {
 public:
  explicit Lock(std::atomic<uint32_t>* word) : word_(word) {
    while (word_->exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
  ~Lock() { word_->store(0, std::memory_order_release); }

 private:
  std::atomic<uint32_t>* word_;
};

bool InUse(const Writer& writer) { return writer.ring != nullptr; }

void CloseRing(void* argument) {
  auto* writer = static_cast<Writer*>(argument);
  current_writer = &nobody;
  if (!InUse(*writer)) return;  // it belonged to the parent of a fork
  ThreadRing* ring = writer->ring;
  *writer = {};
  ring->state.store(static_cast<uint32_t>(RingState::kClosed), std::memory_order_release);
}

Process* GetProcess() {
  Process* known = process.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  auto* fresh = static_cast<Process*>(MapWipedOnFork(sizeof(Process)));
  if (fresh == nullptr) return nullptr;
  if (process.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return fresh;
  return known;  // another thread was faster; unmapping this page is not worth a system call
}

Reader ReaderOf(const Process& all) {
  if (all.num_segments.load(std::memory_order_acquire) == 0) return Reader::kNone;
  return static_cast<Reader>(all.segments[0].header->reader.load(std::memory_order_acquire));
}

// Waits until the tracer has taken the segment, after which events survive the end of this process.
void AwaitReader(Process* all, const Host& owner) {
  std::atomic<uint32_t>& reader = all->segments[0].header->reader;
  const uint64_t until = MonotonicNow() + static_cast<uint64_t>(owner.patience_ns);
  const int error = errno;
  for (;;) {
    const uint64_t now = MonotonicNow();
    if (reader.load(std::memory_order_acquire) != 0 || now >= until) break;
    const timespec rest = {static_cast<time_t>((until - now) / 1'000'000'000),
                           static_cast<long>((until - now) % 1'000'000'000)};
    syscall(SYS_futex, &reader, FUTEX_WAIT, 0, &rest, nullptr, 0);
  }
  errno = error;
  all->waited.store(1, std::memory_order_release);
}

// Faults in the first thread's whole ring, and the beginning of the next threads' rings, while the
// program is still starting: in a short-lived thread page faults would cost more than all its
// events.
void PopulateFor(const Segment& segment, uint32_t index) {
  const size_t whole = segment.layout.ring_bytes();
  const size_t some = std::min(whole, kFirstBytes);
  if (index > 0 || segment.header->index > 0) {
    Populate(segment.slots(index), some);
    return;
  }
  Populate(segment.slots(0), whole);
  for (uint32_t i = 1; i < segment.layout.threads && i < kPreparedRings; ++i) {
    Populate(segment.slots(i), some);
  }
}

void Attach(const Segment& segment, uint32_t index) {
  Writer* writer = &segment.writers[index];
  ThreadRing* ring = &segment.rings()[index];
  ring->tid.store(static_cast<uint32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  writer->ring = ring;
  writer->head = &ring->head;
  writer->slots = segment.slots(index);
  writer->mask = segment.layout.slots() - 1;
  writer->pos = writer->stop = writer->slots;
  current_writer = writer;
  if (has_key) pthread_setspecific(thread_key, writer);
  PopulateFor(segment, index);
}

bool ClaimIn(const Segment& segment) {
  for (uint32_t i = 0; i < segment.layout.threads; ++i) {
    std::atomic<uint32_t>& state = segment.rings()[i].state;
    auto free = static_cast<uint32_t>(RingState::kFree);
    if (state.load(std::memory_order_relaxed) != free) continue;
    if (!state.compare_exchange_strong(free, static_cast<uint32_t>(RingState::kOpen),
                                       std::memory_order_acq_rel)) {
      continue;
    }
    Attach(segment, i);
    return true;
  }
  return false;
}

uint64_t StampBy(StampClock clock) { return clock == StampClock::kTsc ? Stamp() : MonotonicNow(); }

// Makes another segment and claims a ring in it for this thread.
bool Extend(Process* all, const Host& owner) {
  uint64_t address = 0, bytes = 0;
  {
    const Lock lock(&all->locked);
    const uint32_t count = all->num_segments.load(std::memory_order_relaxed);
    if (all->failed.load(std::memory_order_relaxed) != 0 || count == kMaxSegments) return false;
    // Another thread has extended it meanwhile.
    if (count > 0 && ClaimIn(all->segments[count - 1])) return true;
    Segment* segment = &all->segments[count];
    if (const int error = MakeSegment(owner, count, segment); error != 0) {
      if (count == 0) all->failed.store(1, std::memory_order_relaxed);
      bytes = static_cast<uint64_t>(error);
    } else {
      address = reinterpret_cast<uintptr_t>(segment->header);
      bytes = segment->layout.bytes();
      (void)ClaimIn(*segment);
      if (const uint64_t dropped = early_drops.exchange(0); dropped > 0) {
        SegmentHeader* const header = segment->header;
        const uint64_t stamp = StampBy(header->clock);
        header->unclaimed_first.store(stamp, std::memory_order_relaxed);
        header->unclaimed_last.store(stamp, std::memory_order_relaxed);
        header->unclaimed.store(dropped, std::memory_order_release);
      }
      all->num_segments.store(count + 1, std::memory_order_release);
    }
  }
  owner.ready(address, bytes, kVersion);
  if (address != 0 && all->waited.load(std::memory_order_acquire) == 0) AwaitReader(all, owner);
  return address != 0;
}

bool Claim(const Host& owner) {
  Process* all = process.load(std::memory_order_acquire);
  if (all != nullptr && all->failed.load(std::memory_order_relaxed) != 0) return false;
  const uint32_t count = all == nullptr ? 0 : all->num_segments.load(std::memory_order_acquire);
  if (count == 0) {
    if (!Recorded(owner)) {
      early_drops.store(0, std::memory_order_relaxed);
      return false;
    }
    all = GetProcess();
    return all != nullptr && Extend(all, owner);
  }
  const Reader reader = ReaderOf(*all);
  const bool waiting = reader == Reader::kNone && all->waited.load(std::memory_order_acquire) == 0;
  if (reader == Reader::kReading || waiting) {
    for (uint32_t i = 0; i < count; ++i) {
      if (ClaimIn(all->segments[i])) return true;
    }
    if (count < kMaxSegments && Extend(all, owner)) return true;
  }
  return false;
}

void CountUnclaimed() {
  Process* all = process.load(std::memory_order_acquire);
  if (all == nullptr || all->num_segments.load(std::memory_order_acquire) == 0) return;
  SegmentHeader* header = all->segments[0].header;
  const uint64_t stamp = StampBy(header->clock);
  uint64_t none = 0;
  header->unclaimed_first.compare_exchange_strong(none, stamp, std::memory_order_relaxed);
  header->unclaimed_last.store(stamp, std::memory_order_relaxed);
  header->unclaimed.fetch_add(1, std::memory_order_release);
}

void CountDrop(ThreadRing* ring, uint64_t stamp) {
  const uint64_t dropped = ring->dropped.load(std::memory_order_relaxed);
  if (dropped == ring->dropped_seen.load(std::memory_order_acquire)) {
    ring->drop_first.store(stamp, std::memory_order_relaxed);
  }
  ring->drop_last.store(stamp, std::memory_order_relaxed);
  ring->dropped.fetch_add(1, std::memory_order_release);  // a signal handler may do so, too
}

// Opens the slots from `head` on for writing without further checks. Returns how many slots are
// free in the whole ring.
uint64_t Refill(Writer* writer, uint64_t head, StampClock clock, const Host& owner) {
  const uint64_t capacity = writer->mask + 1;
  const uint64_t tail = writer->ring->tail.load(std::memory_order_acquire);
  const uint64_t used = head - tail;
  if (used >= capacity / 2 && writer->woken_tail != tail + 1) {
    writer->woken_tail = tail + 1;
    owner.wake();
  }
  const uint64_t free = used <= capacity ? capacity - used : 0;
  // Opens at most a quarter of the ring, so that the reader is woken in time.
  uint64_t stretch = std::min({free, capacity - (head & writer->mask), capacity / 4});
  if (clock != StampClock::kTsc) stretch = 0;
  writer->pos = writer->slots + (head & writer->mask);
  writer->stop = writer->pos + stretch;
  writer->to_head = head * sizeof(Slot) - reinterpret_cast<uintptr_t>(writer->pos);
  return free;
}

bool WriteSlots(Slot* slots, uint32_t count) {
  const Host* owner = host.load(std::memory_order_acquire);
  if (owner == nullptr) return false;
  if (!InUse(*current_writer)) {
    const uint64_t begin = Stamp();
    if (!owner->wanted() || !Claim(*owner)) {
      CountUnclaimed();
      return false;
    }
    current_writer->ring->set_up.store(Stamp() - begin, std::memory_order_relaxed);
  }
  Writer* writer = current_writer;
  const Process* all = process.load(std::memory_order_acquire);
  const StampClock clock = all->segments[0].header->clock;
  const uint64_t head = writer->ring->head.load(std::memory_order_relaxed);
  slots[0].stamp = StampBy(clock);
  if (Refill(writer, head, clock, *owner) < count) {
    CountDrop(writer->ring, slots[0].stamp);
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) writer->slots[(head + i) & writer->mask] = slots[i];
  writer->ring->head.store(head + count, std::memory_order_release);
  Refill(writer, head + count, clock, *owner);
  return true;
}

}  // namespace

thread_local constinit Writer* current_writer = &nobody;
thread_local constinit volatile bool writing = false;

void DropInHandler() {
  const Host* owner = host.load(std::memory_order_acquire);
  const Process* all = process.load(std::memory_order_acquire);
  if (owner == nullptr || !owner->wanted()) return;
  Writer* const writer = current_writer;
  if (all == nullptr || all->num_segments.load(std::memory_order_acquire) == 0) {
    early_drops.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (!InUse(*writer)) {
    CountUnclaimed();
    return;
  }
  CountDrop(writer->ring, StampBy(all->segments[0].header->clock));
}

void SetHost(const Host* owner) {
  if (!has_key) has_key = pthread_key_create(&thread_key, CloseRing) == 0;
  host.store(owner, std::memory_order_release);
}

void ForgetHost() {
  if (has_key) pthread_key_delete(thread_key);
  has_key = false;
  host.store(nullptr, std::memory_order_release);
}

void Prepare() {
  const Host* owner = host.load(std::memory_order_acquire);
  const Turn turn;
  if (owner == nullptr || !turn.mine() || !owner->wanted() || InUse(*current_writer)) return;
  if (!Claim(*owner)) return;
  const Process* all = process.load(std::memory_order_acquire);
  Writer* writer = current_writer;
  Refill(writer, writer->ring->head.load(std::memory_order_relaxed), all->segments[0].header->clock,
         *owner);
}

uint32_t ReaderGeneration() {
  const Process* all = process.load(std::memory_order_acquire);
  if (all == nullptr || all->num_segments.load(std::memory_order_acquire) == 0) return 0;
  return all->segments[0].header->generation.load(std::memory_order_relaxed);
}

void WriteSlowly(Kind kind, uint16_t name, uint32_t arg, uint64_t correlation, uint64_t bytes) {
  Slot slot = {};
  slot.kind = static_cast<uint8_t>(kind);
  slot.name = name;
  slot.arg = arg;
  slot.call.correlation = correlation;
  slot.call.bytes = bytes;
  (void)WriteSlots(&slot, 1);
}

bool WriteTextSlowly(Kind kind, uint32_t arg, std::string_view text) {
  alignas(Slot) char memory[kMaxSlots * sizeof(Slot)] = {};
  auto* slots = reinterpret_cast<Slot*>(memory);
  slots->kind = static_cast<uint8_t>(kind);
  slots->more = static_cast<uint8_t>(MoreSlots(text.size()));
  slots->name = static_cast<uint16_t>(text.size());
  slots->arg = arg;
  std::memcpy(memory + offsetof(Slot, text), text.data(), text.size());
  return WriteSlots(slots, 1u + slots->more);
}

bool WriteLongText(Kind kind, uint32_t arg, std::string_view text) {
  text = text.substr(0, kMaxTextBytes);
  Writer* const writer = current_writer;
  Slot* const slot = writer->pos;
  const uint32_t more = MoreSlots(text.size());
  if (writer->stop - slot <= static_cast<ptrdiff_t>(more)) return WriteTextSlowly(kind, arg, text);
  slot->stamp = Stamp();
  slot->kind = static_cast<uint8_t>(kind);
  slot->more = static_cast<uint8_t>(more);
  slot->name = static_cast<uint16_t>(text.size());
  slot->arg = arg;
  // The text continues in the following slots.
  std::memcpy(reinterpret_cast<char*>(slot) + offsetof(Slot, text), text.data(), text.size());
  Publish(writer, slot + 1 + more);
  return true;
}

}  // namespace acceltrace::ring
