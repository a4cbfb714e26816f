// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/system_readers.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

// Formats readings as "object/name unit value"; current values have a star.
std::vector<std::string> Texts(const Readings& readings) {
  std::vector<std::string> texts;
  for (const Reading& r : readings) {
    texts.push_back(r.object + "/" + r.name + " " + r.unit + " " + std::to_string(r.value) +
                    (r.total ? "" : "*"));
  }
  return texts;
}

using Wanted = std::vector<std::string>;

TEST_CASE("pressure is reported in time that was lost") {
  Readings readings;
  ParsePressure(
      "some avg10=0.00 avg60=1.50 avg300=0.00 total=1234\n"
      "full avg10=0.00 avg60=0.00 avg300=0.00 total=17\nrubbish\nfull total=x\n",
      "io", &readings);
  CHECK(Texts(readings) == Wanted{"io/some waited us 1234", "io/full waited us 17"});
}

TEST_CASE("memory in bytes, events in counts") {
  Readings readings;
  ParseMeminfo("MemTotal: 9 kB\nMemFree:      2 kB\nHugePages_Free:  3\nDirty: kB\n", &readings);
  ParseVmstat("nr_free_pages 7\npgfault 11\npgmajfault x\npswpin 0\n", &readings);
  CHECK(Texts(readings) == Wanted{"/MemFree bytes 2048*", "/HugePages_Free count 3*",
                                  "/pgfault count 11", "/pswpin count 0"});
}

TEST_CASE("time of CPUs by what they did") {
  Readings readings;
  ParseStat("cpu  1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 8 0 0\nctxt 99\ncpu2 1 2\n", 100,
            &readings);
  REQUIRE(readings.size() == 8 + 1 + 2);
  CHECK(Texts(readings)[0] == "cpu1/user us 10000");
  CHECK(Texts(readings)[7] == "cpu1/steal us 80000");
  CHECK(Texts(readings)[8] == "/context switches count 99");
}

TEST_CASE("disks and interfaces that were never used are left out") {
  Readings readings;
  ParseDiskstats(
      "   8  0 sda 10 1 16 5 20 2 32 7 1 12 13 0 0 0 0\n"
      "   7  0 loop0 0 0 0 0 0 0 0 0 0 0 0\n   8 1 sda1 broken\n",
      &readings);
  CHECK(Texts(readings) == Wanted{"sda/reads count 10", "sda/read bytes 8192",
                                  "sda/read time us 5000", "sda/writes count 20",
                                  "sda/written bytes 16384", "sda/write time us 7000",
                                  "sda/in flight count 1*", "sda/busy us 12000"});
  readings.clear();
  ParseNetDev(
      "Inter-| Receive | Transmit\n face |bytes packets errs\n"
      "  eth0: 100 2 0 1 0 0 0 0 300 4 0 0 0 0 0 0\n    lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
      &readings);
  CHECK(Texts(readings) == Wanted{"eth0/received bytes 100", "eth0/packets received count 2",
                                  "eth0/receive errors count 0", "eth0/receive drops count 1",
                                  "eth0/sent bytes 300", "eth0/packets sent count 4",
                                  "eth0/send errors count 0", "eth0/send drops count 0"});
}

TEST_CASE("traffic is the host's, not that of the daemon's own network") {
  char folder[] = "/tmp/system_readers_XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string root = folder;
  const auto write = [&](const std::string& at, const std::string& name) {
    std::filesystem::create_directories(root + at);
    std::ofstream(root + at + "/dev") << name << ": 7 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n";
  };
  const auto has = [&](const std::string& name) {
    Readings readings;
    ReadNet(root, &readings);
    return !readings.empty() && readings[0].object == name;
  };
  write("/proc/net", "own0");
  CHECK(has("own0"));
  write("/proc/1/net", "host0");
  CHECK(has("host0"));
  std::filesystem::remove_all(root);
}

TEST_CASE("errors of a link: their sum, and kinds that there were") {
  Readings readings;
  ParseAer("RxErr 0\nBadTLP 3\nTOTAL_ERR_COR 3\n", "0000:00:04.0", "correctable", 5, &readings);
  CHECK(Texts(readings) == Wanted{"0000:00:04.0/correctable BadTLP count 3",
                                  "0000:00:04.0/correctable errors count 3"});
  CHECK(readings[0].device == 5);
  CHECK(ParseLinkSpeed("16.0 GT/s PCIe") == 16000);
  CHECK(ParseLinkSpeed("2.5 GT/s PCIe") == 2500);
  CHECK(ParseLinkSpeed("Unknown") == 0);
  CHECK(ParseLinkSpeed("") == 0);
}

