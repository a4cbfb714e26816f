// SPDX-License-Identifier: Apache-2.0
//
// axl-pulse SECONDS JOBS_PER_S DEVICES [--stop-daemon FROM TO]: a small copy and a small
// vector op on each device, again and again, evenly over the time: events everywhere
// for the clocks to be scored on. Between FROM and TO (seconds) the tracing daemon of
// the guest is stopped, so that it takes no clock samples. Room: tests/scoring.
#include <dirent.h>
#include <signal.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "libtrace/runtime/axl.h"

namespace {

constexpr uint32_t kCount = 1024;

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

void SleepUntil(int64_t ns) {
  const timespec until{ns / 1'000'000'000, ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

// Signals every process called acceltraced; how many there were.
int SignalDaemon(int signal) {
  int found = 0;
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return 0;
  while (const dirent* entry = readdir(processes)) {
    const int pid = std::atoi(entry->d_name);
    std::string name;
    std::ifstream comm(std::string("/proc/") + entry->d_name + "/comm");
    if (pid > 1 && std::getline(comm, name) && name == "acceltraced") {
      found += kill(pid, signal) == 0;
    }
  }
  closedir(processes);
  return found;
}

struct Device {
  void* host = nullptr;
  void* memory = nullptr;
  axlStream_t stream = nullptr;
};

bool Good(axlError_t error, const char* what) {
  if (error == axlSuccess) return true;
  std::fprintf(stderr, "axl-pulse: %s: %s: %s\n", what, axlGetErrorName(error),
               axlGetErrorDetail());
  return false;
}

bool Open(int number, Device* device) {
  return Good(axlSetDevice(number), "axlSetDevice") &&
         Good(axlHostAlloc(&device->host, kCount * sizeof(float)), "axlHostAlloc") &&
         Good(axlMalloc(&device->memory, kCount * sizeof(float)), "axlMalloc") &&
         Good(axlStreamCreate(&device->stream), "axlStreamCreate");
}

bool Beat(int number, const Device& device) {
  axlVector args{};
  args.src0 = device.memory, args.dst = device.memory;
  args.rows = 1, args.cols = kCount, args.alpha = 1;
  return Good(axlSetDevice(number), "axlSetDevice") &&
         Good(axlMemcpyAsync(device.memory, device.host, kCount * sizeof(float),
                             axlMemcpyHostToDevice, device.stream),
              "axlMemcpyAsync") &&
         Good(axlLaunchVector("beat", axlVecScale, &args, device.stream), "axlLaunchVector") &&
         Good(axlStreamSynchronize(device.stream), "axlStreamSynchronize");
}

}  // namespace

int main(int argc, char** argv) {
  const bool stops = argc == 7 && std::strcmp(argv[4], "--stop-daemon") == 0;
  if (argc != 4 && !stops) {
    std::fprintf(stderr, "usage: axl-pulse SECONDS JOBS_PER_S DEVICES [--stop-daemon FROM TO]\n");
    return 2;
  }
  const double seconds = std::atof(argv[1]), rate = std::atof(argv[2]);
  std::vector<Device> devices(static_cast<size_t>(std::atoi(argv[3])));
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!Open(static_cast<int>(i), &devices[i])) return 1;
  }
  const int64_t begin_ns = NowNs();
  const auto after = [&](double s) { return begin_ns + static_cast<int64_t>(s * 1e9); };
  int64_t stop_ns = stops ? after(std::atof(argv[5])) : INT64_MAX;
  int64_t resume_ns = stops ? after(std::atof(argv[6])) : INT64_MAX;
  for (int64_t beat = 0; NowNs() < after(seconds); ++beat) {
    SleepUntil(after(static_cast<double>(beat) / rate));
    for (size_t i = 0; i < devices.size(); ++i) {
      if (!Beat(static_cast<int>(i), devices[i])) return 1;
    }
    if (NowNs() >= stop_ns) {
      stop_ns = INT64_MAX;
      if (SignalDaemon(SIGSTOP) == 0) {
        std::fprintf(stderr, "axl-pulse: no acceltraced to stop\n");
        return 1;
      }
    }
    if (NowNs() >= resume_ns) {
      resume_ns = INT64_MAX;
      SignalDaemon(SIGCONT);
    }
  }
  return 0;
}
