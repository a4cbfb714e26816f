// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/resources.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace acceltrace::analysis {
namespace {

constexpr struct {
  const char* key;
  const char* name;
  const char* text;
} kResources[kNumResources] = {
    {"pcie.bandwidth", "PCIe bandwidth", "bytes a second over the link, each way"},
    {"pcie.latency", "PCIe latency", "a round trip over the link"},
    {"pcie.tags", "PCIe tags", "reads of the host's memory that may be outstanding"},
    {"dram.bandwidth", "DRAM bandwidth", "the data bus of the device's memory"},
    {"dram.latency", "DRAM latency", "the first access of a command"},
    {"dram.rowcost", "DRAM access pattern", "opening rows of the device's memory"},
    {"scratchpad", "scratchpad", "bandwidth of the on-chip memory"},
    {"matrix.rate", "matrix engine", "arithmetic of matrix units"},
    {"vector.rate", "vector engine", "arithmetic of vector units"},
    {"dispatch", "dispatch", "the fixed cost of starting a command"},
    {"throttle", "throttling", "time that units were slowed down for power or heat"},
    {"host.speed", "host computing outside submission",
     "the program, and calls that submit nothing"},
    {"host.submit", "host submission", "calls that submit work, and the driver's part of them"},
    {"host.wake", "synchronisation", "sleep until a completion, beyond what asking for it takes"},
};

}  // namespace

const char* ResourceKey(Resource resource) { return kResources[resource].key; }
const char* ResourceName(Resource resource) { return kResources[resource].name; }
const char* ResourceText(Resource resource) { return kResources[resource].text; }

std::optional<Resource> FindResource(std::string_view key) {
  for (int r = 0; r < kNumResources; ++r) {
    if (key == kResources[r].key) return static_cast<Resource>(r);
  }
  return std::nullopt;
}

std::string ParseScale(std::string_view text, Scales* scales) {
  const size_t equals = text.find('=');
  const std::string key(text.substr(0, equals));
  const auto resource = FindResource(key);
  if (!resource) {
    std::string keys;
    for (const auto& known : kResources)
      keys += (keys.empty() ? "" : ", ") + std::string(known.key);
    return fmt::format("no resource {}: one of {}", key, keys);
  }
  std::string factor(equals == std::string_view::npos ? "" : text.substr(equals + 1));
  if (!factor.empty() && factor[0] == 'x') factor.erase(0, 1);
  char* end = nullptr;
  const double value = std::strtod(factor.c_str(), &end);
  if (factor.empty() || *end != '\0' || !std::isfinite(value) || value < kLeastFactor ||
      value > kGreatestFactor) {
    return fmt::format("{}: want {}=xF, F times as fast, F from {} to {}", text, key, kLeastFactor,
                       kGreatestFactor);
  }
  scales->speed[*resource] = value;
  return "";
}

StallKind StallKindOf(const proto::Device& device, int stall) {
  if (stall < device.stall_kinds_size()) {
    const int kind = device.stall_kinds(stall);
    return StallKind(proto::Device::StallKind_IsValid(kind) ? kind : proto::Device::STALL_UNKNOWN);
  }
  if (stall >= device.stalls_size()) return proto::Device::STALL_UNKNOWN;
  static constexpr struct {
    const char* name;
    StallKind kind;
  } kNames[] = {
      {"semaphore", proto::Device::STALL_WAIT},    {"wait", proto::Device::STALL_WAIT},
      {"memory", proto::Device::STALL_MEMORY},     {"dram", proto::Device::STALL_MEMORY},
      {"pcie", proto::Device::STALL_LINK},         {"link", proto::Device::STALL_LINK},
      {"tag", proto::Device::STALL_TAGS},          {"dispatch", proto::Device::STALL_DISPATCH},
      {"throttle", proto::Device::STALL_THROTTLE},
  };
  for (const auto& known : kNames) {
    if (device.stalls(stall) == known.name) return known.kind;
  }
  return proto::Device::STALL_UNKNOWN;
}

}  // namespace acceltrace::analysis