TEST_CASE("the control group of the unified hierarchy, or of the first one") {
  CHECK(ParseCgroup("0::/user.slice/a\n") == "/user.slice/a");
  CHECK(ParseCgroup("4:memory:/m\n1:name=systemd:/s\n0::/u\n") == "/u");
  CHECK(ParseCgroup("4:memory:/m\n0::/\n") == "/m");
  CHECK(ParseCgroup("4:memory:/a:b\n") == "/a:b");
  CHECK(ParseCgroup("rubbish\n") == "");
  CHECK(ParseCgroup("") == "");
}

TEST_CASE("links of a device and of the ports above it") {
  namespace fs = std::filesystem;
  char folder[] = "/tmp/system_readers_XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string root = folder, bus = root + "/sys/devices/pci0000:00";
  const std::string port = bus + "/0000:00:03.0", card = port + "/0000:01:00.0";
  fs::create_directories(card);
  fs::create_directories(root + "/sys/bus/pci/devices");
  fs::create_directory_symlink(card, root + "/sys/bus/pci/devices/0000:01:00.0");
  std::ofstream(card + "/current_link_speed") << "8.0 GT/s PCIe\n";
  std::ofstream(card + "/current_link_width") << "4\n";
  std::ofstream(card + "/numa_node") << "1\n";
  std::ofstream(card + "/aer_dev_fatal") << "Undefined 0\nTOTAL_ERR_FATAL 0\n";
  std::ofstream(port + "/current_link_speed") << "16.0 GT/s PCIe\n";
  std::ofstream(port + "/current_link_width") << "16\n";
  Readings readings;
  ReadPcie(root, {{2, "0000:01:00.0"}, {3, "0000:09:00.0"}}, &readings);
  CHECK(Texts(readings) ==
        Wanted{"0000:01:00.0/link speed MT/s 8000*", "0000:01:00.0/link width lanes 4*",
               "0000:01:00.0/fatal errors count 0", "0000:00:03.0/link speed MT/s 16000*",
               "0000:00:03.0/link width lanes 16*"});
  CHECK(readings[0].device == 3);
  CHECK(readings[3].device == 0);
  readings.clear();
  fs::create_directories(root + "/sys/devices/system/cpu/cpu0/node1");
  fs::create_directories(root + "/sys/devices/system/cpu/cpufreq");
  ReadNuma(root, {{2, "0000:01:00.0"}}, &readings);
  CHECK(Texts(readings) == Wanted{"0000:01:00.0/node  1*", "cpu0/node  1*"});
  fs::remove_all(root);
}

TEST_CASE("frequency and idle states of CPUs, of those that have them") {
  namespace fs = std::filesystem;
  char folder[] = "/tmp/system_readers_XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string root = folder, cpus = root + "/sys/devices/system/cpu";
  fs::create_directories(root + "/proc");
  std::ofstream(root + "/proc/stat") << "ctxt 5\n";
  const auto write = [&](const std::string& at, const std::string& text) {
    fs::create_directories(fs::path(cpus + at).parent_path());
    std::ofstream(cpus + at) << text << '\n';
  };
  write("/cpufreq/policy0/scaling_cur_freq", "1");  // not that of a CPU
  write("/cpu0/cpufreq/scaling_cur_freq", "3400000");
  write("/cpu0/cpuidle/state0/name", "POLL");
  write("/cpu0/cpuidle/state0/time", "7");
  write("/cpu0/cpuidle/state0/usage", "2");
  write("/cpu0/cpuidle/state1/name", "C6");
  write("/cpu0/cpuidle/state1/time", "90000");
  write("/cpu0/cpuidle/state1/usage", "<unknown>");
  write("/cpu1/cpufreq/scaling_cur_freq", "<unknown>");
  Readings readings;
  ReadCpus(root, &readings);
  CHECK(Texts(readings) == Wanted{"/context switches count 5", "cpu0/frequency Hz 3400000000*",
                                  "cpu0/idle POLL us 7", "cpu0/entered POLL count 2",
                                  "cpu0/idle C6 us 90000"});
  readings.clear();
  write("/cpu0/cpufreq/scaling_cur_freq", "800000");
  write("/cpu0/cpuidle/state1/time", "95000");
  write("/cpu0/cpuidle/state1/usage", "4");
  ReadCpus(root, &readings);
  CHECK(Texts(readings) == Wanted{"/context switches count 5", "cpu0/frequency Hz 800000000*",
                                  "cpu0/idle POLL us 7", "cpu0/entered POLL count 2",
                                  "cpu0/idle C6 us 95000", "cpu0/entered C6 count 4"});
  fs::remove_all(root);
}

}  // namespace
}  // namespace acceltrace::daemon
