// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/control.h"

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

std::string Wrong(const std::string& line) {
  uint64_t id = 0;
  const auto command = ParseCommand(line, &id);
  return command.ok() ? "" : command.message();
}

TEST_CASE("a start command carries its options") {
  uint64_t id = 0;
  const auto command = ParseCommand(
      R"({"cmd":"start","id":7,"pids":[12,13],"probes":"usdt,driver","counter_period":"2ms",
          "ring":"1M","devices":["axl1"],"detach":true,"command":["a","b"],"output":"/x"})",
      &id);
  REQUIRE(command.ok());
  CHECK(id == 7);
  CHECK(command->verb == Command::Verb::kStart);
  CHECK(command->record.pids == std::vector<uint32_t>{12, 13});
  CHECK(command->record.probes.driver);
  CHECK_FALSE(command->record.probes.device);
  CHECK(command->record.counter_period_ns == 2'000'000u);
  CHECK(command->record.ring_bytes == 1 << 20);
  CHECK(command->record.devices == std::vector<std::string>{"axl1"});
  CHECK(command->detach);
  CHECK(command->output == "/x");
  CHECK_FALSE(command->record.stacks);
  CHECK(ParseCommand(R"({"cmd":"start","stacks":true})", &id)->record.stacks);
}

TEST_CASE("the other commands") {
  uint64_t id = 0;
  CHECK(ParseCommand(R"({"cmd":"status"})", &id)->verb == Command::Verb::kStatus);
  CHECK(ParseCommand(R"({"cmd":"stop","session":3,"status":-2})", &id)->status == -2);
  CHECK(ParseCommand(R"({"cmd":"pid","pid":5})", &id)->pid == 5);
  CHECK(ParseCommand(R"({"cmd":"stop"})", &id)->status == -1);
  CHECK(ParseCommand(R"({"cmd":"live","session":1})", &id)->session == 1);
}

TEST_CASE("what else protobuf's mapping takes") {
  uint64_t id = 0;
  const auto command = ParseCommand(
      R"({"id":"18446744073709551615","cmd":"start","noDevice":true,"pids":["7"],"ring":null})",
      &id);
  REQUIRE(command.ok());
  CHECK(id == UINT64_MAX);
  CHECK(command->record.no_device);
  CHECK(command->record.pids == std::vector<uint32_t>{7});
  CHECK(command->record.ring_bytes == 0);
}

TEST_CASE("every mistake is reported, with the id if there is one") {
  for (const char* line : {"",
                           "[]",
                           "{",
                           "null",
                           "\"start\"",
                           "{}",
                           R"({"cmd":5})",
                           R"({"cmd":"fly"})",
                           R"({"cmd":"status","session":1})",
                           R"({"cmd":"start","pids":{}})",
                           R"({"cmd":"start","pids":[0]})",
                           R"({"cmd":"start","pids":[-1]})",
                           R"({"cmd":"start","pids":[99999999999]})",
                           R"({"cmd":"start","system":1})",
                           R"({"cmd":"start","probes":"magic"})",
                           R"({"cmd":"start","counter_period":"1us"})",
                           R"({"cmd":"start","ring":"1"})",
                           R"({"cmd":"start","ring":"9999G"})",
                           R"({"cmd":"start","output":"a\u0000b"})",
                           R"({"cmd":"start","devices":[1]})",
                           R"({"cmd":"start","keep":17,"rotate_size":"1M"})",
                           R"({"cmd":"start","keep":3})",
                           R"({"cmd":"start","rotate_size":"1K"})",
                           R"({"cmd":"start","rotate_time":"5s","ring":"1M"})",
                           R"({"cmd":"start","triggers":["job>1ms"]})",
                           R"({"cmd":"start","triggers":["quick"],"ring":"1M"})",
                           R"({"cmd":"start","stacks":"maybe"})",
                           R"({"cmd":"pid"})",
                           R"({"cmd":"pid","pid":1.5})",
                           R"({"cmd":"pid","pid":2147483648})",
                           R"({"cmd":"pid","pid":1,"status":0})",
                           R"({"cmd":"start","command":["a","b\u0000c"]})",
                           R"({"cmd":"start","sources":"everything"})",
                           R"({"cmd":"start"} {})",
                           R"({"id":-1,"cmd":"status"})",
                           R"({"cmd":"\ud800"})",
                           R"({"cmd":"stop","session":-1})",
                           R"({"cmd":"stop","session":18446744073709551615})",
                           R"({"cmd":"stop","status":"x"})",
                           "{\"cmd\":\"\xff\xfe\"}"}) {
    INFO(line);
    CHECK(Wrong(line) != "");
  }
  uint64_t id = 0;
  CHECK_FALSE(ParseCommand(R"({"id":9,"cmd":"fly"})", &id).ok());
  CHECK(id == 9);
}

TEST_CASE("deep nesting and long lists are refused, not followed") {
  CHECK(Wrong(std::string(60'000, '[')) != "");
  const std::string deep = std::string(20'000, '[') + "{}" + std::string(20'000, ']');
  CHECK(Wrong(R"({"x":)" + deep + R"(,"cmd":"status"})") != "");
  CHECK(Wrong(R"({"cmd":"start","pids":)" + deep + "}") != "");
  const std::string member(50'000, 'x');
  CHECK(Wrong(R"({"cmd":"start",")" + member + R"(":1})").size() < 1000);
  CHECK(Wrong(R"({"cmd":"start","ring":")" + member + R"("})").size() < 1000);
  std::string pids = "1";
  for (int i = 0; i < 2000; ++i) pids += ",1";
  CHECK(Wrong(R"({"cmd":"start","pids":[)" + pids + "]}") != "");
}

TEST_CASE("answers are one line of JSON whatever the text") {
  CHECK(ErrorAnswer(3, "a\n\"b\"\xff").find('\n') == std::string::npos);
  CHECK(OkAnswer(3, "") == R"({"id":3,"ok":true})");
  CHECK(OkAnswer(3, R"("session":1)") == R"({"id":3,"ok":true,"session":1})");
}

}  // namespace
}  // namespace acceltrace::daemon
