// SPDX-License-Identifier: Apache-2.0
//
// Runs the estimator on arbitrary samples, constraints, cuts and queries. It must not crash or have
// undefined behaviour, and the bounds of every interval must be in order.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "libtrace/clock/estimator.h"
#include "libtrace/clock/paces.h"

namespace {

using namespace acceltrace::clock;

void Check(bool condition) {
  if (!condition) std::abort();
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  // Returns numbers of any size, but small ones more often.
  uint64_t Number() {
    const uint8_t width = Byte() % 9;
    uint64_t value = 0;
    for (int i = 0; i < width; ++i) value = value << 8 | Byte();
    return value;
  }
  int64_t TimeNs() { return static_cast<int64_t>(Number() & ((uint64_t{1} << 62) - 1)); }
  uint8_t Byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

// Returns a window with any information, or with nonsense.
Window Known(Input* input, int64_t near_ns) {
  Window window;
  const uint8_t what = input->Byte();
  if (what & 1) window.lo_ns = near_ns - static_cast<int64_t>(input->Number() >> 8);
  if (what & 2) window.hi_ns = near_ns + static_cast<int64_t>(input->Number() >> 8);
  if (what & 4) window.near_ns = near_ns;
  if (what & 8) window.max_jumps = input->Byte() % 8;
  if (what & 16) window.min_jumps = input->Byte() % 8;
  return window;
}

// Adds a sample after the last one, so that most of them make sense.
void AddSample(Input* input, Sample* sample, MapBuilder* builder) {
  sample->host_before_ns = (sample->host_before_ns + input->TimeNs() / 4) % (int64_t{1} << 61);
  sample->host_after_ns = sample->host_before_ns + static_cast<int64_t>(input->Number() >> 3);
  sample->device_ticks += input->Number();
  sample->has_ptm = input->Byte() & 1;
  sample->ptm_device_ticks = sample->device_ticks + input->Byte();
  sample->ptm_host_ns = sample->host_after_ns;
  builder->Add(*sample);
}

void AddConstraint(Input* input, MapBuilder* builder) {
  Constraint constraint;
  constraint.ticks = input->Number();
  constraint.host_ns = input->TimeNs();
  constraint.order = static_cast<Constraint::Order>(input->Byte() & 1);
  constraint.when = Known(input, constraint.host_ns);
  builder->AddConstraints({&constraint, 1});
}

void AddChange(Input* input, const Sample& last, MapBuilder* builder) {
  Change change;
  change.cut = static_cast<Cut>(input->Byte() % 3);
  // Most are close to the last sample, so that they have an effect.
  const bool near = input->Byte() & 1;
  change.ticks = (near ? last.device_ticks : 0) + input->Number();
  change.before = (near ? last.device_ticks : 0) + input->Number();
  change.hz = static_cast<double>(input->Number());
  change.when = Known(input, last.host_before_ns);
  builder->Add(change);
}

// A latch gives constraints in both directions, but no sample.
void AddLatch(Input* input, const Sample& last, MapBuilder* builder) {
  Constraint latch;
  latch.ticks = last.device_ticks + input->Number();
  latch.when.lo_ns = latch.host_ns = last.host_after_ns;
  latch.when.hi_ns = latch.host_ns + static_cast<int64_t>(input->Number() >> 8);
  builder->AddConstraints({&latch, 1});
  latch.host_ns = latch.when.hi_ns;
  latch.order = Constraint::Order::kDeviceFirst;
  builder->AddConstraints({&latch, 1});
}

// Queries the map for these ticks, and for the time from them to the last sample.
void CheckAnswers(const Map& map, uint64_t ticks, int64_t near_ns, const Sample& last) {
  const Interval when = map.ToHost(ticks, near_ns);
  Check(when.lo_ns <= when.mid_ns && when.mid_ns <= when.hi_ns);
  (void)map.Duration(ticks, last.device_ticks, near_ns);
  Window window;
  window.near_ns = near_ns;
  const DeviceTime from = map.Locate(ticks, window);
  window.lo_ns = near_ns == Map::kNoHint ? Window::kMin : near_ns - 1'000'000;
  const DeviceTime to = map.Locate(last.device_ticks, window);
  for (const DeviceTime& time : {from, to, map.Before(to, ticks)}) {
    Check(time.host.lo_ns <= time.host.mid_ns && time.host.mid_ns <= time.host.hi_ns);
  }
  const Interval took = map.Duration(from, to);
  Check(0 <= took.lo_ns && took.lo_ns <= took.mid_ns && took.mid_ns <= took.hi_ns);
  const Interval length = map.Length(ticks / 2, ticks, from, to);
  Check(length.lo_ns <= length.mid_ns && length.mid_ns <= length.hi_ns);
  Paces paces(map, ticks);
  if (Interval quick; paces.Find(from, to, &quick)) {
    const Interval whole = map.Length(ticks, ticks, from, to);
    Check(quick.lo_ns == whole.lo_ns && quick.mid_ns == whole.mid_ns && quick.hi_ns == whole.hi_ns);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  ClockInfo info;
  info.nominal_hz = static_cast<double>(input.Number());
  info.bits = input.Byte() % 66;
  MapBuilder builder(info);
  Sample sample;
  while (!input.empty()) {
    switch (input.Byte() % 6) {
      case 0:
        AddSample(&input, &sample, &builder);
        break;
      case 1:
        AddConstraint(&input, &builder);
        break;
      case 2:
        AddChange(&input, sample, &builder);
        break;
      case 3:
        AddLatch(&input, sample, &builder);
        break;
      case 4:
        // The clock is set anew without announcement.
        sample.device_ticks = input.Number();
        break;
      default:
        sample.device_ticks -= input.Number();
        break;
    }
  }
  const auto map = builder.Build();
  if (!map.ok()) {
    Check(!map.message().empty());
    return 0;
  }
  for (uint64_t ticks : {uint64_t{0}, sample.device_ticks, sample.device_ticks / 2, ~uint64_t{0}}) {
    for (int64_t near_ns : {Map::kNoHint, int64_t{0}, sample.host_before_ns}) {
      CheckAnswers(*map, ticks, near_ns, sample);
    }
  }
  return 0;
}
