// SPDX-License-Identifier: Apache-2.0
#include "qemu-device/tests/laws.h"
#include "tests/catch.h"

namespace acceltrace::device {

TEST_CASE("the conservation laws hold on 500 random workloads", "[conservation]") {
  for (uint32_t first = 0; first < 500; first += 50) {
    for (const std::string& broken : RunLaws(first, 50)) {
      INFO(broken);
      CHECK(false);
    }
  }
  SUCCEED();
}

}  // namespace acceltrace::device
