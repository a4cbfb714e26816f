// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/roofline.h"

#include <algorithm>

namespace acceltrace::analysis {
namespace {

constexpr char kMemory[] = "memory";
constexpr char kBytes[] = "bytes";

void Replace(const Ceiling& with, std::vector<Ceiling>* ceilings) {
  if (!(with.per_s > 0)) return;
  const auto found = std::find_if(ceilings->begin(), ceilings->end(), [&](const Ceiling& known) {
    return known.resource == with.resource;
  });
  if (found == ceilings->end()) {
    ceilings->push_back(with);
  } else if (found->counts == with.counts) {
    *found = with;
  }
}

std::vector<Ceiling> CeilingsOf(const model::Device& device, const DeviceTransfers* transfers,
                                const std::vector<MeasuredCeilings>& measured) {
  std::vector<Ceiling> ceilings;
  if (transfers != nullptr) {
    for (const Direction& direction : transfers->directions) {
      Replace({direction.name, kBytes, direction.ceiling_bytes_per_s, false}, &ceilings);
    }
  }
  Replace({kMemory, kBytes, static_cast<double>(device.about.memory_bytes_per_s()), false},
          &ceilings);
  for (int u = 0; u < device.about.units_size(); ++u) {
    const proto::Unit& unit = device.about.units(u);
    if (device.IsDma(static_cast<uint32_t>(u))) continue;
    Replace({unit.name(), unit.work_unit(), unit.peak_work_per_s(), false}, &ceilings);
  }
  for (const MeasuredCeilings& of : measured) {
    const bool own = of.address.empty() ? of.device == device.about.name()
                                        : of.address == device.about.pci().address();
    if (!own) continue;
    for (Ceiling ceiling : of.ceilings) {
      ceiling.measured = true;
      Replace(ceiling, &ceilings);
    }
  }
  return ceilings;
}

void FindRoof(const std::vector<Ceiling>& ceilings, bool is_dma, RoofUse* use) {
  const double moved = static_cast<double>(use->memory_bytes);
  const double amount = static_cast<double>(is_dma ? use->bytes : use->work);
  for (const Ceiling& ceiling : ceilings) {
    double of = 0;
    if (ceiling.resource == kMemory) of = moved;
    if (ceiling.resource == use->unit) of = amount;
    const double ns = of / ceiling.per_s * 1e9;
    if (ns > use->roof_ns) use->roof_ns = ns, use->roof = ceiling.resource;
  }
  use->per_s = PerSecond(amount, use->time);
  if (!is_dma && moved > 0) use->intensity = static_cast<double>(use->work) / moved;
  const auto of = [&](double ns) { return ns > 0 ? use->roof_ns / ns : 0; };
  use->of_roof = {of(use->time.hi), of(use->time.mid), of(use->time.lo)};
  if (!(use->time.lo > 0)) use->of_roof.hi = use->of_roof.mid;
}

bool IsDma(const model::Device& device, const std::string& unit) {
  for (int u = 0; u < device.about.units_size(); ++u) {
    if (device.about.units(u).name() == unit) return device.IsDma(static_cast<uint32_t>(u));
  }
  return false;
}

}  // namespace

std::vector<DeviceRoofline> ComputeRoofline(const model::Model& model,
                                            const std::vector<DeviceTransfers>& transfers,
                                            const std::vector<OpUse>& ops,
                                            const std::vector<RangeUse>& ranges,
                                            const std::vector<MeasuredCeilings>& measured) {
  std::vector<DeviceRoofline> rooflines;
  for (uint32_t d = 0; d < model.devices.size(); ++d) {
    const model::Device& device = model.devices[d];
    const auto link = std::find_if(transfers.begin(), transfers.end(),
                                   [&](const DeviceTransfers& of) { return of.device == d; });
    DeviceRoofline roofline;
    roofline.device = d;
    roofline.ceilings = CeilingsOf(device, link == transfers.end() ? nullptr : &*link, measured);
    for (const OpUse& op : ops) {
      if (op.device != d) continue;
      RoofUse use;
      use.name = op.name, use.unit = op.unit, use.commands = op.count, use.work = op.work;
      use.bytes = op.bytes, use.memory_bytes = op.memory_bytes, use.time = op.time;
      FindRoof(roofline.ceilings, IsDma(device, op.unit), &use);
      roofline.ops.push_back(std::move(use));
    }
    for (const RangeUse& range : ranges) {
      const size_t first = roofline.phases.size();
      for (const UnitWork& work : range.units) {
        if (work.device != d) continue;
        RoofUse use;
        use.name = range.name, use.unit = device.UnitName(work.unit);
        use.commands = work.commands, use.work = work.work, use.bytes = work.bytes;
        use.memory_bytes = work.memory_bytes, use.time = work.time;
        FindRoof(roofline.ceilings, device.IsDma(work.unit), &use);
        roofline.phases.push_back(std::move(use));
      }
      std::stable_sort(roofline.phases.begin() + static_cast<std::ptrdiff_t>(first),
                       roofline.phases.end(),
                       [](const RoofUse& a, const RoofUse& b) { return a.time.mid > b.time.mid; });
    }
    if (!roofline.ops.empty()) rooflines.push_back(std::move(roofline));
  }
  return rooflines;
}

}  // namespace acceltrace::analysis
