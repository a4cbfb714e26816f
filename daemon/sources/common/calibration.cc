// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/common/calibration.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <thread>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "daemon/base/host_info.h"
#include "libtrace/ring/writer.h"

namespace acceltrace::daemon {
namespace {

constexpr int kWakes = 8;
constexpr long kSleepNs = 60'000;
// On a busy machine measuring takes longer, so it is limited.
constexpr int64_t kPatienceNs = 20'000'000;
constexpr int kRingRounds = 9, kRingTimes = 64;

uint64_t Stamp() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<uint64_t>(MonotonicNs());
#endif
}

double MiddleOf(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

int64_t Times(const std::function<void()>& once, int times) {
  const int64_t begin_ns = MonotonicNs();
  for (int i = 0; i < times; ++i) once();
  return MonotonicNs() - begin_ns;
}

}  // namespace

Measured Middle(std::vector<double> rounds) {
  if (rounds.empty()) return {};
  std::sort(rounds.begin(), rounds.end());
  const double middle = MiddleOf(rounds);
  std::vector<double> away;
  for (const double round : rounds) away.push_back(std::abs(round - middle));
  std::sort(away.begin(), away.end());
  // Three quarters of the rounds are within this.
  return {std::max(0.0, middle), away[away.size() * 3 / 4]};
}

Measured CostOf(const std::function<void()>& once, const std::function<void()>& nothing, int rounds,
                int times) {
  std::vector<double> each;
  for (int i = 0; i < rounds; ++i) {
    const int64_t without_ns = Times(nothing, times);
    const int64_t with_ns = Times(once, times);
    each.push_back(static_cast<double>(with_ns - without_ns) / times);
  }
  return Middle(std::move(each));
}

Measured MeasureJobStamps() {
  constexpr int kClockReads = 3, kStamps = 4;
  volatile uint64_t sink = 0;
  const auto read = [&sink] {
    for (int i = 0; i < kClockReads; ++i) sink = static_cast<uint64_t>(MonotonicNs());
    for (int i = 0; i < kStamps; ++i) sink = Stamp();
  };
  return CostOf(
      read, [] {}, kRingRounds, kRingTimes);
}

namespace {

constexpr int kTextTimes = kRingTimes / ring::kMaxSlots;

// A ring of this thread that is not read, and what else a library does for an event of a call
// (libtrace/runtime/probes.h): it checks whether events are wanted, and by which reader, and reads
// the number of the stream.
class OwnRing {
 public:
  OwnRing() : before_(ring::current_writer) {
    writer_.slots = slots_.data();
    writer_.head = &head_;
    writer_.stop = slots_.data() + slots_.size();
    writer_.to_head = 0 - reinterpret_cast<uintptr_t>(slots_.data());
    Rewind();
    ring::current_writer = &writer_;
  }
  ~OwnRing() { ring::current_writer = before_; }
  OwnRing(const OwnRing&) = delete;

  void Rewind() { writer_.pos = slots_.data(); }

  void Begin(const void* stream) {
    if (all_ == 0) return;
    if (ready_ != 0) {
      const Known& known = known_[reinterpret_cast<uintptr_t>(stream) % known_.size()];
      const uint32_t number = known.stream == stream && known.number != 0 ? known.number : 0;
      ring::WriteBegin(1, correlation_, 0, number);
    }
    if (probe_ != 0) Rewind();
  }

  void BeginWithoutStream() {
    if (all_ == 0) return;
    if (ready_ != 0) ring::WriteBegin(1, correlation_, 0, 0);
    if (probe_ != 0) Rewind();
  }

  void End() {
    if (all_ == 0) return;
    if (ready_ != 0) ring::WriteEnd(1, correlation_, 0);
    if (probe_ != 0) Rewind();
  }

  void Text(const char* text) {
    if (all_ == 0) return;
    if (ready_ != 0) ring::WriteText(ring::Kind::kRangePush, 0, text);
    if (probe_ != 0) Rewind();
  }

