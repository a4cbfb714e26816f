// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/transfers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "libtrace/analysis/rows/durations.h"

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

// 4 KiB, 64 KiB, 1 MiB, 16 MiB and above.
constexpr uint64_t kClassBytes[] = {4096, 65536, 1 << 20, 16 << 20, UINT64_MAX};

// Sums up transfers of one size class.
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

// Sums up the transfers of one unit, which has one direction.
class DirectionTotal {
 public:
  DirectionTotal(const model::Device& device, uint32_t unit, const Durations* time)
      : all_(time, UINT64_MAX) {
    const proto::Unit& about = device.about.units(static_cast<int>(unit));
    const proto::Pci& pci = device.about.pci();
    direction_.name = about.name();
    direction_.to_device = about.kind() == proto::Unit::KIND_DMA_TO_DEVICE;
    direction_.link_bytes_per_s = LinkBytesPerSecond(pci.link_speed(), pci.link_width());
    direction_.ceiling_bytes_per_s =
        direction_.link_bytes_per_s *
        PayloadEfficiency(pci.max_payload_bytes(), direction_.to_device);
    for (uint64_t up_to : kClassBytes) sizes_.emplace_back(time, up_to);
  }

  void Add(const PassedCommand& command) {
    const uint64_t bytes = command.bytes;
    if (bytes == 0) return;
    const Mark &start = command.start, &end = command.end;
    all_.Add(bytes, start, end, command.ran_rate);
    std::find_if(sizes_.begin(), sizes_.end(), [&](const SizeTotal& size) {
      return size.Takes(bytes);
    })->Add(bytes, start, end, command.ran_rate);
    if (bytes < Direction::kBestBytes) return;
    const Ratio one = PerSecond(static_cast<double>(bytes), command.ran);
    Ratio& best = direction_.best_bytes_per_s;
    best = {std::max(best.lo, one.lo), std::max(best.mid, one.mid), std::max(best.hi, one.hi)};
  }

  Direction Finish() {
    direction_.all = all_.Done(direction_.link_bytes_per_s);
    for (SizeTotal& size : sizes_) {
      direction_.sizes.push_back(size.Done(direction_.link_bytes_per_s));
    }
    std::erase_if(direction_.sizes, [](const SizeClass& c) { return c.count == 0; });
    return std::move(direction_);
  }

 private:
  Direction direction_;
  SizeTotal all_;
  std::vector<SizeTotal> sizes_;
};

class Sums : public TransfersSum {
 public:
  explicit Sums(const CommandPass& pass) : model_(pass.model()), units_(model_.devices.size()) {
    for (uint32_t d = 0; d < units_.size(); ++d) {
      const model::Device& device = model_.devices[d];
      units_[d].resize(static_cast<size_t>(device.about.units_size()));
      for (uint32_t unit = 0; unit < units_[d].size(); ++unit) {
        if (device.IsDma(unit)) units_[d][unit].emplace(device, unit, &pass.times()[d]);
      }
    }
  }

  void Add(const PassedCommand& command) override {
    auto& units = units_[command.device];
    if (command.unit < units.size() && units[command.unit]) units[command.unit]->Add(command);
  }

  std::vector<DeviceTransfers> Finish() override {
    std::vector<DeviceTransfers> devices;
    for (uint32_t d = 0; d < units_.size(); ++d) {
      const auto& pci = model_.devices[d].about.pci();
      DeviceTransfers transfers;
      transfers.device = d;
      transfers.generation = pci.link_speed(), transfers.width = pci.link_width();
      transfers.generation_max = pci.link_speed_max(), transfers.width_max = pci.link_width_max();
      for (std::optional<DirectionTotal>& unit : units_[d]) {
        if (unit) transfers.directions.push_back(unit->Finish());
      }
      devices.push_back(std::move(transfers));
    }
    return devices;
  }

 private:
  const model::Model& model_;
  std::vector<std::vector<std::optional<DirectionTotal>>> units_;  // by device; only DMA units
};

}  // namespace

std::unique_ptr<TransfersSum> SumTransfers(const CommandPass& pass) {
  return std::make_unique<Sums>(pass);
}

std::vector<DeviceTransfers> ComputeTransfers(const model::Model& model) {
  const CommandPass pass(model);
  const std::unique_ptr<TransfersSum> sum = SumTransfers(pass);
  CommandSum* const sums[] = {sum.get()};
  pass.Run(sums);
  return sum->Finish();
}

}  // namespace acceltrace::analysis
