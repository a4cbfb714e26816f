// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/tables/model.h"

#include <algorithm>
#include <tuple>

namespace acceltrace::model {
namespace {

const std::string kNone;

// Returns a name by number, or the number itself if the trace does not name it.
const std::string& NameAt(const google::protobuf::RepeatedPtrField<std::string>& names,
                          uint32_t index, const std::string& unknown) {
  return index < static_cast<uint32_t>(names.size()) ? names.Get(static_cast<int>(index)) : unknown;
}

const std::string kUnknown = "unknown";

}  // namespace

void StringTable::Set(uint32_t id, const std::string& value) {
  size_t end = std::min(value.size(), kMaxNameBytes);
  // Does not split a character.
  while (end > 0 && end < value.size() && (static_cast<unsigned char>(value[end]) & 0xc0) == 0x80) {
    --end;
  }
  strings_[id] = value.substr(0, end);
}

const std::string& StringTable::Get(uint32_t id) const {
  const auto found = strings_.find(id);
  return found == strings_.end() ? kNone : found->second;
}

const std::string& Device::UnitName(uint32_t unit) const {
  return unit < static_cast<uint32_t>(about.units_size())
             ? about.units(static_cast<int>(unit)).name()
             : kUnknown;
}

const std::string& Device::OpcodeName(uint32_t opcode) const {
  const auto found = opcode_rows.find(opcode);
  return found == opcode_rows.end() ? kUnknown : about.opcodes(found->second).name();
}

const std::string& Device::StatusName(uint32_t status) const {
  return NameAt(about.statuses(), status, kUnknown);
}

const std::string& Device::LimiterName(uint32_t limiter) const {
  return NameAt(about.limiters(), limiter, kUnknown);
}

const std::string& Device::NameOf(DeviceNames names, uint32_t number) const {
  switch (names) {
    case DeviceNames::kUnits:
      return UnitName(number);
    case DeviceNames::kOpcodes:
      return OpcodeName(number);
    case DeviceNames::kStatuses:
      return StatusName(number);
    case DeviceNames::kLimiters:
      return LimiterName(number);
    case DeviceNames::kNone:
      break;
  }
  return kUnknown;
}

bool Device::IsDma(uint32_t unit) const {
  if (unit >= static_cast<uint32_t>(about.units_size())) return false;
  const proto::Unit::Kind kind = about.units(static_cast<int>(unit)).kind();
  return kind == proto::Unit::KIND_DMA_TO_DEVICE || kind == proto::Unit::KIND_DMA_FROM_DEVICE;
}

Interval Device::Duration(const DeviceTime& begin, const DeviceTime& end) const {
  if (clock.valid()) return clock.Duration(begin, end);
  const uint64_t ticks = end.ticks - begin.ticks;
  return Length(ticks, ticks, begin, end);
}

Interval Device::Length(uint64_t lo_ticks, uint64_t hi_ticks, const DeviceTime& from,
                        const DeviceTime& to) const {
  if (clock.valid()) return clock.Length(lo_ticks, hi_ticks, from, to);
  // Only the nominal frequency is known, with an unknown error.
  constexpr int64_t kUnboundedNs = int64_t{1} << 61;
  const double hz = static_cast<double>(about.clock().nominal_hz());
  const double ticks = 0.5 * (static_cast<double>(lo_ticks) + static_cast<double>(hi_ticks));
  const double ns = hz > 0 ? ticks * 1e9 / hz : ticks;
  return {0, static_cast<int64_t>(std::clamp(ns, 0.0, 1e18)), kUnboundedNs};
}

std::optional<uint64_t> Model::BusyTicks(size_t command) const {
  const Device& device = devices[commands.device[command]];
  const uint32_t epoch = commands.head.epoch[command];
  const bool known = epoch == commands.end.epoch[command] && epoch != clock::kNoEpoch;
  if (!known && device.clock.valid()) return std::nullopt;
  const uint64_t held = commands.end.ticks[command] - commands.head.ticks[command];
  uint64_t stalled = 0;
  const int stalls = device.about.stalls_size();
  for (int s = 0; s < stalls; ++s) stalled += Stalls(command)[s];
  return held > stalled ? held - stalled : 0;
}

std::string Model::ThreadName(uint32_t pid, uint32_t tid) const {
  const auto found = std::lower_bound(
      processes.begin(), processes.end(), std::make_pair(pid, tid),
      [](const Process& process, const std::pair<uint32_t, uint32_t>& key) {
        return std::tie(process.pid, process.tid) < std::tie(key.first, key.second);
      });
  if (found == processes.end() || found->pid != pid || found->tid != tid) return "";
  return strings.Get(found->name);
}

const std::string& Model::OpName(size_t command) const {
  const std::string& op = strings.Get(commands.op[command]);
  return op.empty() ? devices[commands.device[command]].OpcodeName(commands.opcode[command]) : op;
}

std::string Model::ProcessName(uint32_t pid) const { return ThreadName(pid, pid); }

}  // namespace acceltrace::model
