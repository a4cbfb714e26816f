// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/job_orders.h"

namespace acceltrace::model {

using clock::Constraints;

namespace {

// Returns false if Constraints::AddSpan() would reject one of the jobs with the window from its
// submission to its end.
inline __attribute__((always_inline)) bool SetWindowsBody(const SideRows& sides, size_t rows,
                                                          int64_t stop_ns, uint32_t* since_submit,
                                                          uint32_t* until_end) {
  constexpr size_t kBlock = 32;
  int64_t others = 0;
  const auto see = [&](size_t i) __attribute__((always_inline)) {
    const int64_t submit_ns = sides.submit_ns[i], rang_ns = sides.doorbell_ns[i];
    const int64_t done_ns = sides.complete_ns[i];
    const uint64_t since = static_cast<uint64_t>(done_ns) - static_cast<uint64_t>(submit_ns);
    const bool other = (submit_ns == kNoTime) | (rang_ns < submit_ns) | (done_ns < rang_ns) |
                       (done_ns > stop_ns) | (since >= Constraints::kNoLo);
    others |= other ? 1 : 0;
    since_submit[i] = static_cast<uint32_t>(since) | Constraints::kDeviceFirst;
    until_end[i] = static_cast<uint32_t>(done_ns) - static_cast<uint32_t>(rang_ns);
  };
  size_t row = 0;
  for (; row + kBlock <= rows; row += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) see(row + i);
  }
  for (; row < rows; ++row) see(row);
  return others == 0;
}

#define SET_WINDOWS_FOR(NAME, TARGET)                                                    \
  TARGET bool SetWindows##NAME(const SideRows& sides, size_t rows, int64_t stop_ns,      \
                               uint32_t* __restrict since, uint32_t* __restrict until) { \
    return SetWindowsBody(sides, rows, stop_ns, since, until);                           \
  }

SET_WINDOWS_FOR(Baseline, )
#if defined(__x86_64__)
SET_WINDOWS_FOR(Avx2, __attribute__((target("avx2"))))
#endif

}  // namespace

void AddOrders(const Windows& windows, size_t row, const Windows::Side& side, uint64_t doorbell,
               uint64_t completion, Constraints* orders) {
  using Order = clock::Constraint::Order;
  const int64_t rang_ns = side.doorbell_ns, done_ns = side.complete_ns;
  if (rang_ns == kNoTime && done_ns == kNoTime) return;
  const clock::Window window = windows.OfJob(row, false, side);
  if (rang_ns != kNoTime && window.hi_ns == done_ns &&
      orders->AddSpan({doorbell, rang_ns}, {completion, done_ns}, window)) {
    return;
  }
  if (rang_ns != kNoTime) {
    clock::Window rung = window;
    rung.lo_ns = std::max(rung.lo_ns, rang_ns);
    orders->Add({doorbell, rang_ns, Order::kHostFirst, rung});
  }
  // The handler's entry is not used: one from before the completion may still have found it.
  if (done_ns != kNoTime) orders->Add({completion, done_ns, Order::kDeviceFirst, window});
}

bool JobOrders::SetWindows(size_t rows) {
  auto set = SetWindowsBaseline;
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2) set = SetWindowsAvx2;
#endif
  return set(sides_, rows, windows_.stop_ns(), since_submit_, until_end_);
}

JobOrders::Chunk JobOrders::ChunkAt(size_t chunk) {
  const size_t first = chunk * kRows, rows = std::min(kRows, jobs_.size() - first);
  if (const auto found = others_.find(chunk); found != others_.end()) {
    return {{}, {}, &found->second};
  }
  windows_.LoadSides(first, &sides_);
  jobs_.doorbell.ticks.Read(first, rows, doorbells_);
  jobs_.completion.ticks.Read(first, rows, completions_);
  if (SetWindows(rows)) {
    return {{rows, doorbells_, sides_.doorbell_ns, none_, until_end_, 0, 0},
            {rows, completions_, sides_.complete_ns, since_submit_, none_, 0, 0},
            nullptr};
  }
  Constraints& orders = others_[chunk];
  for (size_t i = 0; i < rows; ++i) {
    AddOrders(windows_, first + i, sides_.At(first + i), doorbells_[i], completions_[i], &orders);
  }
  return {{}, {}, &orders};
}

}  // namespace acceltrace::model
