// SPDX-License-Identifier: Apache-2.0
//
// axl-pulse SECONDS JOBS_PER_S DEVICES [--stop-daemon FROM TO] [--reset AT DEVICE]: runs a small
// copy and a small vector op on each device repeatedly, evenly over the time, so that there are
// events everywhere to score the clocks on. Between FROM and TO (seconds) the guest's tracing
// daemon is stopped, so that it takes no clock samples; at AT a device's function is reset.
#include <dirent.h>
#include <signal.h>
#include <time.h>

#include <cerrno>
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

// Signals every process called acceltraced; returns their number.
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

// A function reset by an administrator; the device's state is lost.
bool Reset(int number) {
  const std::string path = "/sys/class/axl/axl" + std::to_string(number) + "/device/reset";
  std::ofstream file(path);
  file << 1 << std::flush;
  if (file) return true;
  std::fprintf(stderr, "axl-pulse: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
  return false;
}

struct Options {
  double seconds = 0, rate = 0;
  int devices = 0;
  double stop_s = -1, resume_s = -1;
  double reset_s = -1;
  int reset_device = 0;
};

bool Parse(int argc, char** argv, Options* options) {
  if (argc < 4) return false;
  options->seconds = std::atof(argv[1]), options->rate = std::atof(argv[2]);
  options->devices = std::atoi(argv[3]);
  for (int i = 4; i < argc; i += 3) {
    if (i + 2 >= argc) return false;
    if (std::strcmp(argv[i], "--stop-daemon") == 0) {
      options->stop_s = std::atof(argv[i + 1]), options->resume_s = std::atof(argv[i + 2]);
    } else if (std::strcmp(argv[i], "--reset") == 0) {
      options->reset_s = std::atof(argv[i + 1]), options->reset_device = std::atoi(argv[i + 2]);
    } else {
      return false;
    }
  }
  return options->rate > 0 && options->devices > 0 && options->reset_device < options->devices;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: axl-pulse SECONDS JOBS_PER_S DEVICES [--stop-daemon FROM TO] "
                 "[--reset AT DEVICE]\n");
    return 2;
  }
  std::vector<Device> devices(static_cast<size_t>(options.devices));
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!Open(static_cast<int>(i), &devices[i])) return 1;
  }
  const int64_t begin_ns = NowNs();
  const auto after = [&](double s) { return begin_ns + static_cast<int64_t>(s * 1e9); };
  // Each happens once at most.
  const auto due = [&](double* at_s) {
    if (*at_s < 0 || NowNs() < after(*at_s)) return false;
    *at_s = -1;
    return true;
  };
  for (int64_t beat = 0; NowNs() < after(options.seconds); ++beat) {
    SleepUntil(after(static_cast<double>(beat) / options.rate));
    for (size_t i = 0; i < devices.size(); ++i) {
      if (!Beat(static_cast<int>(i), devices[i])) return 1;
    }
    if (due(&options.stop_s) && SignalDaemon(SIGSTOP) == 0) {
      std::fprintf(stderr, "axl-pulse: no acceltraced to stop\n");
      return 1;
    }
    if (due(&options.resume_s)) SignalDaemon(SIGCONT);
    if (due(&options.reset_s)) {
      if (!Reset(options.reset_device)) return 1;
      Device* device = &devices[static_cast<size_t>(options.reset_device)];
      // The context is lost with everything in it; create a new one.
      if (!Good(axlSetDevice(options.reset_device), "axlSetDevice") ||
          !Good(axlDeviceReset(), "axlDeviceReset") || !Open(options.reset_device, device)) {
        return 1;
      }
    }
  }
  return 0;
}
