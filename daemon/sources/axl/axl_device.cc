// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/axl_device.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "daemon/base/permission.h"
#include "daemon/base/text_files.h"
#include "kmod/uapi/axl_counters.h"

namespace acceltrace::daemon {
namespace {

constexpr char kDevicePrefix[] = "axl";
constexpr uint32_t kMinLog2Records = 10;  // smaller rings are useless

template <typename T>
int Ioctl(int fd, unsigned long request, T* argument) {
  argument->size = sizeof(T);
  int result;
  do {
    result = ioctl(fd, request, argument);
  } while (result < 0 && errno == EINTR);
  return result;
}

Status IoctlError(const std::string& device, const char* what) {
  return Status::Error(device + ": " + what + ": " + strerror(errno));
}

// Tells who holds the device's trace ring, and how to free it. The driver itself does if it is
// configured to; otherwise it is a daemon, which has the device open.
std::string RingHolder(const std::string& device) {
  const std::string setting = "/sys/class/axl/" + device + "/trace_commands";
  if (FirstLine(setting) == "1") {
    return "by the driver, for its axl_cmd_* tracepoints; write 0 to " + setting + " first";
  }
  std::string holder;
  DIR* processes = opendir("/proc");
  while (const dirent* process = processes == nullptr ? nullptr : readdir(processes)) {
    const std::string folder = std::string("/proc/") + process->d_name;
    const long pid = std::strtol(process->d_name, nullptr, 10);
    if (pid <= 0 || pid == getpid() || FirstLine(folder + "/comm") != "acceltraced") continue;
    DIR* files = opendir((folder + "/fd").c_str());
    while (const dirent* file = files == nullptr ? nullptr : readdir(files)) {
      char target[64] = {};
      const std::string link = folder + "/fd/" + file->d_name;
      if (readlink(link.c_str(), target, sizeof(target) - 1) <= 0) continue;
      if (target == "/dev/" + device) holder = process->d_name;
    }
    if (files != nullptr) closedir(files);
  }
  if (processes != nullptr) closedir(processes);
  if (holder.empty()) return "by another tracer; stop that one first";
  return "by acceltraced, process " + holder +
         ": one recording at a time can have it, unless the service makes both; end that one first";
}

}  // namespace

std::vector<std::string> AxlDevice::List() {
  std::vector<std::pair<long, std::string>> found;
  if (DIR* dir = opendir("/dev")) {
    while (const dirent* entry = readdir(dir)) {
      const std::string name = entry->d_name;
      if (name.rfind(kDevicePrefix, 0) != 0) continue;
      const std::string number = name.substr(strlen(kDevicePrefix));
      if (number.empty() || number.size() > 6 ||
          number.find_first_not_of("0123456789") != std::string::npos) {
        continue;
      }
      found.emplace_back(std::strtol(number.c_str(), nullptr, 10), "/dev/" + name);
    }
    closedir(dir);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto& [number, path] : found) paths.push_back(std::move(path));
  return paths;
}

Result<std::shared_ptr<AxlDevice>> AxlDevice::Open(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) {
    const int error = errno;
    std::string hint;
    if (error == EACCES || error == EPERM) {
      hint = geteuid() != 0 ? "; run as root or join the device's group"
                            : "; a container needs the device to be given to it";
    }
    if (error == ENODEV || error == ENXIO) hint = "; the device is gone, see dmesg";
    return Status::Error("cannot open " + path + ": " + strerror(error) + hint);
  }
  axl_info info = {};
  if (Ioctl(fd.get(), AXL_IOCTL_INFO, &info) < 0) {
    if (errno == ENODEV) return Status::Error(name + " is gone from the bus; see dmesg");
    return Status::Error(path + " does not answer as an axl device (" + strerror(errno) +
                         "): load the axl.ko built with this acceltraced");
  }
  if (info.uapi_version != AXL_UAPI_VERSION) {
    return Status::Error(name + ": the loaded axl.ko speaks version " +
                         std::to_string(info.uapi_version) + " of its interface, acceltraced " +
                         std::to_string(AXL_UAPI_VERSION) +
                         ": load the axl.ko built with this acceltraced");
  }
  if (info.num_queues > AXL_MAX_QUEUES || info.num_contexts > AXL_MAX_CONTEXTS ||
      info.num_counters > AXL_MAX_COUNTERS || info.clock_bits == 0 || info.clock_bits > 64) {
    return Status::Error(name + ": the driver reports impossible limits; see dmesg");
  }
  info.pci_name[sizeof(info.pci_name) - 1] = 0;
  return std::shared_ptr<AxlDevice>(new AxlDevice(std::move(fd), name, info));
}

