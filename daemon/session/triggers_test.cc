// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/triggers.h"

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

Triggers Make(std::vector<const char*> texts) {
  std::vector<TriggerRule> rules;
  for (const char* text : texts) {
    auto rule = control::ParseTrigger(text);
    REQUIRE(rule.ok());
    rules.push_back(std::move(rule).value());
  }
  return Triggers(std::move(rules),
                  [](std::string_view name) { return static_cast<uint32_t>(name.size()); });
}

TEST_CASE("a job is slow from the limit on, and only if its begin is known") {
  Triggers triggers = Make({"job>2ms", "job>1ms"});
  triggers.OnJob(1'000'000, 1'999'999);
  triggers.OnJob(0, 9'000'000);
  CHECK(triggers.fired() == 0);
  CHECK_FALSE(triggers.Take().has_value());
  triggers.OnJob(1'000'000, 2'000'000);
  CHECK(triggers.Take() == "job>1ms (1000 us)");
  CHECK_FALSE(triggers.Take().has_value());
}

TEST_CASE("ranges by name, at their begin or their end") {
  Triggers triggers = Make({"begin:abc", "range:four>1us"});
  triggers.OnRangeEnd(3, 5'000);
  triggers.OnRangeBegin(4);
  triggers.OnRangeEnd(4, 999);
  CHECK(triggers.fired() == 0);
  triggers.OnRangeBegin(3);
  triggers.OnRangeEnd(4, 2'000);
  CHECK(triggers.fired() == 2);
  CHECK(triggers.Take() == "begin:abc");  // the first of them
}

}  // namespace
}  // namespace acceltrace::daemon
