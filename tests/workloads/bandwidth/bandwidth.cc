// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/bandwidth/bandwidth.h"

#include <cstring>
#include <string>

#include "tests/workloads/common/axl_cc.h"

namespace acceltrace::workloads {
namespace {

class Meter {
 public:
  Status Create(uint64_t max_bytes) {
    AXL_TRY(axlHostAlloc(source_.out(), max_bytes));
    AXL_TRY(axlHostAlloc(target_.out(), max_bytes));
    AXL_TRY(axlMalloc(there_.out(), max_bytes));
    AXL_TRY(axlMalloc(back_.out(), max_bytes));
    AXL_TRY(axlStreamCreate(stream_.out()));
    AXL_TRY(axlEventCreate(begin_.out()));
    AXL_TRY(axlEventCreate(end_.out()));
    // A byte's value depends on its whole address, so that shifted or swapped pages are detected.
    auto* const words = static_cast<uint32_t*>(source_.get());
    for (uint64_t i = 0; i < max_bytes / 4; ++i) words[i] = static_cast<uint32_t>(i * 2654435761u);
    return graph_.Create();
  }

  // Makes `repeat` copies of `bytes` in each requested direction. *seconds: 0 = unknown.
  Status Run(uint64_t bytes, uint32_t repeat, bool in, bool out, double* seconds) {
    graph_.Clear();
    for (uint32_t i = 0; i < repeat; ++i) {
      if (in)
        graph_.Copy("h2d_" + std::to_string(bytes), there_.get(), source_.get(), bytes,
                    axlMemcpyHostToDevice, {});
      if (out)
        graph_.Copy("d2h_" + std::to_string(bytes), target_.get(), back_.get(), bytes,
                    axlMemcpyDeviceToHost, {});
    }
    // The first launch only keeps the device busy while the host submits the timed one.
    STATUS_TRY(graph_.Launch(stream_.get()));
    AXL_TRY(axlEventRecord(begin_.get(), stream_.get()));
    STATUS_TRY(graph_.Launch(stream_.get()));
    AXL_TRY(axlEventRecord(end_.get(), stream_.get()));
    AXL_TRY(axlEventSynchronize(end_.get()));
    float ms = 0;
    *seconds = axlEventElapsedTime(&ms, begin_.get(), end_.get()) == axlSuccess ? ms * 1e-3 : 0;
    return Status();
  }

  // The data must return unchanged.
  Status Check(uint64_t bytes, uint64_t* wrong) {
    AXL_TRY(
        axlMemcpyAsync(back_.get(), there_.get(), bytes, axlMemcpyDeviceToDevice, stream_.get()));
    std::memset(target_.get(), 0xff, bytes);
    AXL_TRY(
        axlMemcpyAsync(target_.get(), back_.get(), bytes, axlMemcpyDeviceToHost, stream_.get()));
    AXL_TRY(axlStreamSynchronize(stream_.get()));
    const auto* const sent = static_cast<const unsigned char*>(source_.get());
    const auto* const received = static_cast<const unsigned char*>(target_.get());
    if (std::memcmp(sent, received, bytes) == 0) return Status();
    for (uint64_t i = 0; i < bytes; ++i) *wrong += sent[i] != received[i];
    return Status();
  }

 private:
  HostMemory source_, target_;
  DeviceMemory there_, back_;
  Stream stream_;
  Event begin_, end_;
  GraphBuilder graph_;
};

double Rate(uint64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
}

}  // namespace

Result<BandwidthResult> MeasureBandwidth(const BandwidthOptions& options) {
  if (options.min_bytes < 4 || options.min_bytes % 4 || options.max_bytes < options.min_bytes ||
      !options.repeat || options.repeat > 256)
    return Status::Error(
        "sizes must be multiples of 4 bytes with --min at most --max, and --repeat 1 to 256");
  Meter meter;
  STATUS_TRY(meter.Create(options.max_bytes));
  BandwidthResult result;
  for (uint64_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= 2) {
    axlRange range(("copies of " + std::to_string(bytes)).c_str());
    double in = 0, out = 0, both = 0;
    STATUS_TRY(meter.Run(bytes, options.repeat, true, false, &in));
    STATUS_TRY(meter.Run(bytes, options.repeat, false, true, &out));
    if (options.both) STATUS_TRY(meter.Run(bytes, options.repeat, true, true, &both));
    STATUS_TRY(meter.Check(bytes, &result.wrong_bytes));
    const uint64_t total = bytes * options.repeat;
    result.rows.push_back({bytes, Rate(total, in), Rate(total, out), Rate(2 * total, both)});
  }
  return result;
}

}  // namespace acceltrace::workloads
