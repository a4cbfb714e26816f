// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/record_options.h"

#include "tests/catch.h"

namespace acceltrace::cli {
namespace {

// Returns the sources that the recorder is asked for; "" = none.
std::string Asked(const RecordOptions& options) {
  RecordOptions complete = options;
  CHECK(Complete(&complete).ok());
  return StartRequest(complete).sources();
}

TEST_CASE("when threads slept is recorded unless that is much, or not wanted") {
  RecordOptions options;
  options.output = "x.atrace";
  proto::RecordRequest& request = options.request;
  CHECK(Asked(options) == "default");
  request.set_overhead("full");
  CHECK(Asked(options) == "default");
  request.set_overhead("low");
  CHECK(Asked(options).empty());
  request.set_sources("sched,irq");
  CHECK(Asked(options) == "sched,irq");
  request.set_overhead("");
  request.set_sources("none");
  CHECK(Asked(options).empty());
  request.set_sources("");
  request.set_system(true);
  CHECK(Asked(options).empty());
}

TEST_CASE("a long command is told by its beginning, whatever it is written with") {
  RecordOptions options;
  options.output = "x.atrace";
  options.command = {"run", std::string(60'000, '<')};
  REQUIRE(Complete(&options).ok());
  CHECK(options.request.command(1).starts_with("<<<"));
  CHECK(options.request.command(1).size() < 10'000);
  CHECK(options.command[1].size() == 60'000);
  const std::vector<std::string> words = DaemonArguments(options);
  CHECK(words.back() == options.request.command(1));
}

}  // namespace
}  // namespace acceltrace::cli
