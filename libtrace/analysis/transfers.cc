// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/transfers.h"

#include <algorithm>
#include <bit>

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

double Direction::AchievedBytesPerSecond() const {
  return time.mid_ns <= 0 ? 0 : static_cast<double>(bytes) * 1e9 / static_cast<double>(time.mid_ns);
}

namespace {

// 4 KiB, 64 KiB, 1 MiB, 16 MiB, and the rest.
constexpr uint64_t kClassBytes[] = {4096, 65536, 1 << 20, 16 << 20, UINT64_MAX};

Direction DirectionOf(const model::Model& model, uint32_t device_row, uint32_t unit) {
  const model::Device& device = model.devices[device_row];
  const model::Commands& commands = model.commands;
  const proto::Unit& about = device.about.units(static_cast<int>(unit));
  Direction direction;
  direction.name = about.name();
  direction.to_device = about.kind() == proto::Unit::KIND_DMA_TO_DEVICE;
  direction.link_bytes_per_s =
      LinkBytesPerSecond(device.about.pci().link_speed(), device.about.pci().link_width());
  direction.ceiling_bytes_per_s =
      direction.link_bytes_per_s *
      PayloadEfficiency(device.about.pci().max_payload_bytes(), direction.to_device);
  for (uint64_t up_to : kClassBytes) direction.sizes.push_back({up_to, 0, 0, {}});
  for (size_t i = 0; i < commands.size(); ++i) {
    if (commands.device[i] != device_row || commands.unit[i] != unit || commands.bytes[i] == 0) {
      continue;
    }
    const Span time = OnDevice(device, commands.start.ticks[i], commands.end.ticks[i]);
    ++direction.count;
    direction.bytes += commands.bytes[i];
    direction.time += time;
    auto size =
        std::find_if(direction.sizes.begin(), direction.sizes.end(),
                     [&](const SizeClass& c) { return commands.bytes[i] <= c.up_to_bytes; });
    ++size->count;
    size->bytes += commands.bytes[i];
    size->time += time;
    if (commands.bytes[i] >= Direction::kBestBytes && time.mid_ns > 0) {
      direction.best_bytes_per_s =
          std::max(direction.best_bytes_per_s,
                   static_cast<double>(commands.bytes[i]) * 1e9 / static_cast<double>(time.mid_ns));
    }
  }
  std::erase_if(direction.sizes, [](const SizeClass& c) { return c.count == 0; });
  return direction;
}

}  // namespace

std::vector<DeviceTransfers> ComputeTransfers(const model::Model& model) {
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
        transfers.directions.push_back(DirectionOf(model, d, unit));
      }
    }
    devices.push_back(std::move(transfers));
  }
  return devices;
}

}  // namespace acceltrace::analysis