Result<std::vector<std::shared_ptr<AxlDevice>>> AxlDevice::OpenAll(
    const std::vector<std::string>& wanted) {
  const std::vector<std::string> paths = List();
  if (paths.empty()) {
    return Status::Error(
        "no accelerator: there is no /dev/axl*; load axl.ko (see dmesg if it is loaded), or "
        "record host events only with --no-device");
  }
  std::vector<std::shared_ptr<AxlDevice>> all;
  for (const std::string& path : paths) {
    auto device = Open(path);
    if (!device.ok()) return device.status();
    all.push_back(std::move(device).value());
  }
  if (wanted.empty()) return all;
  std::vector<std::shared_ptr<AxlDevice>> chosen;
  for (const std::string& want : wanted) {
    const auto match = std::find_if(all.begin(), all.end(), [&](const auto& device) {
      const std::string address = device->pci_address();
      return want == device->name() || want == "/dev/" + device->name() || want == address ||
             "0000:" + want == address;
    });
    if (match == all.end()) {
      std::string there;
      for (const auto& device : all)
        there += " " + device->name() + " (" + device->pci_address() + ")";
      return Status::Error("no accelerator '" + want + "'; present:" + there);
    }
    if (std::find(chosen.begin(), chosen.end(), *match) == chosen.end()) chosen.push_back(*match);
  }
  return chosen;
}

std::string AxlDevice::pci_address() const { return info_.pci_name; }

Status AxlDevice::ReadCounters(CounterSnapshot* snapshot) {
  return ReadCounters(std::min<uint32_t>(info_.num_counters, AXL_NUM_COUNTERS), snapshot);
}

Status AxlDevice::LatchClock(CounterSnapshot* latch) { return ReadCounters(0, latch); }

Status AxlDevice::ReadCounters(uint32_t count, CounterSnapshot* snapshot) {
  snapshot->values.assign(count, 0);
  axl_counters_read read = {};
  read.values = reinterpret_cast<uintptr_t>(snapshot->values.data());
  read.count = count;
  if (Ioctl(fd_.get(), AXL_IOCTL_COUNTERS, &read) < 0) return IoctlError(name_, "reading counters");
  snapshot->ticks = read.device_ticks;
  snapshot->host_before_ns = static_cast<int64_t>(read.host_before_ns);
  snapshot->host_after_ns = static_cast<int64_t>(read.host_after_ns);
  return {};
}

Status AxlDevice::SampleClock(ClockSample* sample) {
  axl_clock_sample read = {};
  if (Ioctl(fd_.get(), AXL_IOCTL_CLOCK_SAMPLE, &read) < 0) {
    return IoctlError(name_, "sampling the clock");
  }
  *sample = {};
  sample->host_before_ns = static_cast<int64_t>(read.host_before_ns);
  sample->host_after_ns = static_cast<int64_t>(read.host_after_ns);
  sample->device_ticks = read.device_ticks;
  sample->tsc_before = read.tsc_before;
  sample->tsc_after = read.tsc_after;
  sample->has_ptm = (read.flags & AXL_CLOCK_PTM) != 0;
  if (!sample->has_ptm) return {};
  sample->ptm_device_ticks = read.ptm_device_ticks;
  sample->ptm_tsc = read.ptm_tsc;
  sample->ptm_host_ns = static_cast<int64_t>(read.ptm_host_ns);
  return {};
}

