// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider/provider_counters.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

namespace fs = std::filesystem;

DeviceCounter Counter(const std::string& name, double scale = 1, bool gauge = false) {
  DeviceCounter counter;
  counter.device = 15;
  counter.object = "0000:01:00.0";
  counter.counter.name = name;
  counter.counter.unit = "things";
  counter.counter.scale = scale;
  counter.counter.gauge = gauge;
  return counter;
}

std::string Texts(const Readings& readings) {
  std::string text;
  for (const Reading& r : readings) {
    text += r.name + "=" + std::to_string(r.value) + (r.total ? "" : " now") + ";";
  }
  return text;
}

std::string Parsed(const std::string& text, const DeviceCounter& counter) {
  Readings readings;
  ParseCounter(text, counter, &readings);
  return Texts(readings);
}

TEST_CASE("A counter's file holds a number, or names and numbers") {
  CHECK(Parsed("17\n", Counter("c")) == "c=17;");
  CHECK(Parsed("2.5 GT/s PCIe\n", Counter("speed", 1000, true)) == "speed=2500 now;");
  CHECK(Parsed("3 of 4\n9\n", Counter("c")) == "c=3;");
  CHECK(Parsed("RxErr 3\nBadTLP 0\nTOTAL_ERR_COR 3\n", Counter("aer")) ==
        "aer RxErr=3;aer BadTLP=0;aer TOTAL_ERR_COR=3;");
  CHECK(Parsed("clock:\t1200\nvoltage: high\n", Counter("x")) == "x clock=1200;");
  // Values that are not counts are ignored.
  for (const char* text : {"", "\n", "none", "-4", "nan", "inf", "1e300", "0x12"}) {
    CHECK(Parsed(text, Counter("c")).empty());
  }
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "n" + std::to_string(i) + " 1\n";
  Readings readings;
  ParseCounter(many, Counter("c"), &readings);
  CHECK(readings.size() == 256);
  CHECK(readings[0].device == 16);
  CHECK(readings[0].unit == "things");
}

TEST_CASE("Files of one device's parts are one counter") {
  const fs::path top = fs::temp_directory_path() / ("counted-" + std::to_string(getpid()));
  fs::create_directories(top);
  DeviceCounter count = Counter("busy"), now = Counter("speed", 1, true);
  for (int i = 1; i <= 3; ++i) {
    const fs::path file = top / std::to_string(i);
    std::ofstream(file) << 10 * i << "\n";
    count.files.push_back(file);
    now.files.push_back(file);
  }
  count.files.push_back(top / "gone");
  std::vector<std::string> lacks;
  Readings readings;
  ProviderCounters({count, now}, &lacks).Read(&readings);
  fs::remove_all(top);
  CHECK(Texts(readings) == "busy=60;speed=10 now;");
  CHECK(lacks.empty());
}

TEST_CASE("A perf event that cannot be had is reported, and the rest goes on") {
  DeviceCounter event = Counter("cycles");
  event.counter.pmu = "nosuchpmu/cycles/";
  event.event.type = 0x7fff'ffff;
  std::vector<std::string> lacks;
  const ProviderCounters counters({event}, &lacks);
  CHECK(counters.empty());
  REQUIRE(lacks.size() == 1);
  CHECK(lacks[0].find("counter cycles: nosuchpmu/cycles/ cannot be opened: ") == 0);
}

}  // namespace
}  // namespace acceltrace::daemon
