// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api/api_ring_reader.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "daemon/base/give_way.h"
#include "daemon/base/host_info.h"

namespace acceltrace::daemon {
namespace {

using ring::Kind;
using ring::Slot;

// One KiB: a larger memcpy uses an instruction that copies byte by byte in some emulators.
constexpr size_t kChunkSlots = 32;
// Copied by a system call, which costs as much as about ten events.
constexpr size_t kFileChunkSlots = 128;

// Reading the clock alone takes a thread longer than this, and a dropped event has a stamp.
constexpr int64_t kLeastEventNs = 4;
// A process that writes one invalid event is likely to write more, and each takes time from others.
constexpr uint32_t kMaxBadAtOnce = 64;

// Returns whether a thread can have written this many events between the two times.
bool Possible(uint64_t events, int64_t from_ns, int64_t to_ns) {
  return events <= static_cast<uint64_t>(std::max<int64_t>(to_ns - from_ns, 0) / kLeastEventNs);
}

}  // namespace

Result<SegmentReader> SegmentReader::Open(void* memory, size_t bytes, int64_t since_ns, int file) {
  if (bytes < ring::kPageBytes) return Status::Error("too small for a segment of rings");
  ring::SegmentHeader* shared = static_cast<ring::SegmentHeader*>(memory);
  // Reads each field only once.
  const auto load = [](const auto& field) { return __atomic_load_n(&field, __ATOMIC_ACQUIRE); };
  if (load(shared->magic) != ring::kMagic) return Status::Error("no segment of rings");
  const uint32_t version = load(shared->version);
  if (version != ring::kVersion) {
    return Status::Error("its rings have version " + std::to_string(version) +
                         ", this daemon reads " + std::to_string(ring::kVersion));
  }
  SegmentReader reader;
  reader.memory_ = memory;
  reader.file_ = file;
  reader.unclaimed_ns_ = since_ns;
  reader.layout_ = {load(shared->names), load(shared->threads), load(shared->slot_bits)};
  reader.pid_ = load(shared->pid);
  reader.index_ = load(shared->index);
  reader.late_ = load(shared->late) != 0;
  const auto clock =
      __atomic_load_n(reinterpret_cast<const uint32_t*>(&shared->clock), __ATOMIC_RELAXED);
  if (!reader.layout_.Valid() || reader.layout_.bytes() != bytes ||
      bytes > ring::kMaxSegmentBytes || reader.index_ >= ring::kMaxSegments) {
    return Status::Error("its rings have impossible sizes");
  }
  if (clock != static_cast<uint32_t>(ring::StampClock::kTsc) &&
      clock != static_cast<uint32_t>(ring::StampClock::kMonotonic)) {
    return Status::Error("its rings have an unknown clock");
  }
  reader.clock_ = static_cast<ring::StampClock>(clock);
  for (uint32_t i = 0; i < reader.layout_.names; ++i) {
    char name[ring::kNameBytes];
    std::memcpy(name, static_cast<char*>(memory) + reader.layout_.names_at() + i * ring::kNameBytes,
                sizeof(name));
    reader.names_.emplace_back(name, strnlen(name, sizeof(name)));
  }
  reader.rings_.resize(reader.layout_.threads);
  for (uint32_t i = 0; i < reader.layout_.threads; ++i) {
    // A previous reader may have left it anywhere.
    reader.rings_[i].tail = reader.rings_[i].limit =
        reader.shared(i)->tail.load(std::memory_order_relaxed);
    reader.rings_[i].counted_ns = since_ns;
  }
  return reader;
}

void SegmentReader::SkipBacklog() {
  looked_ns_ = unclaimed_ns_ = MonotonicNs();
  for (size_t i = 0; i < rings_.size(); ++i) {
    rings_[i].tail = rings_[i].limit = shared(i)->head.load(std::memory_order_acquire);
    shared(i)->tail.store(rings_[i].tail, std::memory_order_release);
    rings_[i].dropped = shared(i)->dropped.load(std::memory_order_acquire);
    shared(i)->dropped_seen.store(rings_[i].dropped, std::memory_order_release);
    rings_[i].counted_ns = looked_ns_;
    shared(i)->set_up.store(0, std::memory_order_relaxed);
  }
  unclaimed_ = header()->unclaimed.load(std::memory_order_acquire);
}

void SegmentReader::Damaged(const char* what) {
  ++counts_.bad;
  if (damage_.empty()) damage_ = what;
}

uint32_t SegmentReader::Look() {
  looked_ns_ = MonotonicNs();
  uint64_t most = 0;
  for (size_t i = 0; i < rings_.size(); ++i) {
    Ring& ring = rings_[i];
    ring::ThreadRing* from = shared(i);
    // The order matters: the head of a closed ring does not move.
    ring.closed = from->state.load(std::memory_order_acquire) ==
                  static_cast<uint32_t>(ring::RingState::kClosed);
    const uint64_t head = from->head.load(std::memory_order_acquire);
    ring.bad = 0;
    if (head != ring.limit) {
      // It only increases, and by at most one ring beyond what was read.
      if (head - ring.tail > layout_.slots() || head - ring.limit > layout_.slots()) {
        Damaged("a ring's head is where it cannot be");
        ring.tail = ring.mark = head;
        from->tail.store(head, std::memory_order_release);
      }
      ring.limit = head;
    }
    most = std::max(most, ring.limit - ring.tail);
  }
  return static_cast<uint32_t>(most * 1000 >> layout_.slot_bits);
}

void SegmentReader::Mark() {
  for (Ring& ring : rings_) ring.mark = ring.limit;
}

bool SegmentReader::PassedMark() const {
  return std::all_of(rings_.begin(), rings_.end(), [](const Ring& ring) {
    return static_cast<int64_t>(ring.tail - ring.mark) >= 0;
  });
}

uint32_t SegmentReader::Filling() const {
  uint64_t most = 0;
  for (size_t i = 0; i < layout_.threads; ++i) {
    const uint64_t tail = shared(i)->tail.load(std::memory_order_relaxed);
    const uint64_t used = shared(i)->head.load(std::memory_order_relaxed) - tail;
    if (used <= layout_.slots()) most = std::max(most, used);  // Look reports other values
  }
  return static_cast<uint32_t>(most * 1000 >> layout_.slot_bits);
}

size_t SegmentReader::Read(size_t max_slots, RingSink* sink) {
  size_t taken = 0;
  // Starts with a different ring each time, so that a flood in one does not starve the others.
  for (size_t i = 0; i < rings_.size() && sink->MayGoOn(); ++i) {
    const size_t index = (next_ring_ + i) % rings_.size();
    taken += ReadRing(index, max_slots - taken, sink);
    if (taken >= max_slots || !sink->MayGoOn()) {
      next_ring_ = (index + 1) % rings_.size();
      break;
    }
  }
  TakeUnclaimed(sink);
  return taken;
}

// Returns false if the kernel cannot read it, so that it does not exist.
bool SegmentReader::CopySlots(size_t index, uint64_t at, size_t count, Slot* slots) const {
  const size_t ring_at = layout_.slots_at() + index * layout_.ring_bytes();
  const size_t begin = at & (layout_.slots() - 1);
  const size_t first = std::min<size_t>(count, layout_.slots() - begin);
  const auto copy = [&](size_t offset, size_t bytes, void* into) {
    if (bytes == 0) return true;
    if (file_ >= 0) {
      return pread(file_, into, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
    }
    std::memcpy(into, static_cast<const char*>(memory_) + offset, bytes);
    return true;
  };
  return copy(ring_at + begin * sizeof(Slot), first * sizeof(Slot), slots) &&
         copy(ring_at, (count - first) * sizeof(Slot), slots + first);
}

size_t SegmentReader::ReadRing(size_t index, size_t max_slots, RingSink* sink) {
  Ring& ring = rings_[index];
  ring::ThreadRing* from = shared(index);
  size_t read = 0;  // without what is skipped
  if (ring.tail != ring.limit) {
    const uint32_t tid = from->tid.load(std::memory_order_relaxed);
    Slot chunk[kFileChunkSlots];
    const size_t chunk_slots = file_ >= 0 ? kFileChunkSlots : kChunkSlots;
    while (ring.tail != ring.limit && read < max_slots && sink->MayGoOn()) {
      const size_t available = std::min<size_t>(ring.limit - ring.tail, chunk_slots);
      if (!CopySlots(index, ring.tail, available, chunk)) {
        Damaged("a ring's memory cannot be read");
        ring.tail = ring.limit;
        break;
      }
      size_t used = 0;
      // An event at the chunk's end may continue in the next chunk.
      const bool last = available == ring.limit - ring.tail;
      while (used < available && (last || available - used >= ring::kMaxSlots)) {
        const Slot* at = chunk + used;
        if (available - used >= 2 && IsPair(at) && sink->OnRingPair(tid, at[0], at[1])) {
          counts_.out += 2;
          used += 2;
          continue;
        }
        const uint64_t bad = counts_.bad;
        used += TakeEvent(at, available - used, tid, sink);
        ring.bad += counts_.bad != bad;
        if (ring.bad >= kMaxBadAtOnce || !sink->MayGoOn()) break;
      }
      ring.tail += used;
      read += used;
      if (ring.bad >= kMaxBadAtOnce && ring.tail != ring.limit) {
        // The number of remaining slots is as unreliable as the rest, so this counts as one bad
        // event.
        ++counts_.bad;
        ring.tail = ring.limit;
      }
      // Makes the space available to the writer at once.
      from->tail.store(ring.tail, std::memory_order_release);
      GiveWay();
    }
  }
  TakeLosses(&ring, from, sink);
  if (from->set_up.load(std::memory_order_relaxed) != 0) {
    sink->OnRingSetUp(from->set_up.exchange(0, std::memory_order_relaxed));
  }
  if (ring.closed && ring.tail == ring.limit) {
    ring.closed = false;
    from->state.store(static_cast<uint32_t>(ring::RingState::kFree), std::memory_order_release);
  }
  return read;
}

void SegmentReader::GiveUp(RingSink* sink) {
  for (size_t i = 0; i < rings_.size(); ++i) {
    const uint64_t slots = rings_[i].limit - rings_[i].tail;
    if (slots == 0) continue;
    counts_.lost += slots;
    sink->OnRingLoss(slots, 0, UINT64_MAX);
    rings_[i].tail = rings_[i].limit;
    shared(i)->tail.store(rings_[i].tail, std::memory_order_release);
  }
}

bool SegmentReader::IsPair(const Slot* slots) const {
  const Slot& begin = slots[0];
  const Slot& end = slots[1];
  return begin.kind == static_cast<uint8_t>(Kind::kApiBegin) &&
         end.kind == static_cast<uint8_t>(Kind::kApiEnd) && (begin.more | end.more) == 0 &&
         begin.call.correlation == end.call.correlation && begin.name < names_.size() &&
         end.name < names_.size();
}

size_t SegmentReader::TakeEvent(const Slot* slots, size_t available, uint32_t tid, RingSink* sink) {
  const Slot& slot = slots[0];
  auto verdict = RingSink::Verdict::kBad;
  size_t used = 1;
  switch (static_cast<Kind>(slot.kind)) {
    case Kind::kApiBegin:
    case Kind::kApiEnd:
      if (slot.more == 0 && slot.name < names_.size()) verdict = sink->OnRingCall(tid, slot);
      break;
    case Kind::kRangePop:
      if (slot.more == 0) verdict = sink->OnRingCall(tid, slot);
      break;
    case Kind::kRangePush:
    case Kind::kMark:
    case Kind::kOpName: {
      if (slot.name > ring::kMaxTextBytes || slot.more != ring::MoreSlots(slot.name)) break;
      used += slot.more;
      if (used > available) {
        used = available;
        break;
      }
      const char* text = reinterpret_cast<const char*>(slots) + offsetof(Slot, text);
      verdict = sink->OnRingText(tid, slot, {text, slot.name});
      break;
    }
  }
  if (verdict == RingSink::Verdict::kTaken) {
    ++counts_.out;
  } else if (verdict == RingSink::Verdict::kBad) {
    Damaged("an event that no library writes");
  }
  return used;
}

// The process's count is not trusted: it is accepted only if this many events can have been written
// since the last look. Otherwise it is ignored, and counting restarts from there.
void SegmentReader::TakeLosses(Ring* ring, ring::ThreadRing* from, RingSink* sink) {
  const uint64_t dropped = from->dropped.load(std::memory_order_acquire);
  const int64_t before_ns = std::exchange(ring->counted_ns, looked_ns_);
  if (dropped == ring->dropped) return;
  const uint64_t first = from->drop_first.load(std::memory_order_relaxed);
  const uint64_t last = from->drop_last.load(std::memory_order_relaxed);
  const uint64_t more = dropped - ring->dropped;  // huge if the count decreased
  if (Possible(more, before_ns, MonotonicNs())) {
    counts_.lost += more;
    sink->OnRingLoss(more, first, last);
  } else {
    Damaged("a ring counts more drops than its thread can have had, or fewer than before");
  }
  ring->dropped = dropped;
  from->dropped_seen.store(dropped, std::memory_order_release);
}

// The same for all threads that the kernel can have run at the same time.
void SegmentReader::TakeUnclaimed(RingSink* sink) {
  const uint64_t unclaimed = header()->unclaimed.load(std::memory_order_acquire);
  const int64_t before_ns = std::exchange(unclaimed_ns_, looked_ns_);
  if (unclaimed == unclaimed_) return;
  static const auto cpus = static_cast<uint64_t>(std::max(sysconf(_SC_NPROCESSORS_CONF), 1L));
  const uint64_t more = unclaimed - unclaimed_;
  if (Possible(more / cpus, before_ns, MonotonicNs())) {
    sink->OnRingLoss(more, header()->unclaimed_first.exchange(0, std::memory_order_relaxed),
                     header()->unclaimed_last.load(std::memory_order_relaxed));
    counts_.lost += more;
  } else {
    Damaged("more events of threads without a ring than there can have been, or fewer than before");
  }
  unclaimed_ = unclaimed;
}

void SegmentReader::Answer(ring::Reader reader) {
  if (reader == ring::Reader::kReading) {
    header()->generation.fetch_add(1, std::memory_order_relaxed);
  }
  header()->reader.store(static_cast<uint32_t>(reader), std::memory_order_release);
  syscall(SYS_futex, &header()->reader, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace acceltrace::daemon
