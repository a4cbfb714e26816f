// SPDX-License-Identifier: Apache-2.0
//
// axl-matmul: see sweep.h. Exits 0 when all results are right, 1 otherwise, 2 on misuse.
#include <nlohmann/json.hpp>

#include "tests/workloads/common/axl_cc.h"
#include "tests/workloads/common/program.h"
#include "tests/workloads/matmul/sweep.h"

using namespace acceltrace;             // NOLINT: a program
using namespace acceltrace::workloads;  // NOLINT

int main(int argc, char** argv) {
  CLI::App app("Runs matmuls of many shapes on an accelerator, times and checks them.");
  SweepOptions options;
  std::vector<std::string> shapes;
  int device = 0;
  bool json = false;
  app.add_option("--shape", shapes, "MxNxK; repeatable; default a sweep");
  app.add_option("--repeat", options.repeat, "matmuls of each shape")->capture_default_str();
  app.add_flag("--bf16", options.bf16, "bf16 inputs");
  app.add_flag("--transpose-b", options.transpose_b, "B is N x K");
  app.add_flag("--scratch", options.scratch, "operands in the scratchpad");
  app.add_option("--device", device, "number of the accelerator")->capture_default_str();
  app.add_flag("--json", json, "print one JSON object");
  if (const auto status = ParseArguments(app, argc, argv)) return *status;
  if (!shapes.empty()) options.shapes.clear();
  for (const std::string& text : shapes) {
    const auto shape = ParseShape(text);
    if (!shape.ok()) return Fail("axl-matmul", shape.status(), 2);
    options.shapes.push_back(*shape);
  }
  if (const Status status = ToStatus(axlSetDevice(device), "axlSetDevice"); !status.ok())
    return Fail("axl-matmul", status);
  const auto rows = RunSweep(options);
  if (!rows.ok()) return Fail("axl-matmul", rows.status());
  if (json) {
    nlohmann::json out = {{"schema", "axl-matmul/1"}, {"rows", nlohmann::json::array()}};
    for (const SweepRow& row : *rows)
      out["rows"].push_back({{"m", row.shape.m},
                             {"n", row.shape.n},
                             {"k", row.shape.k},
                             {"seconds", row.seconds},
                             {"macs_per_s", row.macs_per_s},
                             {"share_of_peak", row.share_of_peak},
                             {"max_rel_error", row.max_rel_error}});
    out["ok"] = SweepOk(*rows);
    std::printf("%s\n", out.dump(2).c_str());
  } else {
    std::printf("%16s %10s %10s %8s %10s\n", "MxNxK", "us", "GMAC/s", "of peak", "error");
    for (const SweepRow& row : *rows) {
      char shape[48];
      std::snprintf(shape, sizeof shape, "%ux%ux%u", row.shape.m, row.shape.n, row.shape.k);
      std::printf("%16s %10.3f %10.2f %7.1f%% %10.2g\n", shape, row.seconds * 1e6,
                  row.macs_per_s / 1e9, 100 * row.share_of_peak, row.max_rel_error);
    }
    std::printf("%s\n", SweepOk(*rows) ? "all right" : "WRONG");
  }
  return SweepOk(*rows) ? 0 : 1;
}
