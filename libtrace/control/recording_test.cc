// SPDX-License-Identifier: Apache-2.0
#include "libtrace/control/recording.h"

#include "libtrace/control/options.h"
#include "libtrace/control/quantities.h"
#include "tests/catch.h"

namespace acceltrace::control {
namespace {

using Kind = TriggerRule::Kind;

// Makes a request from options, each with its value after it.
proto::RecordRequest Request(const std::vector<const char*>& words) {
  proto::RecordRequest request;
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    REQUIRE(SetOption(words[i], words[i + 1], &request).ok());
  }
  return request;
}

std::string Wrong(const std::vector<const char*>& words) { return Check(Request(words)).message(); }

TEST_CASE("durations and sizes have units") {
  CHECK(ParseDurationNs("500us") == 500'000);
  CHECK(ParseDurationNs("1.5ms") == 1'500'000);
  CHECK(ParseDurationNs("0") == 0);
  CHECK_FALSE(ParseDurationNs("1h").has_value());
  CHECK_FALSE(ParseDurationNs("-1s").has_value());
  CHECK_FALSE(ParseDurationNs("").has_value());
  CHECK_FALSE(ParseDurationNs("1e300s").has_value());
  CHECK(ParseBytes("16M") == 16u << 20);
  CHECK_FALSE(ParseBytes("16X").has_value());
}

TEST_CASE("rules are read, and what is none is refused") {
  const auto job = ParseTrigger("job>1.5ms");
  REQUIRE(job.ok());
  CHECK((job->kind == Kind::kSlowJob && job->min_ns == 1'500'000));
  const auto range = ParseTrigger("range:decode 1>20us");
  REQUIRE(range.ok());
  CHECK((range->kind == Kind::kRangeEnd && range->range == "decode 1" && range->min_ns == 20'000));
  const auto odd = ParseTrigger("range:a>b");
  REQUIRE(odd.ok());
  CHECK((odd->range == "a>b" && odd->min_ns == 0));
  const auto begin = ParseTrigger("begin:x>5ms");
  REQUIRE(begin.ok());
  CHECK((begin->kind == Kind::kRangeBegin && begin->range == "x>5ms"));
  for (const char* bad : {"", "job", "job>", "job>0", "job>fast", "jobs>1ms",
                          "range:", "begin:", "range:>1ms", "api>1ms", "job:x>1ms"}) {
    CAPTURE(bad);
    CHECK_FALSE(ParseTrigger(bad).ok());
  }
  CHECK_FALSE(ParseTrigger("range:" + std::string(5000, 'x')).ok());
}

TEST_CASE("sources are asked for by name") {
  const auto sources = [](const char* list) {
    return Check(Request({"--sources", list}))->sources;
  };
  CHECK(sources("sched") == kSourceSched);
  CHECK(sources("sched,irq") == (kSourceSched | kSourceIrq));
  CHECK(sources("all") == (1u << 10) - 1);
  CHECK(sources("default") == (kSourceSched | kSourceQuiet));
  CHECK(sources("") == 0);
  for (const char* bad : {"sched,", "shed", ",sched"}) {
    CHECK(Wrong({"--sources", bad}).find("there are sched, irq,") != std::string::npos);
  }
}

TEST_CASE("what an option could be is said of each") {
  const auto [option, value, wanted] = GENERATE(table<const char*, const char*, const char*>({
      {"--ring", "63K", "not a size from 64K to 64G"},
      {"--ring", "65G", "not a size from 64K to 64G"},
      {"--ring", "big", "not a size from 64K to 64G"},
      {"--rotate-size", "1023K", "not a size of at least 1M"},
      {"--rotate-time", "999ms", "not a duration of at least 1s"},
      {"--counter-period", "9us", "not a duration of at least 10us (such as 500us, 1ms), or 0"},
      {"--counter-period", "x", "not a duration of at least 10us (such as 500us, 1ms), or 0"},
      {"--overhead", "none", "neither full nor low"},
      {"--priority", "20", "not auto, idle, normal or a nice value from -20 to 19"},
      {"--cpu", "3-2", "not a list of processors such as 0,2-5"},
      {"--cpu", "0,1024", "not a list of processors such as 0,2-5"},
      {"--keep", "17", "not a number of files from 1 to 16"},
      {"--pid", "2147483648", "not a process id"},
  }));
  CHECK(Wrong({option, value}) == std::string(option) + " " + value + ": " + wanted);
}

TEST_CASE("numbers are numbers") {
  proto::RecordRequest request;
  for (const char* bad : {"", "0", "-1", "5x", "4294967296"}) {
    CHECK(SetOption("--pid", bad, &request).message() ==
          std::string("--pid ") + bad + ": not a process id");
    CHECK(SetOption("--keep", bad, &request).message() ==
          std::string("--keep ") + bad + ": not a number of files from 1 to 16");
  }
}

TEST_CASE("options that do not go together") {
  CHECK(Wrong({"--ring", "1M", "--rotate-size", "1M"}) != "");
  CHECK(Wrong({"--trigger", "job>1ms"}) != "");
  CHECK(Wrong({"--keep", "3"}) != "");
  CHECK(Wrong({"--keep", "1", "--rotate-time", "1s"}) != "");
  CHECK(Wrong({"--keep", "1", "--ring", "1M", "--trigger", "begin:x"}) == "");
}

TEST_CASE("lists end somewhere, and so do errors") {
  proto::RecordRequest request;
  for (int i = 0; i < 1025; ++i) request.add_pids(1);
  CHECK(Check(request).message() == "--pid: more than 1024");
  request.clear_pids();
  for (int i = 0; i < 9; ++i) request.add_triggers("begin:x");
  request.set_ring("1M");
  CHECK(Check(request).message() == "--trigger begin:x: more than 8 rules");
  request.set_ring(std::string(60'000, '1'));
  CHECK(Check(request).message().size() < 200);
}

TEST_CASE("processors are a set") {
  CHECK(Check(Request({"--cpu", "2,0-3,1"}))->cpus == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("a request is the same again as words") {
  proto::RecordRequest request =
      Request({"--pid", "7", "--pid", "8", "--system", "", "--ring", "64K", "--libaxl", "/l\xff",
               "--trigger", "begin:x", "--keep", "2", "--rotate-size", ""});
  request.add_command("--");
  request.add_command("");
  CHECK(Words(request) == std::vector<std::string>{"--pid", "7", "--pid", "8", "--system",
                                                   "--libaxl", "/l\xff", "--ring", "64K",
                                                   "--trigger", "begin:x", "--keep", "2", "--",
                                                   "--", ""});
}

TEST_CASE("files are named after the output") {
  const auto rotating = Check(Request({"--rotate-time", "1s", "--keep", "3"}));
  CHECK(MoreFiles(*rotating) == 2);
  CHECK(MoreFileName(*rotating, "x.atrace", 1) == "x.3.atrace");
  const auto triggered = Check(Request({"--ring", "1M", "--trigger", "begin:x"}));
  CHECK(MoreFiles(*triggered) == 4);
  CHECK(MoreFileName(*triggered, "x.atrace", 0) == "x.trigger-1.atrace");
}

}  // namespace
}  // namespace acceltrace::control
