// SPDX-License-Identifier: Apache-2.0
//
// axl-calibrate: see calibrate.h. Exits 0, 1 if something could not be measured, 2 on misuse.
#include <nlohmann/json.hpp>

#include "libtrace/runtime/axl.h"
#include "tests/workloads/calibrate/calibrate.h"
#include "tests/workloads/common/axl_cc.h"
#include "tests/workloads/common/program.h"

using namespace acceltrace;             // NOLINT: a program
using namespace acceltrace::workloads;  // NOLINT

int main(int argc, char** argv) {
  CLI::App app("Measures the ceilings of accelerators, for acceltrace report --ceilings.");
  CalibrateOptions options;
  std::vector<int> devices;
  bool json = false;
  app.add_option("--size", options.copy_bytes, "bytes of a copy and of operands in memory")
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "commands timed at once")->capture_default_str();
  app.add_option("--device", devices, "number of the accelerator; repeatable; default all");
  app.add_flag("--json", json, "print the JSON that acceltrace reads");
  if (const auto status = ParseArguments(app, argc, argv)) return *status;
  int count = 0;
  if (const Status status = ToStatus(axlGetDeviceCount(&count), "axlGetDeviceCount"); !status.ok())
    return Fail("axl-calibrate", status);
  if (devices.empty()) {
    for (int device = 0; device < count; ++device) devices.push_back(device);
  }
  nlohmann::json out = {{"schema", "acceltrace-ceilings/1"}, {"devices", nlohmann::json::array()}};
  for (int device : devices) {
    if (const Status status = ToStatus(axlSetDevice(device), "axlSetDevice"); !status.ok())
      return Fail("axl-calibrate", status);
    const auto ceilings = MeasureCeilings(options);
    if (!ceilings.ok()) return Fail("axl-calibrate", ceilings.status());
    nlohmann::json rows = nlohmann::json::array();
    if (!json) std::printf("%s at %s\n", ceilings->device.c_str(), ceilings->address.c_str());
    for (const Ceiling& row : ceilings->rows) {
      rows.push_back(
          {{"resource", row.resource}, {"unit", row.unit}, {"per_s", row.per_s}, {"by", row.by}});
      if (!json)
        std::printf("  %-12s %10.3f G%s/s  %s\n", row.resource.c_str(), row.per_s / 1e9,
                    row.unit == "bytes" ? "B" : row.unit.c_str(), row.by.c_str());
    }
    out["devices"].push_back(
        {{"device", ceilings->device}, {"address", ceilings->address}, {"ceilings", rows}});
  }
  if (json) std::printf("%s\n", out.dump(2).c_str());
  return 0;
}
