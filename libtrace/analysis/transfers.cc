// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/transfers.h"

#include <algorithm>
#include <memory>

#include "libtrace/analysis/durations.h"

namespace acceltrace::analysis {

double LinkBytesPerSecond(uint32_t generation, uint32_t width) {
  constexpr double kGigatransfers[] = {0, 2.5, 5, 8, 16, 32, 64};
  if (generation == 0 || generation > 6 || width == 0 || width > 32) return 0;
  const double coding = generation <= 2 ? 8.0 / 10 : generation <= 5 ? 128.0 / 130 : 236.0 / 256;
  return kGigatransfers[generation] * 1e9 * width / 8 * coding;
}

double PayloadEfficiency(uint32_t max_payload_bytes, bool to_device) {
  if (max_payload_bytes == 0) return 1;
  const double header_bytes = to_device ? 12 : 16;
  constexpr double kFramingBytes = 8;
  return max_payload_bytes / (max_payload_bytes + header_bytes + kFramingBytes);
}

namespace {

// 4 KiB, 64 KiB, 1 MiB, 16 MiB, and the rest.
constexpr uint64_t kClassBytes[] = {4096, 65536, 1 << 20, 16 << 20, UINT64_MAX};

// Transfers of one size after the other.
class SizeTotal {
 public:
  SizeTotal(const Durations* time, uint64_t up_to_bytes) : time_(time) {
    size_.up_to_bytes = up_to_bytes;
  }
  bool Takes(uint64_t bytes) const { return bytes <= size_.up_to_bytes; }
  void Add(uint64_t bytes, const Mark& start, const Mark& end, const Rate& rate) {
    ++size_.count;
    size_.bytes += bytes;
    time_.Add(start, end, rate);
  }
  SizeClass Done(double link_bytes_per_s) {
    size_.time = time_.sum();
    size_.bytes_per_s = PerSecond(static_cast<double>(size_.bytes), size_.time);
    size_.of_link = OfPeak(size_.bytes_per_s, link_bytes_per_s);
    return size_;
  }

 private:
  SizeClass size_;
  UnitSum time_;
};

// Columns of commands, read in order.
struct Columns {
  explicit Columns(const model::Commands& commands)
      : device(commands.device),
        unit(commands.unit),
        bytes(commands.bytes),
        start(commands.start),
        end(commands.end) {}
  Cursor<uint32_t> device, unit;
  Cursor<uint64_t> bytes;
  MarkCursor start, end;
};

// rows: all commands, by start.
Direction DirectionOf(const model::Model& model, const std::vector<uint32_t>& rows,
                      uint32_t device_row, uint32_t unit) {
  const model::Device& device = model.devices[device_row];
  const auto columns = std::make_unique<Columns>(model.commands);
  const proto::Unit& about = device.about.units(static_cast<int>(unit));
  Direction direction;
  direction.name = about.name();
  direction.to_device = about.kind() == proto::Unit::KIND_DMA_TO_DEVICE;
  direction.link_bytes_per_s =
      LinkBytesPerSecond(device.about.pci().link_speed(), device.about.pci().link_width());
  direction.ceiling_bytes_per_s =
      direction.link_bytes_per_s *
      PayloadEfficiency(device.about.pci().max_payload_bytes(), direction.to_device);
  const Durations time(device);
  SizeTotal all(&time, UINT64_MAX);
  std::vector<SizeTotal> sizes;
  for (uint64_t up_to : kClassBytes) sizes.emplace_back(&time, up_to);
  for (const uint32_t i : rows) {
    if (columns->device[i] != device_row || columns->unit[i] != unit) continue;
    const uint64_t bytes = columns->bytes[i];
    if (bytes == 0) continue;
    const Mark start = columns->start[i], end = columns->end[i];
    const Rate rate = time.RateBetween(start, end);
    all.Add(bytes, start, end, rate);
    std::find_if(sizes.begin(), sizes.end(), [&](const SizeTotal& size) {
      return size.Takes(bytes);
    })->Add(bytes, start, end, rate);
    if (bytes < Direction::kBestBytes) continue;
    const Ratio one = PerSecond(static_cast<double>(bytes), time.Elapsed(start, end, rate));
    Ratio& best = direction.best_bytes_per_s;
    best = {std::max(best.lo, one.lo), std::max(best.mid, one.mid), std::max(best.hi, one.hi)};
  }
  direction.all = all.Done(direction.link_bytes_per_s);
  for (SizeTotal& size : sizes) {
    direction.sizes.push_back(size.Done(direction.link_bytes_per_s));
  }
  std::erase_if(direction.sizes, [](const SizeClass& c) { return c.count == 0; });
  return direction;
}

}  // namespace

std::vector<DeviceTransfers> ComputeTransfers(const model::Model& model) {
  const std::vector<uint32_t> rows = RowsByStart(model);
  std::vector<DeviceTransfers> devices;
  for (uint32_t d = 0; d < model.devices.size(); ++d) {
    const proto::Device& about = model.devices[d].about;
    DeviceTransfers transfers;
    transfers.device = d;
    transfers.generation = about.pci().link_speed();
    transfers.width = about.pci().link_width();
    transfers.generation_max = about.pci().link_speed_max();
    transfers.width_max = about.pci().link_width_max();
    for (uint32_t unit = 0; unit < static_cast<uint32_t>(about.units_size()); ++unit) {
      if (model.devices[d].IsDma(unit)) {
        transfers.directions.push_back(DirectionOf(model, rows, d, unit));
      }
    }
    devices.push_back(std::move(transfers));
  }
  return devices;
}

}  // namespace acceltrace::analysis
