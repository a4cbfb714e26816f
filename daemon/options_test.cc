// SPDX-License-Identifier: Apache-2.0
#include "daemon/options.h"

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

Result<Options> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "acceltraced");
  return ParseOptions(static_cast<int>(words.size()), words.data());
}

TEST_CASE("a private recording's command line") {
  const auto options = Parse({"--private", "--output=x.atrace", "--pid", "12", "--probes",
                              "usdt,device", "--counter-period", "2ms", "--", "app", "--pid"});
  REQUIRE(options.ok());
  CHECK(options->output == "x.atrace");
  CHECK(options->record.pids == std::vector<uint32_t>{12});
  CHECK(options->record.probes.usdt);
  CHECK_FALSE(options->record.probes.driver);
  CHECK(options->record.counter_period_ns == 2'000'000);
  CHECK(options->record.command == std::vector<std::string>{"app", "--pid"});
  CHECK_FALSE(options->record.stacks);
  CHECK(Parse({"--private", "--output=x", "--pid", "12", "--stacks"})->record.stacks);
  CHECK_FALSE(Parse({"--private", "--output=x", "--pid", "12", "--stacks=yes"}).ok());
}

TEST_CASE("misuse is reported in one line") {
  const std::vector<std::vector<const char*>> wrong = {
      {"--nonsense"},
      {"--private"},
      {"--private", "--output", "x"},
      {"--private", "--output", "x", "--output-fd", "3", "--system"},
      {"--private", "--output", "x", "--pid", "none"},
      {"--private", "--output", "x", "--pid"},
      {"--private", "--output", "x", "--system", "--probes", "usdt,magic"},
      {"--private", "--output", "x", "--system", "--counter-period", "1us"},
      {"--private=yes", "--output", "x", "--system"},
      {"--system"},
  };
  for (const auto& words : wrong) {
    const auto options = Parse(words);
    REQUIRE_FALSE(options.ok());
    CHECK(options.message().find('\n') == std::string::npos);
    CHECK_FALSE(options.message().empty());
  }
}

TEST_CASE("--overhead low takes no counter samples unless asked for") {
  const auto low = Parse({"--private", "--output", "x", "--system", "--overhead", "low"});
  REQUIRE(low.ok());
  CHECK(low->record.light);
  CHECK(CounterPeriodNs(low->record) == 0);
  const auto both = Parse(
      {"--private", "--output", "x", "--system", "--overhead", "low", "--counter-period", "2ms"});
  REQUIRE(both.ok());
  CHECK(CounterPeriodNs(both->record) == 2'000'000);
  const auto full = Parse({"--private", "--output", "x", "--system", "--overhead=full"});
  REQUIRE(full.ok());
  CHECK_FALSE(full->record.light);
  CHECK(CounterPeriodNs(full->record) == 1'000'000);
  CHECK_FALSE(Parse({"--private", "--output", "x", "--system", "--overhead", "none"}).ok());
}

}  // namespace
}  // namespace acceltrace::daemon
