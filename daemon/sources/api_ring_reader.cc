// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api_ring_reader.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "daemon/give_way.h"

namespace acceltrace::daemon {
namespace {

using ring::Kind;
using ring::Slot;

// One KiB: memcpy of more falls back to an instruction that moves byte by byte in some emulators.
constexpr size_t kChunkSlots = 32;

}  // namespace

Result<SegmentReader> SegmentReader::Open(void* memory, size_t bytes) {
  if (bytes < ring::kPageBytes) return Status::Error("too small for a segment of rings");
  ring::SegmentHeader* shared = static_cast<ring::SegmentHeader*>(memory);
  // Each field once.
  const auto load = [](const auto& field) { return __atomic_load_n(&field, __ATOMIC_ACQUIRE); };
  if (load(shared->magic) != ring::kMagic) return Status::Error("no segment of rings");
  const uint32_t version = load(shared->version);
  if (version != ring::kVersion) {
    return Status::Error("its rings have version " + std::to_string(version) +
                         ", this daemon reads " + std::to_string(ring::kVersion));
  }
  SegmentReader reader;
  reader.memory_ = memory;
  reader.layout_ = {load(shared->names), load(shared->threads), load(shared->slot_bits)};
  reader.pid_ = load(shared->pid);
  reader.index_ = load(shared->index);
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
    // A reader before this one may have left it somewhere.
    reader.rings_[i].tail = reader.rings_[i].limit =
        reader.shared(i)->tail.load(std::memory_order_relaxed);
  }
  return reader;
}

void SegmentReader::SkipBacklog() {
  for (size_t i = 0; i < rings_.size(); ++i) {
    rings_[i].tail = rings_[i].limit = shared(i)->head.load(std::memory_order_acquire);
    shared(i)->tail.store(rings_[i].tail, std::memory_order_release);
    rings_[i].dropped = shared(i)->dropped.load(std::memory_order_acquire);
    shared(i)->dropped_seen.store(rings_[i].dropped, std::memory_order_release);
    shared(i)->set_up.store(0, std::memory_order_relaxed);
  }
  unclaimed_ = header()->unclaimed.load(std::memory_order_acquire);
}

void SegmentReader::Damaged(const char* what) {
  ++counts_.bad;
  if (damage_.empty()) damage_ = what;
}

uint32_t SegmentReader::Look() {
  uint64_t most = 0;
  for (size_t i = 0; i < rings_.size(); ++i) {
    ring::ThreadRing* from = shared(i);
    // In this order: a closed ring's head does not move.
    rings_[i].closed = from->state.load(std::memory_order_acquire) ==
                       static_cast<uint32_t>(ring::RingState::kClosed);
    const uint64_t head = from->head.load(std::memory_order_acquire);
    if (head == rings_[i].limit) continue;
    if (head - rings_[i].tail > layout_.slots()) {
      Damaged("a ring's head is where it cannot be");
      rings_[i].tail = head;
      from->tail.store(head, std::memory_order_release);
    }
    rings_[i].limit = head;
    most = std::max(most, head - rings_[i].tail);
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
    if (used <= layout_.slots()) most = std::max(most, used);  // else Look will say so
  }
  return static_cast<uint32_t>(most * 1000 >> layout_.slot_bits);
}

size_t SegmentReader::Read(size_t max_slots, RingSink* sink) {
  size_t taken = 0;
  // Not always from the first on: a flood in one must not starve the others.
  for (size_t i = 0; i < rings_.size(); ++i) {
    const size_t index = (next_ring_ + i) % rings_.size();
    taken += ReadRing(index, max_slots - taken, sink);
    if (taken >= max_slots) {
      next_ring_ = (index + 1) % rings_.size();
      break;
    }
  }
  const uint64_t unclaimed = header()->unclaimed.load(std::memory_order_acquire);
  if (unclaimed > unclaimed_) {
    sink->OnRingLoss(unclaimed - unclaimed_,
                     header()->unclaimed_first.exchange(0, std::memory_order_relaxed),
                     header()->unclaimed_last.load(std::memory_order_relaxed));
    counts_.lost += unclaimed - unclaimed_;
    unclaimed_ = unclaimed;
  }
  return taken;
}

size_t SegmentReader::ReadRing(size_t index, size_t max_slots, RingSink* sink) {
  Ring& ring = rings_[index];
  ring::ThreadRing* from = shared(index);
  const uint64_t begin = ring.tail;
  if (ring.tail != ring.limit) {
    const uint64_t mask = layout_.slots() - 1;
    const auto* slots = reinterpret_cast<const Slot*>(
        static_cast<const char*>(memory_) + layout_.slots_at() + index * layout_.ring_bytes());
    const uint32_t tid = from->tid.load(std::memory_order_relaxed);
    Slot chunk[kChunkSlots];
    while (ring.tail != ring.limit && ring.tail - begin < max_slots) {
      const size_t available = std::min<size_t>(ring.limit - ring.tail, kChunkSlots);
      const size_t first = std::min<size_t>(available, layout_.slots() - (ring.tail & mask));
      std::memcpy(chunk, slots + (ring.tail & mask), first * sizeof(Slot));
      std::memcpy(chunk + first, slots, (available - first) * sizeof(Slot));
      size_t used = 0;
      // An event at the chunk's end may go on in the next one.
      const bool last = available == ring.limit - ring.tail;
      while (used < available && (last || available - used >= ring::kMaxSlots)) {
        const Slot* at = chunk + used;
        if (available - used >= 2 && IsPair(at) && sink->OnRingPair(tid, at[0], at[1])) {
          counts_.out += 2;
          used += 2;
          continue;
        }
        used += TakeEvent(at, available - used, tid, sink);
      }
      ring.tail += used;
      // Whoever goes on writing has its room back at once.
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
  return ring.tail - begin;
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

void SegmentReader::TakeLosses(Ring* ring, ring::ThreadRing* from, RingSink* sink) {
  const uint64_t dropped = from->dropped.load(std::memory_order_acquire);
  if (dropped == ring->dropped) return;
  const uint64_t first = from->drop_first.load(std::memory_order_relaxed);
  const uint64_t last = from->drop_last.load(std::memory_order_relaxed);
  if (dropped > ring->dropped) {
    counts_.lost += dropped - ring->dropped;
    sink->OnRingLoss(dropped - ring->dropped, first, last);
  } else {
    Damaged("a ring's count of drops went back");
  }
  ring->dropped = dropped;
  from->dropped_seen.store(dropped, std::memory_order_release);
}

void SegmentReader::Answer(ring::Reader reader) {
  if (reader == ring::Reader::kReading) {
    header()->generation.fetch_add(1, std::memory_order_relaxed);
  }
  header()->reader.store(static_cast<uint32_t>(reader), std::memory_order_release);
  syscall(SYS_futex, &header()->reader, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace acceltrace::daemon
