// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/convert_losses.h"

#include <algorithm>
#include <utility>

namespace acceltrace::model {
namespace {

// Losses beyond this number are summed up by where they happened.
void AddLoss(const Loss& loss, Model* model) {
  constexpr size_t kMostLosses = 65'536;
  if (model->losses.size() < kMostLosses) {
    model->losses.push_back(loss);
    return;
  }
  const auto same = [&](const Loss& other) {
    return other.hop == loss.hop && other.device == loss.device &&
           other.from_device == loss.from_device && other.has_times == loss.has_times &&
           (other.first_ns == kNoTime) == (loss.first_ns == kNoTime);
  };
  Loss* last = &*std::find_if(model->losses.rbegin(), model->losses.rbegin() + 64, same);
  if (!same(*last)) last = &model->losses.back();
  last->count += loss.count;
  if (!same(*last)) {  // their times cannot be combined
    last->first_ns = last->last_ns = kNoTime;
    last->has_times = false;
    return;
  }
  if (loss.first_ns == kNoTime) return;
  if (loss.first_ns < last->first_ns) last->first_ns = loss.first_ns, last->first = loss.first;
  if (loss.last_ns > last->last_ns) last->last_ns = loss.last_ns, last->last = loss.last;
}

}  // namespace

void ConvertLosses(const Windows* windows, Decoder* decoder, Model* model) {
  for (size_t b = 0; b < decoder->losses.size(); ++b) {
    const proto::LossBatch batch = std::move(decoder->losses[b]);
    for (int i = 0; i < batch.count_size(); ++i) {
      const auto at = [i](const auto& column) { return i < column.size() ? column.Get(i) : 0; };
      Loss loss;
      loss.hop = at(batch.hop());
      loss.count = batch.count(i);
      loss.from_device = at(batch.in_ticks()) != 0;
      loss.first_ns = at(batch.first());
      loss.last_ns = at(batch.last());
      const uint32_t row = decoder->DeviceRow(at(batch.device()));
      if (row != kNoRow) loss.device = row;
      if (loss.from_device) {
        const bool known = windows != nullptr && row != kNoRow && model->devices[row].clock.valid();
        if (known) {
          const clock::Map& clock = model->devices[row].clock;
          loss.has_times = true;
          const auto& near = decoder->near.losses[b];
          const clock::Window window =
              windows->OfStream(row, row < near.size() ? near[row] : clock::Map::kNoHint);
          loss.first = clock.Locate(static_cast<uint64_t>(loss.first_ns), window);
          loss.last = clock.Locate(static_cast<uint64_t>(loss.last_ns), window);
        }
        loss.first_ns = known ? loss.first.host.mid_ns : kNoTime;
        loss.last_ns = known ? loss.last.host.mid_ns : kNoTime;
      } else if (loss.first_ns == 0) {
        loss.first_ns = loss.last_ns = kNoTime;
      }
      AddLoss(loss, model);
    }
  }
}

bool ConvertLosses(Decoder* decoder, Model* model) {
  if (decoder->HasDeviceLosses()) return false;
  ConvertLosses(nullptr, decoder, model);
  return true;
}

}  // namespace acceltrace::model
