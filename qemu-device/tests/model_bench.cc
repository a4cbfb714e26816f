// SPDX-License-Identifier: Apache-2.0
//
// Computes the data for tests/bench/model, as text:
//   axl-model-bench                    the closed-form table, one line a case, by tabs:
//                                      GROUP, NAME, EXPECTED_NS, SIMULATED_NS, COUNTS_EQUAL
//   axl-model-bench laws FIRST COUNT   conservation on that many seeds: a line for each
//                                      violation, then `seeds COUNT violations N`
//   axl-model-bench truth FILE         a truth log with a line of every kind, for truth_log_test.py
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "qemu-device/tests/cases.h"
#include "qemu-device/tests/device.h"
#include "qemu-device/tests/on_device.h"
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

// Writes a truth log with work of every engine, each fault, each event.
int Truth(const std::string& path) {
  using namespace acceltrace::device;
  Machine machine({"-device", "axl,id=axl0,bus=rp0,truth=" + path});
  Device dev(&machine);
  uint32_t job = 0;
  auto set_up = [&] {
    dev.Enable();
    dev.EnableContext(0);
    dev.SetUpQueue(0, 0);
  };
  auto run = [&](axl_desc d) {
    axl_cqe cqe;
    d.job = ++job;
    d.flags |= kLast;
    dev.Push(0, d);
    dev.Ring(0);
    dev.Await(0, &cqe, 2000000);
    if (dev.R32(AXL_REG_CTX_STATUS(0)) & (AXL_CTX_HALTED | AXL_CTX_BUSY)) {
      dev.W32(AXL_REG_CTX_CTRL(0), AXL_CTX_RESET);
      set_up();
    }
  };
  set_up();
  uint64_t host = dev.Alloc(1 << 20);
  axl_desc nop = Command(AXL_ENGINE_VECTOR, AXL_OP_NOP, 1);
  axl_desc fill = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_FILL, 1);
  fill.vector.rows = 3;
  fill.vector.cols = fill.vector.dst_stride = 1000;
  for (uint32_t n = 1; n < 40; n++) {
    run(CopyIn(host + n, 64 * n, 1000 * n, 1));
    run(Matmul(0, 0x10000, 0x20000, n, 2 * n, 3 * n, 1));
    run(fill);
    run(CopyOut(host + n, 64 * n, 3000 * n, 1));
  }
  const char* const faults[] = {"fault-lose-irqs",       "fault-late-irqs",
                                "fault-dup-completions", "fault-corrupt-completions",
                                "fault-poison",          "fault-ecc"};
  for (const char* fault : faults) {
    dev.Set(fault, 1);
    run(nop);
  }
  dev.Set("fault-fail-dmas", 1);
  run(CopyIn(host, 0, 64, 1));
  dev.Set("fault-hang-engine", AXL_ENGINE_VECTOR);
  run(nop);
  dev.Set("throttle-permille", 500);
  run(Matmul(0, 0x10000, 0x20000, 64, 64, 64, 1));
  dev.Set("link-speed", 2);
  run(CopyIn(host, 0, 100000, 1));
  dev.Set("clock-ppm", 50);
  dev.Set("fault-clock-step", 12345);
  dev.Set("fault-removed", 1);
  dev.Set("fault-removed", 0);
  dev.W32(AXL_REG_CTRL, AXL_CTRL_RESET);
  return machine.Quit();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "laws") == 0) {
    return Laws(static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 0)),
                static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 0)));
  }
  if (argc == 3 && std::strcmp(argv[1], "truth") == 0) return Truth(argv[2]);
  const acceltrace::device::MakeBench make = acceltrace::device::MakeDeviceBench;
  Print("transfer", acceltrace::device::RunTransferCases(make));
  Print("matmul", acceltrace::device::RunMatmulCases(make));
  Print("access", acceltrace::device::RunAccessCases(make));
  return 0;
}
