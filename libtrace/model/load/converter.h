// SPDX-License-Identifier: Apache-2.0
//
// Converts the ticks of one device to host time. Internal.
#ifndef LIBTRACE_MODEL_LOAD_CONVERTER_H_
#define LIBTRACE_MODEL_LOAD_CONVERTER_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// Without a usable clock, times are placed by the nominal frequency, starting at the first
// doorbell, and have no bounds.
class Converter {
 public:
  explicit Converter(Device* device)
      : device_(*device),
        hz_(static_cast<double>(device->about.clock().nominal_hz())),
        bits_(device->about.clock().bits()) {}

  void Fit(const clock::MapBuilder& builder) {
    Result<clock::Map> map = builder.Build();
    if (map.ok()) {
      device_.clock = std::move(map).value();
    } else {
      device_.clock_error = map.message();
    }
  }
  void Set(clock::Map map) { device_.clock = std::move(map); }
  // Most clocks neither jump nor wrap, so that no other knowledge about a time is needed.
  bool asks_windows() const { return !device_.clock.valid() || !device_.clock.NeedsNoWindow(); }
  // Returns 0 if the rate is not known.
  double wrap_ns() const {
    return hz_ > 0 ? std::ldexp(1e9 / hz_, bits_ == 0 ? 64 : static_cast<int>(bits_)) : 0;
  }
  void Anchor(uint64_t ticks, int64_t host_ns) {
    if (anchored_) return;
    anchored_ = true;
    anchor_ticks_ = ticks;
    anchor_ns_ = host_ns;
  }

  DeviceTime Convert(uint64_t raw_ticks, const clock::Window& window, uint64_t* unconverted) const {
    if (device_.clock.valid()) return device_.clock.Locate(raw_ticks, window);
    ++*unconverted;
    const uint64_t mask = bits_ == 0 || bits_ >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits_) - 1;
    DeviceTime time;
    time.raw_ticks = time.ticks = raw_ticks & mask;
    const double ahead = static_cast<double>(static_cast<int64_t>(raw_ticks - anchor_ticks_));
    const double ns = hz_ > 0 ? ahead * 1e9 / hz_ : ahead;
    const int64_t mid_ns = anchor_ns_ + static_cast<int64_t>(std::clamp(ns, -1e18, 1e18));
    time.host = {-kUnboundedNs, mid_ns, kUnboundedNs};
    return time;
  }
  // Resolves a time that was left open, if its ticks have only one possible place in a narrower
  // window.
  DeviceTime Within(const clock::Window& window, const DeviceTime& open) const {
    if (open.epoch != clock::kNoEpoch || !device_.clock.valid() || window.lo_ns > window.hi_ns) {
      return open;
    }
    const DeviceTime placed = device_.clock.Locate(open.raw_ticks, window);
    return placed.epoch == clock::kNoEpoch ? open : placed;
  }

 private:
  static constexpr int64_t kUnboundedNs = int64_t{1} << 61;
  Device& device_;
  double hz_;
  uint32_t bits_;
  bool anchored_ = false;
  uint64_t anchor_ticks_ = 0;
  int64_t anchor_ns_ = 0;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_CONVERTER_H_
