// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/file/index_times.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "libtrace/stream/bytes/framing.h"

namespace acceltrace::stream {
namespace {

constexpr uint64_t kUnknown = 0, kHost = 1, kFirstDevice = 2;

uint64_t ClockOf(const PacketTimes& times) {
  if (times.clock == PacketTimes::Clock::kUnknown) return kUnknown;
  return times.clock == PacketTimes::Clock::kHost ? kHost : kFirstDevice + times.device;
}

uint64_t Zigzag(uint64_t value) { return value << 1 ^ (value >> 63 == 0 ? 0 : ~uint64_t{0}); }
uint64_t FromZigzag(uint64_t value) { return value >> 1 ^ ((value & 1) == 0 ? 0 : ~uint64_t{0}); }

bool Take(std::string_view* bytes, uint64_t* value) {
  const size_t length = ParseVarint(*bytes, 10, value);
  bytes->remove_prefix(length);
  return length != 0;
}

}  // namespace

void SetIndexTimes(const std::vector<PacketTimes>& times, proto::Footer* part) {
  std::map<uint64_t, uint64_t> before;  // by clock
  std::string bytes;
  for (const PacketTimes& row : times) {
    const uint64_t clock = ClockOf(row);
    AppendVarint(clock, &bytes);
    if (clock == kUnknown) continue;
    AppendVarint(Zigzag(row.first - before[clock]), &bytes);
    AppendVarint(row.last - row.first, &bytes);
    before[clock] = row.first;
  }
  part->set_times(std::move(bytes));
}

std::vector<PacketTimes> IndexTimesOf(const proto::Footer& part) {
  std::map<uint64_t, uint64_t> before;
  std::vector<PacketTimes> times;
  std::string_view bytes = part.times();
  while (!bytes.empty()) {
    uint64_t clock = 0, first = 0, length = 0;
    if (!Take(&bytes, &clock) || clock > kFirstDevice + UINT32_MAX) return {};
    PacketTimes& row = times.emplace_back();
    if (clock == kUnknown) continue;
    if (!Take(&bytes, &first) || !Take(&bytes, &length)) return {};
    row.clock = clock == kHost ? PacketTimes::Clock::kHost : PacketTimes::Clock::kDevice;
    row.device = clock == kHost ? 0 : static_cast<uint32_t>(clock - kFirstDevice);
    row.first = before[clock] += FromZigzag(first);
    row.last = row.first + length;
  }
  if (times.size() != static_cast<size_t>(part.offset_delta_size())) return {};
  return times;
}

}  // namespace acceltrace::stream