Result<Mapping> AxlDevice::OpenTraceRing(uint32_t max_log2_records, uint64_t counter_period_ns) {
  axl_trace_open open = {};
  int result = -1;
  for (uint32_t log2 = max_log2_records; result < 0 && log2 >= kMinLog2Records; --log2) {
    open = {};
    open.ring = AXL_TRACE_RING_DEVICE;
    open.log2_records = log2;
    // A job's record includes the time of its doorbell.
    open.classes = AXL_REC_CLASSES_ALL & ~AXL_REC_CLASS(AXL_REC_DOORBELL);
    open.watermark = (1u << log2) / 4;
    open.sample_period_ns = counter_period_ns;
    result = Ioctl(fd_.get(), AXL_IOCTL_TRACE_OPEN, &open);
    if (result < 0 && errno != ENOMEM && errno != EOPNOTSUPP) break;
  }
  if (result < 0) {
    switch (errno) {
      case EBUSY:
        return Status::Error(name_ + ": its trace ring is held " + RingHolder(name_));
      case EPERM:
        return Status::Error(name_ + ": no permission to open the trace ring; " +
                             HowToBeAllowed("CAP_PERFMON"));
      default:
        return IoctlError(name_, "opening the trace ring");
    }
  }
  void* address = mmap(nullptr, open.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(),
                       static_cast<off_t>(open.mmap_offset));
  if (address == MAP_FAILED) {
    Status status = IoctlError(name_, "mapping the trace ring");
    CloseTraceRing();
    return status;
  }
  return Mapping(address, open.map_bytes);
}

void AxlDevice::CloseTraceRing() {
  axl_trace_close close = {};
  (void)Ioctl(fd_.get(), AXL_IOCTL_TRACE_CLOSE, &close);
}

Result<AxlDevice::DriverRing> AxlDevice::OpenDriverRing(uint32_t max_log2_records) {
  DriverRing ring;
  ring.fd = UniqueFd(open(("/dev/" + name_).c_str(), O_RDWR | O_CLOEXEC));
  if (!ring.fd.valid()) return IoctlError(name_, "opening it for the driver's ring");
  axl_trace_open open = {};
  int result = -1;
  for (uint32_t log2 = max_log2_records; result < 0 && log2 >= kMinLog2Records; --log2) {
    open = {};
    open.ring = AXL_TRACE_RING_DRIVER;
    open.log2_records = log2;
    open.watermark = (1u << log2) / 4;
    result = Ioctl(ring.fd.get(), AXL_IOCTL_TRACE_OPEN, &open);
    if (result < 0 && errno != ENOMEM) break;
  }
  if (result < 0) return IoctlError(name_, "opening the driver's ring");
  void* address = mmap(nullptr, open.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd.get(),
                       static_cast<off_t>(open.mmap_offset));
  if (address == MAP_FAILED) return IoctlError(name_, "mapping the driver's ring");
  ring.map = Mapping(address, open.map_bytes);
  const auto* header = static_cast<const axl_trace_header*>(address);
  ring.stamp_khz = __atomic_load_n(&header->stamp_khz, __ATOMIC_RELAXED);
  ring.job_ns = open.job_ps / 1e3;
  ring.wait_ns = open.wait_ps / 1e3;
  return ring;
}

std::vector<DeviceClient> AxlDevice::Clients() {
  constexpr size_t kMost = 65536;
  std::vector<DeviceClient> found;
  axl_client rows[AXL_MAX_CLIENTS];
  axl_clients ask = {};
  do {
    ask.clients = reinterpret_cast<uintptr_t>(rows);
    ask.count = AXL_MAX_CLIENTS;
    if (Ioctl(fd_.get(), AXL_IOCTL_CLIENTS, &ask) < 0) break;
    const uint32_t count = std::min<uint32_t>(ask.count, AXL_MAX_CLIENTS);
    for (uint32_t i = 0; i < count; ++i) found.push_back({rows[i].client, rows[i].pid});
    if (count > 0) ask.after = rows[count - 1].file;
  } while (ask.count == AXL_MAX_CLIENTS && found.size() < kMost);
  return found;
}

void AxlDevice::TraceJobsInFlight() {
  axl_jobs_trace jobs = {};
  (void)Ioctl(fd_.get(), AXL_IOCTL_JOBS_TRACE, &jobs);
}

}  // namespace acceltrace::daemon
