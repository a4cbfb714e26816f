// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of reading each host source in /proc and /sys once.
//
//   axl-look-cost LOOKS [PCI-ADDRESS]
//
// Prints for each: name, CPU time of a look in microseconds (least, median), readings.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "daemon/base/text_files.h"
#include "daemon/sources/system/system_readers.h"

namespace acceltrace::daemon {
namespace {

double ThreadCpuUs() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

struct Look {
  const char* name;
  std::function<void(Readings*)> read;
};

int Run(size_t looks, const std::string& address) {
  const std::vector<std::pair<uint32_t, std::string>> devices = {{0, address}};
  const Look all[] = {
      {"pressure", [](Readings* readings) { ReadPressure("", readings); }},
      {"memory", [](Readings* readings) { ReadMemory("", readings); }},
      {"cpu", [](Readings* readings) { ReadCpus("", readings); }},
      {"block", [](Readings* readings) { ReadBlock("", readings); }},
      {"net", [](Readings* readings) { ReadNet("", readings); }},
      {"pcie", [&](Readings* readings) { ReadPcie("", devices, readings); }},
      {"numa", [&](Readings* readings) { ReadNuma("", devices, readings); }},
      // The control group of one process.
      {"cgroup",
       [](Readings* readings) {
         readings->push_back({ParseCgroup(ReadText("/proc/self/cgroup")), "group"});
       }},
  };
  for (const Look& look : all) {
    std::vector<double> costs;
    size_t count = 0;
    for (size_t i = 0; i < looks; ++i) {
      Readings readings;
      const double begin = ThreadCpuUs();
      look.read(&readings);
      costs.push_back(ThreadCpuUs() - begin);
      count = readings.size();
    }
    std::sort(costs.begin(), costs.end());
    printf("%s %.1f %.1f %zu\n", look.name, costs.front(), costs[costs.size() / 2], count);
  }
  return 0;
}

}  // namespace
}  // namespace acceltrace::daemon

int main(int argc, char** argv) {
  const size_t looks = argc > 1 ? strtoul(argv[1], nullptr, 10) : 0;
  if (looks == 0) return 2;
  return acceltrace::daemon::Run(looks, argc > 2 ? argv[2] : "");
}
