// SPDX-License-Identifier: Apache-2.0
//
// axl-observed: see programs.h. Exits 0 when all numbers are right, 1 otherwise, 2 on misuse.
#include "tests/workloads/common/axl_cc.h"
#include "tests/workloads/common/program.h"
#include "tests/workloads/observed/programs.h"

using namespace acceltrace;             // NOLINT: a program
using namespace acceltrace::workloads;  // NOLINT

int main(int argc, char** argv) {
  CLI::App app("Runs a program whose measured part is printed as JSON, on two clocks.");
  std::string name;
  ObservedOptions options;
  bool list = false;
  app.add_option("NAME", name, "which: see --list");
  app.add_option("--count", options.count, "launches, copies, rounds or tiles; 0 = its own number")
      ->check(CLI::Range(0u, 1000000u));
  app.add_option("--repeat", options.repeat, "measure so many times in one process")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  app.add_flag("--stepwise", options.stepwise, "wait for a line on stdin before each time");
  app.add_flag("--list", list, "names and descriptions");
  app.footer(
      "AXL_START=PERIOD:PHASE (ns): begin when the clock is PHASE past a multiple of PERIOD.");
  if (const auto status = ParseArguments(app, argc, argv)) return *status;
  if (list) {
    for (const auto programs : {CallPrograms(), OverlapPrograms()}) {
      for (const ObservedProgram& program : programs)
        std::printf("%-16s %s\n", program.name, program.text);
    }
    return 0;
  }
  const ObservedProgram* program = FindObserved(name);
  if (program == nullptr)
    return Fail("axl-observed", Status::Error("no program '" + name + "': see --list"), 2);
  Meter meter(program->name, options);
  if (const Status status = program->run(&meter); !status.ok()) return Fail("axl-observed", status);
  if (meter.wrong() > 0)
    return Fail("axl-observed",
                Status::Error(std::to_string(meter.wrong()) + " numbers are wrong"));
  return 0;
}
