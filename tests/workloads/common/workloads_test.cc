// SPDX-License-Identifier: Apache-2.0
//
// The small workloads on the driver in memory, and the example of docs/libaxl.md.
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "libtrace/runtime/testing/fixture.h"
#include "tests/catch.h"
#include "tests/workloads/bandwidth/bandwidth.h"
#include "tests/workloads/matmul/sweep.h"
#include "tests/workloads/observed/programs.h"
#include "tests/workloads/patterns/patterns.h"
#include "tests/workloads/stress/program.h"

using namespace acceltrace;
using namespace acceltrace::workloads;
using acceltrace::runtime::FakeKernel;
using acceltrace::runtime::Fixture;

extern "C" int HelloMain(void);

namespace {

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the example runs, and says when it cannot") {
  Fixture f;
  REQUIRE(HelloMain() == 0);
  REQUIRE(f.kernel.live_buffers() == 0);
  f.kernel.FailIoctl(AXL_IOCTL_SUBMIT, EIO);
  REQUIRE(HelloMain() == 1);
}

TEST_CASE("docs/libaxl.md shows the example as it is") {
  const std::string source = ReadFile("tests/workloads/hello/hello.c");
  const std::string page = ReadFile("docs/libaxl.md");
  INFO("seen from the top folder");
  REQUIRE_FALSE(source.empty());
  const std::string fence = "```c\n";
  const size_t begin = page.find(fence + "/* SPDX");
  REQUIRE(begin != std::string::npos);
  const size_t end = page.find("```\n", begin + fence.size());
  REQUIRE(page.substr(begin + fence.size(), end - begin - fence.size()) == source);
}

TEST_CASE("bandwidth: all data arrives, each size has a row") {
  Fixture f;
  BandwidthOptions options;
  options.max_bytes = 65536;
  const auto result = MeasureBandwidth(options);
  INFO(result.message());
  REQUIRE(result.ok());
  REQUIRE(result->rows.size() == 5);
  REQUIRE(result->wrong_bytes == 0);
  for (const BandwidthRow& row : result->rows) {
    REQUIRE(row.to_device > 0);
    REQUIRE(row.from_device > 0);
    REQUIRE(row.both > 0);
  }
}

TEST_CASE("bandwidth: nonsense is refused") {
  Fixture f;
  BandwidthOptions options;
  SECTION("order") { options.max_bytes = 1024; }
  SECTION("alignment") { options.min_bytes = 4098; }
  SECTION("repeat") { options.repeat = 0; }
  REQUIRE_FALSE(MeasureBandwidth(options).ok());
}

TEST_CASE("matmul: every shape is right in every variant") {
  Fixture f;
  SweepOptions options;
  options.shapes = {{1, 1, 1}, {3, 5, 7}, {33, 31, 65}, {64, 16, 32}};
  options.bf16 = GENERATE(false, true);
  options.transpose_b = GENERATE(false, true);
  options.scratch = GENERATE(false, true);
  const auto rows = RunSweep(options);
  INFO(rows.message());
  REQUIRE(rows.ok());
  REQUIRE(rows->size() == 4);
  REQUIRE(SweepOk(*rows));
}

TEST_CASE("matmul: wrong results and shapes that are none are noticed") {
  SweepRow row = {};
  row.max_rel_error = 0.01;
  REQUIRE_FALSE(SweepOk({row}));
  REQUIRE_FALSE(SweepOk({}));
  REQUIRE(ParseShape("32x64x128")->k == 128);
  for (const char* text : {"", "1x2", "1x2x3x4", "0x1x1", "1x2x3 ", "axbxc", "1x1x99999999"}) {
    INFO(text);
    REQUIRE_FALSE(ParseShape(text).ok());
  }
}

TEST_CASE("patterns: each computes what it should") {
  Fixture f;
  for (const auto patterns : {DevicePatterns(), HostPatterns()}) {
    for (const Pattern& pattern : patterns) {
      INFO(pattern.name);
      REQUIRE(FindPattern(pattern.name) == &pattern);
      PatternStats stats;
      REQUIRE(pattern.run(1, &stats).message() == "");
      REQUIRE(stats.wrong == 0);
      REQUIRE(stats.commands > 0);
    }
  }
  REQUIRE(FindPattern("nothing") == nullptr);
}

TEST_CASE("each observed program computes what it must, and can be measured twice") {
  for (const auto programs : {CallPrograms(), OverlapPrograms()}) {
    for (const ObservedProgram& program : programs) {
      INFO(program.name);
      Fixture f;
      REQUIRE(FindObserved(program.name) == &program);
      ObservedOptions options;
      options.count = 32;
      options.repeat = 2;
      Meter meter(program.name, options);
      const Status status = program.run(&meter);
      INFO(status.message());
      REQUIRE(status.ok());
      REQUIRE(meter.wrong() == 0);
    }
  }
  REQUIRE(FindObserved("nothing") == nullptr);
}

TEST_CASE("stress: random programs come out right, alone and together") {
  Fixture f({0, 1}, GENERATE(range(1u, 6u)));
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  std::vector<std::string> errors(4);
  std::vector<StressStats> stats(4);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      StressOptions options;
      options.seed = 17 * t;
      options.priorities = t % 2;
      StressProgram program(options);
      axlSetDevice(static_cast<int>(t % 2));
      errors[t] = program.Run().message();
      stats[t] = program.stats();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint32_t t = 0; t < 4; ++t) {
    REQUIRE(errors[t] == "");
    REQUIRE(stats[t].checked > 6);
    REQUIRE(stats[t].wrong == 0);
  }
  REQUIRE_FALSE(f.kernel.deadlocked());
}

TEST_CASE("stress: a command that does not run shows") {
  Fixture f;
  StressProgram program{StressOptions()};
  f.kernel.FailCommand(AXL_ST_POISONED, 50);
  REQUIRE_FALSE(program.Run().ok());
}
