// SPDX-License-Identifier: Apache-2.0
//
// Numbers for the traced public functions. A tracer reads the names once instead of a text with
// each event. Internal.
#ifndef LIBTRACE_RUNTIME_API_NAMES_H_
#define LIBTRACE_RUNTIME_API_NAMES_H_

#include <cstdint>
#include <string_view>

namespace acceltrace::runtime {

inline constexpr const char* kApiNames[] = {
    "axlBatchBegin",        "axlBatchEnd",          "axlDeviceReset",
    "axlDeviceSynchronize", "axlEventCreate",       "axlEventCreateWithFlags",
    "axlEventDestroy",      "axlEventElapsedTime",  "axlEventQuery",
    "axlEventRecord",       "axlEventSynchronize",  "axlFree",
    "axlGetDevice",         "axlGetDeviceCount",    "axlGetDeviceProperties",
    "axlGraphAddMatmul",    "axlGraphAddMemcpy",    "axlGraphAddMemcpy2D",
    "axlGraphAddVector",    "axlGraphCreate",       "axlGraphDestroy",
    "axlGraphLaunch",       "axlGraphReset",        "axlHostAlloc",
    "axlHostFree",          "axlHostRegister",      "axlHostUnregister",
    "axlLaunchMatmul",      "axlLaunchVector",      "axlMalloc",
    "axlMallocScratch",     "axlMemGetInfo",        "axlMemcpy",
    "axlMemcpy2DAsync",     "axlMemcpyAsync",       "axlMemsetD32Async",
    "axlSetDevice",         "axlStreamCreate",      "axlStreamCreateWithPriority",
    "axlStreamDestroy",     "axlStreamGetPriority", "axlStreamQuery",
    "axlStreamSynchronize", "axlStreamWaitEvent",
};
inline constexpr uint32_t kNumApiNames = sizeof(kApiNames) / sizeof(kApiNames[0]);

// A function's name and number. Does not compile for a name that is not in the list.
struct ApiName {
  // NOLINTNEXTLINE: said by its text alone
  consteval ApiName(const char* name) : text(name), number(Find(name)) {}

  const char* text;
  uint16_t number;

 private:
  static consteval uint16_t Find(std::string_view name) {
    for (uint16_t i = 0; i < kNumApiNames; ++i) {
      if (name == kApiNames[i]) return i;
    }
    throw "missing in kApiNames";
  }
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_API_NAMES_H_
