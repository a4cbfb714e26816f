// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tests/workloads/common/axl_cc.h"
#include "tests/workloads/observed/programs.h"

namespace acceltrace::workloads {

Status Meter::Measure(const std::function<Status()>& prepare, const std::function<Status()>& body) {
  for (uint32_t i = 0; i < options_.repeat; ++i) {
    if (options_.stepwise && std::getchar() == EOF) return Status::Error("no line on stdin");
    SleepUntilStart();
    STATUS_TRY(prepare());
    Region region;
    region.Begin();
    STATUS_TRY(body());
    AXL_TRY(axlDeviceSynchronize());
    region.End();
    const nlohmann::json line = {{"program", program_},
                                 {"pid", getpid()},
                                 {"region_ns", region.duration_ns()},
                                 {"begin_ns", region.begin_ns()},
                                 {"begin_tsc", region.begin_tsc()},
                                 {"end_tsc", region.end_tsc()}};
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }
  return Status();
}

const ObservedProgram* FindObserved(const std::string& name) {
  for (const auto programs : {CallPrograms(), OverlapPrograms()}) {
    for (const ObservedProgram& program : programs) {
      if (name == program.name) return &program;
    }
  }
  return nullptr;
}

}  // namespace acceltrace::workloads
