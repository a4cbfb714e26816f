// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/job_orders.h"

namespace acceltrace::model {

using clock::Constraints;

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
  // Not the handler's entry: one from before the completion may still have found it.
  if (done_ns != kNoTime) orders->Add({completion, done_ns, Order::kDeviceFirst, window});
}

// Where these are what Constraints::AddSpan() makes of each job.
bool JobOrders::SetWindows(size_t rows) {
  const int64_t stop_ns = windows_.stop_ns();
  const int64_t *submits = sides_.submit_ns, *rings = sides_.doorbell_ns,
                *ends = sides_.complete_ns;
  uint32_t others = 0;
  for (size_t i = 0; i < rows; ++i) {
    const uint64_t since = static_cast<uint64_t>(ends[i]) - static_cast<uint64_t>(submits[i]);
    others |= (submits[i] == kNoTime) | (rings[i] < submits[i]) | (ends[i] < rings[i]) |
              (ends[i] > stop_ns) | (since >= Constraints::kNoLo);
    since_submit_[i] = static_cast<uint32_t>(since) | Constraints::kDeviceFirst;
    until_end_[i] =
        static_cast<uint32_t>(static_cast<uint64_t>(ends[i]) - static_cast<uint64_t>(rings[i]));
  }
  return others == 0;
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
