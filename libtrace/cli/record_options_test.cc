// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/record_options.h"

#include <algorithm>

#include "tests/catch.h"

namespace acceltrace::cli {
namespace {

// Returns the sources that the recorder is asked for, checked in both forms; "" = none.
std::string Asked(const RecordOptions& options) {
  const std::vector<std::string> words = DaemonArguments(options);
  const auto option = std::find(words.begin(), words.end(), "--sources");
  const std::string sources = option == words.end() ? "" : *std::next(option);
  CHECK(StartCommand(options).value("sources", "") == sources);
  return sources;
}

TEST_CASE("when threads slept is recorded unless that is much, or not wanted") {
  RecordOptions options;
  options.output = "x.atrace";
  CHECK(Asked(options) == "default");
  options.overhead = "full";
  CHECK(Asked(options) == "default");
  options.overhead = "low";
  CHECK(Asked(options).empty());
  options.sources = "sched,irq";
  CHECK(Asked(options) == "sched,irq");
  options.overhead = "";
  options.sources = "none";
  CHECK(Asked(options).empty());
  options.sources = "";
  options.system = true;
  CHECK(Asked(options).empty());
}

}  // namespace
}  // namespace acceltrace::cli
