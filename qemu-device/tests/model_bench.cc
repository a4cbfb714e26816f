// SPDX-License-Identifier: Apache-2.0
//
// What tests/bench/model needs, as text:
//   axl-model-bench                    the closed-form table, one line a case, by tabs:
//                                      GROUP, NAME, EXPECTED_NS, SIMULATED_NS, COUNTS_EQUAL
//   axl-model-bench laws FIRST COUNT   conservation on that many seeds: a line for each
//                                      violation, then `seeds COUNT violations N`
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "qemu-device/tests/cases.h"
#include "qemu-device/tests/laws.h"

namespace {

void Print(const char* group, const std::vector<acceltrace::device::CaseResult>& results) {
  for (const auto& r : results) {
    std::printf("%s\t%s\t%.3f\t%.0f\t%d\n", group, r.name.c_str(), r.expected_ns, r.simulated_ns,
                r.counts_equal);
  }
}

int Laws(uint32_t first, uint32_t count) {
  constexpr uint32_t kSeedsPerMachine = 50;
  uint32_t done = 0;
  size_t violations = 0;
  while (done < count) {
    uint32_t now = std::min(kSeedsPerMachine, count - done);
    for (const std::string& broken : acceltrace::device::RunLaws(first + done, now)) {
      std::printf("%s\n", broken.c_str());
      violations++;
    }
    done += now;
  }
  std::printf("seeds %u violations %zu\n", done, violations);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "laws") == 0) {
    return Laws(static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 0)),
                static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 0)));
  }
  Print("transfer", acceltrace::device::RunTransferCases());
  Print("matmul", acceltrace::device::RunMatmulCases());
  Print("access", acceltrace::device::RunAccessCases());
  return 0;
}
