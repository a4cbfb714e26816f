// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/checked_events.h"

#include <algorithm>
#include <vector>

#include "libtrace/model/permute.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::model {
namespace {

using proto::HostBatch;

// As analysis::Coverage and the laws of calls have it.
bool IsChecked(uint8_t kind) {
  switch (kind) {
    case HostBatch::KIND_SUBMIT:
    case HostBatch::KIND_DOORBELL:
    case HostBatch::KIND_SUBMIT_END:
    case HostBatch::KIND_WAIT:
    case HostBatch::KIND_WAKE:
    case HostBatch::KIND_CONTEXT:
      return true;
    default:
      return false;
  }
}

// Rows that stay, by chunk.
using Places = std::vector<std::vector<uint16_t>>;

template <typename T>
void Keep(const Places& kept, Column<T>* column) {
  constexpr size_t kRows = Column<T>::kRows;
  static_assert(kRows <= UINT16_MAX);
  Column<T> left;
  T values[kRows];
  for (size_t c = 0; c < kept.size(); ++c) {
    column->Read(c * kRows, kRows, values);
    T* to = values;
    for (const uint16_t place : kept[c]) *to++ = values[place];
    left.AppendValues(values, kept[c].size());
  }
  *column = std::move(left);
}

}  // namespace

void KeepChecked(HostEvents* host) {
  std::vector<uint8_t> kept(host->size());
  int64_t last_ns = kNoTime;
  EachRow(
      [&](size_t row, uint8_t kind, int64_t time_ns) {
        kept[row] = IsChecked(kind);
        if (row > 0 && time_ns == last_ns) kept[row] = kept[row - 1] = 1;
        last_ns = time_ns;
        return true;
      },
      host->kind, host->time_ns);
  const auto count = static_cast<size_t>(std::count(kept.begin(), kept.end(), 1));
  if (count == kept.size()) return;
  host->alone += kept.size() - count;
  constexpr size_t kRows = Column<uint8_t>::kRows;
  Places places((kept.size() + kRows - 1) / kRows);
  for (size_t row = 0; row < kept.size(); ++row) {
    if (kept[row]) places[row / kRows].push_back(static_cast<uint16_t>(row % kRows));
  }
  const auto keep = [&places](auto*... columns) { (Keep(places, columns), ...); };
  keep(&host->kind, &host->time_ns, &host->cpu, &host->pid, &host->tid, &host->device,
       &host->context, &host->queue, &host->job, &host->sequence, &host->correlation, &host->arg0,
       &host->arg1);
}

}  // namespace acceltrace::model
