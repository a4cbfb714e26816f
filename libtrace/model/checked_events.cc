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

constexpr size_t kRows = Column<uint8_t>::kRows;
static_assert(kRows <= UINT16_MAX);

// Rows of a chunk that stay, and whether any is there of which more is asked for than when it was,
// of which kind, and of which job and call: whether it is another one's equal, or what a context
// was; or whose call a thread's waiting was.
struct Kept {
  std::vector<uint16_t> places;
  bool all = false, wakes = false;
};

template <typename T, typename Wanted>
void Keep(const std::vector<Kept>& chunks, const Wanted& wanted, Column<T>* column) {
  Column<T> left;
  T values[kRows];
  for (size_t c = 0; c < chunks.size(); ++c) {
    const std::vector<uint16_t>& places = chunks[c].places;
    if (!wanted(chunks[c])) {
      left.resize(left.size() + places.size());
      continue;
    }
    column->Read(c * kRows, kRows, values);
    T* to = values;
    for (const uint16_t place : places) *to++ = values[place];
    left.AppendValues(values, places.size());
  }
  *column = std::move(left);
}

}  // namespace

void KeepChecked(HostEvents* host) {
  std::vector<uint8_t> kept(host->size());
  std::vector<Kept> chunks((host->size() + kRows - 1) / kRows);
  int64_t last_ns = kNoTime;
  EachRow(
      [&](size_t row, uint8_t kind, int64_t time_ns) {
        kept[row] = IsChecked(kind);
        if (row > 0 && time_ns == last_ns) {
          kept[row] = kept[row - 1] = 1;
          chunks[row / kRows].all = chunks[(row - 1) / kRows].all = true;
        }
        if (kind == HostBatch::KIND_CONTEXT) chunks[row / kRows].all = true;
        if (kind == HostBatch::KIND_WAKE) chunks[row / kRows].wakes = true;
        last_ns = time_ns;
        return true;
      },
      host->kind, host->time_ns);
  const auto count = static_cast<size_t>(std::count(kept.begin(), kept.end(), 1));
  if (count == kept.size()) return;
  host->alone += kept.size() - count;
  for (size_t row = 0; row < kept.size(); ++row) {
    if (kept[row]) chunks[row / kRows].places.push_back(static_cast<uint16_t>(row % kRows));
  }
  const auto keep = [&chunks](const auto& wanted, auto*... columns) {
    (Keep(chunks, wanted, columns), ...);
  };
  keep([](const Kept&) { return true; }, &host->kind, &host->time_ns, &host->job,
       &host->correlation);
  keep([](const Kept& chunk) { return chunk.all; }, &host->cpu, &host->pid, &host->tid,
       &host->device, &host->context, &host->queue, &host->sequence, &host->arg0);
  keep([](const Kept& chunk) { return chunk.all || chunk.wakes; }, &host->arg1);
}

}  // namespace acceltrace::model
