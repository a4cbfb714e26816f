// SPDX-License-Identifier: Apache-2.0
//
// A hostile process's segment: any header and any rings, changed between any two drains. The reader
// must stay inside the memory, terminate, and count what it reads.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "daemon/sources/api/api_ring_reader.h"

namespace {

using namespace acceltrace;

struct Sink : daemon::RingSink {
  Verdict Say(uint64_t stamp) {
    ++events;
    const auto verdict = static_cast<Verdict>(stamp % 8 < 6 ? 0 : stamp % 8 - 5);
    taken += verdict == Verdict::kTaken;
    return verdict;
  }
  Verdict OnRingCall(uint32_t, const ring::Slot& slot) override { return Say(slot.stamp); }
  Verdict OnRingText(uint32_t, const ring::Slot& slot, std::string_view text) override {
    for (const char c : text) sum += static_cast<unsigned char>(c);
    if (text.size() > ring::kMaxTextBytes) abort();
    return Say(slot.stamp);
  }
  bool OnRingPair(uint32_t, const ring::Slot& begin, const ring::Slot& end) override {
    if (begin.call.correlation != end.call.correlation) abort();
    if (((begin.stamp ^ end.stamp) & 1) != 0) return false;
    events += 2, taken += 2;
    return true;
  }
  void OnRingLoss(uint64_t count, uint64_t, uint64_t) override { lost += count; }
  uint64_t events = 0, taken = 0, lost = 0, sum = 0;
};

// Bytes of the input, followed by zeros.
struct Input {
  const uint8_t* data;
  size_t bytes;
  uint64_t Take(size_t count) {
    uint64_t value = 0;
    count = count < bytes ? count : bytes;
    std::memcpy(&value, data, count);
    data += count;
    bytes -= count;
    return value;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  Input input = {data, bytes};
  const ring::Layout layout = {static_cast<uint32_t>(input.Take(1) % 4),
                               static_cast<uint32_t>(input.Take(1) % 3 + 1),
                               static_cast<uint32_t>(input.Take(1) % 3 + ring::kMinSlotBits)};
  // Allocated with exactly this size, so that the address sanitizer detects accesses past the end.
  const std::unique_ptr<char, decltype(&free)> memory(
      static_cast<char*>(aligned_alloc(ring::kPageBytes, layout.bytes())), free);
  std::memset(memory.get(), 0, layout.bytes());
  auto* header = reinterpret_cast<ring::SegmentHeader*>(memory.get());
  header->magic = ring::kMagic;
  header->version = ring::kVersion;
  header->clock = ring::StampClock::kTsc;
  header->names = layout.names;
  header->threads = layout.threads;
  header->slot_bits = layout.slot_bits;
  // The header of one in eight is wrong.
  if (input.Take(1) % 8 == 0) {
    std::memcpy(memory.get() + input.Take(1) % 64, data, bytes < 4 ? bytes : 4);
  }
  auto opened = daemon::SegmentReader::Open(memory.get(), layout.bytes(), 0, -1);
  if (!opened.ok()) return 0;
  daemon::SegmentReader reader = std::move(opened).value();
  if (input.Take(1) % 4 == 0) reader.SkipBacklog();
  auto* rings = reinterpret_cast<ring::ThreadRing*>(memory.get() + layout.threads_at());
  Sink sink;
  while (input.bytes > 0) {
    const uint64_t what = input.Take(1);
    ring::ThreadRing& ring = rings[what / 16 % layout.threads];
    switch (what % 16) {
      case 0:  // at any place in the memory, by any writer
      case 1: {
        const uint64_t at = input.Take(4) % (layout.bytes() - 8);
        const uint64_t value = input.Take(8);
        std::memcpy(memory.get() + at, &value, sizeof(value));
        break;
      }
      case 2:
        ring.head = input.Take(8);
        break;
      case 3:
        ring.state = static_cast<uint32_t>(input.Take(1) % 4);
        break;
      case 4:
        ring.dropped += input.Take(2);
        break;
      case 5:
        header->unclaimed += input.Take(2);
        break;
      case 6:
      case 7: {
        reader.Look();
        const size_t limit = input.Take(2);
        if (reader.Read(limit, &sink) > layout.threads * layout.slots()) abort();
        break;
      }
      default: {  // an almost valid event
        const auto count = 1 + input.Take(1) % ring::kMaxSlots;
        ring::Slot slots[ring::kMaxSlots];
        for (ring::Slot& slot : slots) {
          slot.stamp = input.Take(1);
          slot.kind = static_cast<uint8_t>(what % 16 - 7);
          slot.more = static_cast<uint8_t>(count - 1);
          slot.name = static_cast<uint16_t>(input.Take(1));
          slot.arg = 1;
          std::memset(slot.text, 't', sizeof(slot.text));
        }
        auto* at = reinterpret_cast<ring::Slot*>(memory.get() + layout.slots_at() +
                                                 what / 16 % layout.threads * layout.ring_bytes());
        for (size_t i = 0; i < count; ++i) at[(ring.head + i) % layout.slots()] = slots[i];
        ring.head += count;
      }
    }
  }
  reader.Look();
  reader.Read(SIZE_MAX, &sink);
  if (reader.counts().out != sink.taken || reader.counts().lost < sink.lost) abort();
  return 0;
}
