// SPDX-License-Identifier: Apache-2.0
//
// axl-bandwidth: see bandwidth.h. Exits 0 when all data arrived, 1 otherwise, 2 on misuse.
#include <nlohmann/json.hpp>

#include "libtrace/runtime/axl.h"
#include "tests/workloads/bandwidth/bandwidth.h"
#include "tests/workloads/common/axl_cc.h"
#include "tests/workloads/common/program.h"

using namespace acceltrace;             // NOLINT: a program
using namespace acceltrace::workloads;  // NOLINT

int main(int argc, char** argv) {
  CLI::App app("Measures copies between host and accelerator by the device's clock.");
  BandwidthOptions options;
  int device = 0;
  bool json = false;
  app.add_option("--min", options.min_bytes, "smallest copy in bytes")->capture_default_str();
  app.add_option("--max", options.max_bytes, "largest copy in bytes")->capture_default_str();
  app.add_option("--repeat", options.repeat, "copies of each size")->capture_default_str();
  app.add_flag("--both,!--no-both", options.both, "also both directions at once");
  app.add_option("--device", device, "number of the accelerator")->capture_default_str();
  app.add_flag("--json", json, "print one JSON object");
  if (const auto status = ParseArguments(app, argc, argv)) return *status;
  if (const Status status = ToStatus(axlSetDevice(device), "axlSetDevice"); !status.ok())
    return Fail("axl-bandwidth", status);
  const auto result = MeasureBandwidth(options);
  if (!result.ok()) return Fail("axl-bandwidth", result.status());
  if (json) {
    nlohmann::json rows = nlohmann::json::array();
    for (const BandwidthRow& row : result->rows)
      rows.push_back({{"bytes", row.bytes},
                      {"to_device_bytes_per_s", row.to_device},
                      {"from_device_bytes_per_s", row.from_device},
                      {"both_bytes_per_s", row.both}});
    const nlohmann::json out = {
        {"schema", "axl-bandwidth/1"}, {"rows", rows}, {"wrong_bytes", result->wrong_bytes}};
    std::printf("%s\n", out.dump(2).c_str());
  } else {
    std::printf("%12s %12s %12s %12s\n", "bytes", "to MB/s", "from MB/s", "both MB/s");
    for (const BandwidthRow& row : result->rows)
      std::printf("%12llu %12.1f %12.1f %12.1f\n", static_cast<unsigned long long>(row.bytes),
                  row.to_device / 1e6, row.from_device / 1e6, row.both / 1e6);
    std::printf("%llu bytes wrong\n", static_cast<unsigned long long>(result->wrong_bytes));
  }
  return result->wrong_bytes == 0 ? 0 : 1;
}
