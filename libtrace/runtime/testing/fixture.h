// SPDX-License-Identifier: Apache-2.0
//
// A runtime on a fake kernel for test cases. For tests only.
#ifndef LIBTRACE_RUNTIME_TESTING_FIXTURE_H_
#define LIBTRACE_RUNTIME_TESTING_FIXTURE_H_

#include <string>
#include <utility>

#include "libtrace/runtime/axl.h"
#include "libtrace/runtime/runtime.h"
#include "libtrace/runtime/testing/fake_kernel.h"

namespace acceltrace::runtime {

struct Fixture {
  explicit Fixture(std::vector<uint32_t> devices = {0}, uint32_t seed = 1)
      : kernel(std::move(devices), seed) {
    Runtime::Get().Restart(&kernel);
    axlGetLastError();
  }
  ~Fixture() {
    kernel.SetMode(FakeKernel::Mode::kEager);
    Runtime::Get().Restart(nullptr);
  }

  static std::string Detail() { return axlGetErrorDetail(); }

  FakeKernel kernel;
};

// Returns "" or the error's name and sentence, so that a failed check prints what went wrong.
inline std::string Why(axlError_t error) {
  if (error == axlSuccess) return "";
  return std::string(axlGetErrorName(error)) + ": " + axlGetErrorDetail();
}
#define AXL_OK(call) REQUIRE(Why(call) == "")

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_TESTING_FIXTURE_H_