 private:
  struct Known {
    const void* stream = nullptr;
    uint32_t number = 1;
  };
  ring::Writer* const before_;
  ring::Writer writer_ = {};
  std::array<ring::Slot, kRingTimes + 1> slots_ = {};  // never filled
  std::atomic<uint64_t> head_ = 0;
  std::array<Known, 8> known_ = {};
  volatile uint64_t all_ = 1, correlation_ = 1;
  volatile uint16_t ready_ = 1, probe_ = 0;
};

// `times` must not exceed the events that fit in the ring.
template <typename Write>
Measured CostInRing(int times, Write&& write) {
  OwnRing ring;
  int count = 0;
  const auto rewind = [&] {
    if (count++ % times == 0) ring.Rewind();
  };
  const auto once = [&] {
    rewind();
    write(&ring);
  };
  return CostOf(once, rewind, kRingRounds, times);
}

}  // namespace

Measured MeasureRingEvent(RingCall call) {
  void* volatile const stream = nullptr;
  switch (call) {
    case RingCall::kBegin:
      return CostInRing(kRingTimes, [&](OwnRing* ring) { ring->Begin(stream); });
    case RingCall::kBeginWithoutStream:
      return CostInRing(kRingTimes, [](OwnRing* ring) { ring->BeginWithoutStream(); });
    case RingCall::kEnd:
      return CostInRing(kRingTimes, [](OwnRing* ring) { ring->End(); });
  }
  return {};
}

Measured MeasureRingText() {
  const char* const volatile text = "a range's name";
  return CostInRing(kTextTimes, [&](OwnRing* ring) { ring->Text(text); });
}

namespace {

// [0]: woke up; [1]: about to sleep again.
using Stamps = std::array<std::array<int64_t, 2>, kWakes>;

void Sleep(Stamps* stamps, std::atomic<bool>* done) {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  const timespec pause = {0, kSleepNs};
  for (auto& [woken_ns, slept_ns] : *stamps) {
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    woken_ns = MonotonicNs();
    slept_ns = MonotonicNs();
  }
  done->store(true, std::memory_order_release);
}

struct Gap {
  int64_t begin_ns, end_ns;
};

// Reads the clock until the other thread is done, and returns the times at which it could not.
std::vector<Gap> Watch(const std::atomic<bool>& done) {
  std::vector<Gap> gaps;
  gaps.reserve(1024);
  const int64_t begin_ns = MonotonicNs();
  int64_t last_ns = begin_ns, least_ns = INT64_MAX;
  while (!done.load(std::memory_order_acquire) && last_ns - begin_ns < kPatienceNs &&
         gaps.size() < gaps.capacity()) {
    const int64_t now_ns = MonotonicNs();
    const int64_t step_ns = now_ns - last_ns;
    if (step_ns > 0) least_ns = std::min(least_ns, step_ns);
    if (step_ns > 4 * least_ns) gaps.push_back({last_ns, now_ns});
    last_ns = now_ns;
  }
  return gaps;
}

}  // namespace

Measured MeasureWakeUp() {
  cpu_set_t before, here;
  const int cpu = sched_getcpu();
  if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(before), &before) != 0) {
    return {};
  }
  CPU_ZERO(&here);
  CPU_SET(static_cast<size_t>(cpu), &here);
  if (sched_setaffinity(0, sizeof(here), &here) != 0) return {};
  Stamps stamps = {};
  std::atomic<bool> done{false};
  std::thread sleeper(Sleep, &stamps, &done);  // on this CPU, too
  const std::vector<Gap> gaps = Watch(done);
  sleeper.join();
  sched_setaffinity(0, sizeof(before), &before);

  std::vector<double> rounds;
  for (const auto& [woken_ns, slept_ns] : stamps) {
    for (const Gap& gap : gaps) {
      if (woken_ns == 0 || woken_ns < gap.begin_ns || slept_ns > gap.end_ns) continue;
      rounds.push_back(static_cast<double>((gap.end_ns - gap.begin_ns) - (slept_ns - woken_ns)));
    }
  }
  return Middle(std::move(rounds));
}

}  // namespace acceltrace::daemon
