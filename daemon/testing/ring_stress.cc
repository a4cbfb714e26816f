// SPDX-License-Identifier: Apache-2.0
//
// Threads claim rings, write and end, while a reader drains them: each event is read once and in
// order, or counted as lost. Built with the thread sanitizer, as build/test/host-ring-stress.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "daemon/sources/api/api_ring_reader.h"
#include "libtrace/ring/writer.h"

namespace {

using namespace acceltrace;

constexpr const char* kNames[] = {"call"};
constexpr ring::Layout kLayout = {1, 4, 8};
constexpr int kThreads = 6, kRounds = 40, kEvents = 3000;

std::mutex segments_mutex;
std::vector<void*> new_segments;

// The segment that the calling thread has just made, at the address where it is mapped by that
// thread, because the sanitizer identifies memory by its address.
void Ready(uint64_t address, uint64_t, uint32_t) {
  if (address == 0) abort();
  const std::lock_guard lock(segments_mutex);
  new_segments.push_back(reinterpret_cast<void*>(address));
}

const ring::Host kHost = {
    kNames,        1, [] { return true; }, Ready, [] {}, kLayout.threads, kLayout.slot_bits,
    10'000'000'000};

// The upper half of the correlation id identifies the thread, the lower half the event.
struct Check : daemon::RingSink {
  Verdict OnRingCall(uint32_t, const ring::Slot& slot) override {
    const auto thread = static_cast<uint32_t>(slot.call.correlation >> 32);
    const auto number = static_cast<uint32_t>(slot.call.correlation);
    uint32_t& next = next_of[thread];
    if (number < next || slot.call.bytes != ~slot.call.correlation) ++wrong;
    missing += number - next;
    next = number + 1;
    ++events;
    return Verdict::kTaken;
  }
  Verdict OnRingText(uint32_t, const ring::Slot&, std::string_view text) override {
    if (text.find_first_not_of('t') != std::string_view::npos) ++wrong;
    ++texts;
    return Verdict::kTaken;
  }
  void OnRingLoss(uint64_t count, uint64_t first, uint64_t last) override {
    lost += count;
    if (first == 0 || last < first) ++wrong;
  }

  std::map<uint32_t, uint32_t> next_of;
  uint64_t events = 0, texts = 0, missing = 0, lost = 0, wrong = 0;
};

std::atomic<uint32_t> next_thread{0};
std::atomic<uint64_t> texts_written{0};

void Write() {
  const uint64_t me = uint64_t{next_thread++} << 32;
  for (uint32_t i = 0; i < kEvents; ++i) {
    ring::WriteCall(ring::Kind::kApiBegin, 0, 0, me | i, ~(me | i));
    if (i % 16 == 0) {
      static constexpr char kText[] = "tttttttttttttttttttttttttttttttttttttttttttttttttttttt";
      ring::WriteText(ring::Kind::kMark, 0, std::string_view(kText, i % sizeof(kText)));
      ++texts_written;
    }
    if (i % 64 == 0) std::this_thread::yield();
  }
}

}  // namespace

int main() {
  ring::SetHost(&kHost);
  std::atomic<bool> done{false};
  Check check;
  std::vector<daemon::SegmentReader> readers;
  const auto drain = [&] {
    std::vector<void*> fresh;
    {
      const std::lock_guard lock(segments_mutex);
      fresh.swap(new_segments);
    }
    for (void* segment : fresh) {
      auto reader = daemon::SegmentReader::Open(segment, kLayout.bytes(), 0, -1);
      if (!reader.ok()) abort();
      readers.push_back(std::move(reader).value());
      readers.back().Answer(ring::Reader::kReading);
    }
    for (auto& reader : readers) {
      reader.Look();
      reader.Read(1000, &check);
    }
  };
  std::thread reading([&] {
    while (!done) {
      drain();
      std::this_thread::yield();
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(Write);
    for (std::thread& thread : threads) thread.join();
  }
  done = true;
  reading.join();
  for (int i = 0; i < 10000; ++i) drain();
  uint64_t bad = 0;
  for (const auto& reader : readers) bad += reader.counts().bad;
  const uint64_t written = uint64_t{kThreads} * kRounds * kEvents + texts_written;
  const bool right =
      check.wrong == 0 && bad == 0 && check.events + check.texts + check.lost == written;
  printf(
      "1..1\n%s 1 - %lu events, %lu texts, %lu lost, %lu wrong, %lu bad of %lu in %zu segments\n",
      right ? "ok" : "not ok", check.events, check.texts, check.lost, check.wrong, bad, written,
      readers.size());
  return right ? 0 : 1;
}
