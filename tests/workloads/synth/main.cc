// SPDX-License-Identifier: Apache-2.0
//
// axl-synth: see synth.h. Exits 0 when it ran, 1 otherwise, 2 on misuse.
#include <cstdio>

#include "tests/workloads/common/axl_cc.h"
#include "tests/workloads/common/program.h"
#include "tests/workloads/synth/synth.h"
#include "tests/workloads/synth/twins.h"

using namespace acceltrace;             // NOLINT: a program
using namespace acceltrace::workloads;  // NOLINT

int main(int argc, char** argv) {
  CLI::App app("Runs a mix of parts that each keep one resource busy; prints how long, as JSON.");
  SynthOptions options;
  std::string parts;
  uint64_t seed = 0;
  std::string without;
  double faster_host = 1;
  bool list = false, list_twins = false, mended = false;
  std::string twin_name;
  app.add_option("--parts", parts, "NAME:MICROSECONDS,... of each round");
  CLI::Option* by_seed = app.add_option("--seed", seed, "parts as this number wants them");
  app.add_option("--rounds", options.rounds, "how many")
      ->check(CLI::Range(1u, 100000u))
      ->capture_default_str();
  app.add_option("--sync-every", options.sync_every, "wait after so many rounds; 0 = at the end");
  app.add_option("--without", without, "leave this part out, whoever wanted it");
  app.add_option("--faster-host", faster_host, "the host computes a part of 1/F of its length")
      ->check(CLI::Range(0.1, 100.0));
  app.add_option("--submit-cost", options.submit_cost, "calls that submit take so many times it")
      ->check(CLI::Range(1.0, 100.0));
  app.add_flag("--poll", options.poll, "ask whether work is done, never sleep until it is");
  app.add_flag("--overlap", options.overlap, "each part on a stream of its own");
  app.add_option("--device", options.device, "number of the accelerator")->capture_default_str();
  app.add_flag("--list", list, "names of parts");
  app.add_option("--twin", twin_name, "a program with this slowness planted, see --list-twins");
  app.add_flag("--mended", mended, "... and the same without it");
  app.add_flag("--list-twins", list_twins, "names of them, and the advice that each should get");
  if (const auto status = ParseArguments(app, argc, argv)) return *status;
  if (list) {
    for (int p = 0; p < kNumParts; ++p) std::printf("%s\n", PartName(static_cast<Part>(p)));
    return 0;
  }
  if (list_twins) {
    for (const Twin& twin : Twins()) std::printf("%s %s\n", twin.name, twin.advice);
    return 0;
  }
  Region region;
  if (!twin_name.empty()) {
    const Twin* twin = FindTwin(twin_name);
    if (twin == nullptr) {
      return Fail("axl-synth", Status::Error("no twin '" + twin_name + "', see --list-twins"), 2);
    }
    if (const Status status = RunTwin(*twin, mended, options.rounds, options.device, &region);
        !status.ok()) {
      return Fail("axl-synth", status);
    }
    std::printf("{\"region_ns\":%lld,\"twin\":\"%s\",\"mended\":%s}\n",
                static_cast<long long>(region.duration_ns()), twin->name,
                mended ? "true" : "false");
    return 0;
  }
  if (by_seed->count() > 0) RandomParts(seed, &options);
  if (const Status status = ParseParts(parts, &options); !status.ok())
    return Fail("axl-synth", status, 2);
  for (int p = 0; p < kNumParts; ++p) {
    if (without == PartName(static_cast<Part>(p))) options.us[p] = 0;
  }
  options.us[kHostPart] /= faster_host;
  if (const Status status = RunSynth(options, &region); !status.ok())
    return Fail("axl-synth", status);
  std::printf("{\"region_ns\":%lld,\"parts\":\"%s\",\"overlap\":%s,\"sync_every\":%u}\n",
              static_cast<long long>(region.duration_ns()), PartsText(options).c_str(),
              options.overlap ? "true" : "false", options.sync_every);
  return 0;
}
