// SPDX-License-Identifier: Apache-2.0
//
// Where a recording's events come from.
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "daemon/bpf/records.h"
#include "daemon/recorder.h"
#include "daemon/sources/axl_device.h"
#include "daemon/sources/device_description.h"
#include "daemon/sources/device_source.h"
#include "daemon/sources/driver_source.h"
#include "daemon/sources/host_waits.h"
#include "daemon/sources/pci.h"
#include "daemon/sources/provider_devices.h"
#include "daemon/sources/sample_source.h"
#include "daemon/sources/system_sources.h"

namespace acceltrace::daemon {
namespace {

// Behind those of built-in devices.
constexpr uint32_t kFirstProviderDevice = ACT_MAX_DEVICES;

// Where the loader looks besides what a program names (ld.so.conf).
std::vector<std::string> LoaderFolders() {
  std::vector<std::string> files = {"/etc/ld.so.conf"}, folders;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/etc/ld.so.conf.d", error), end; !error && at != end;
       at.increment(error)) {
    files.push_back(at->path());
  }
  for (const std::string& file : files) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      line.erase(line.find_last_not_of(" \t/") + 1);
      if (line.starts_with('/')) folders.push_back(line);
    }
  }
  folders.insert(folders.end(), {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu",
                                 "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"});
  return folders;
}

// Copies of the API library that a program is likely to run: beside this one, and in the folders of
// the loader. Others are found when a recorded process has them mapped.
std::vector<std::string> DefaultLibraries() {
  constexpr size_t kMost = 16;
  std::vector<std::string> folders = LoaderFolders(), found;
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length > 0) {
    const std::string self(path, static_cast<size_t>(length));
    folders.insert(folders.begin(), self.substr(0, self.rfind('/')) + "/../lib");
  }
  for (const std::string& folder : folders) {
    for (const char* name : {"/libaxl.so", "/libaxl.so.0"}) {
      if (realpath((folder + name).c_str(), path) == nullptr || found.size() >= kMost) continue;
      if (std::find(found.begin(), found.end(), path) == found.end()) found.emplace_back(path);
    }
  }
  return found;
}

// What comes by shared memory has no stack.
void ChooseProbes(const RecordOptions& options, BpfOptions* bpf) {
  bpf->stacks = options.stacks;
  bpf->usdt = options.probes.usdt || (options.probes.api && options.stacks);
  bpf->rings = options.probes.api && !bpf->usdt;
}

uint32_t MaskOf(const std::vector<std::shared_ptr<AxlDevice>>& devices) {
  uint32_t mask = 0;
  for (const auto& device : devices) {
    if (device->number() < ACT_MAX_DEVICES) mask |= 1u << device->number();
  }
  return mask;
}

}  // namespace

Status Recorder::Attach(const RecordOptions& options) {
  std::vector<std::shared_ptr<AxlDevice>> devices;
  ProviderDevices provided;
  provided.others = options.devices;
  if (!options.no_device && !options.devices.empty()) {
    // An ordinary user's files are not for the service to act on.
    const auto folders = provider::ProviderFolders(options.own_process);
    auto found = FindProviderDevices(options.devices, provider::LoadProviders(folders),
                                     provider::Machine(), kFirstProviderDevice);
    if (!found.ok()) return found.status();
    provided = std::move(found).value();
  }
  if (!options.no_device &&
      ((provided.devices.empty() && provided.functions.empty()) || !provided.others.empty())) {
    auto opened = AxlDevice::OpenAll(provided.others);
    if (!opened.ok()) return opened.status();
    devices = std::move(opened).value();
  }
  devices_ = devices;
  BpfOptions bpf;
  ChooseProbes(options, &bpf);
  bpf.driver = (options.probes.driver || options.probes.tracepoints) && !devices.empty();
  bpf.system_wide = options.system_wide;
  bpf.light = options.light;
  bpf.libraries = options.libraries;
  if (devices.empty() && !options.no_device && bpf.libraries.empty()) {
    bpf.usdt = bpf.rings = false;  // nothing calls that library for these devices
  }
  for (const ProviderDevice& device : provided.devices) {
    bpf.roles.insert(bpf.roles.end(), device.roles.begin(), device.roles.end());
  }
  bpf.functions = provided.functions;
  for (const std::string& lack : provided.lacks) warnings_.push_back(lack);
  bpf.owner = options.owner;
  if (!devices.empty()) bpf.device_mask = MaskOf(devices);
  for (const std::string& library : bpf.libraries) {
    if (access(library.c_str(), R_OK) != 0) {
      return Status::Error("cannot read the API library " + library + " (--libaxl)");
    }
  }
  if ((bpf.usdt || bpf.rings) && bpf.libraries.empty()) {
    bpf.libraries = DefaultLibraries();
    if (bpf.libraries.empty()) {
      session_.OnProbe("usdt:libaxl", false, "libaxl.so not found; give its path with --libaxl");
    }
  }
  if (bpf.stacks && !bpf.usdt && bpf.functions.empty()) {
    return Status::Error(
        "--stacks: no API calls are recorded, so there is nothing that has a stack; --probes must "
        "have api or usdt, or a provider name functions");
  }
  if (bpf.driver) bpf.jobs = options.probes.tracepoints || !OpenDriverRings();
  // Without programs to run there is still the process tree to follow, unless
  // everything is recorded anyway.
  if (bpf.usdt || bpf.rings || bpf.driver || !bpf.roles.empty() || !bpf.functions.empty() ||
      !options.system_wide) {
    auto source = std::make_unique<BpfSource>(std::move(bpf), &session_);
    if (Status status = source->Start(); !status.ok()) return status;
    WakeOn(source->wake_fd(), EPOLLIN | EPOLLET, urgent_fd_.get());
    WakeOn(source->provider_wake_fd(), EPOLLIN | EPOLLET, -1);
    fills_.push_back([rings = source.get()] { return rings->fill_permille(); });
    bpf_ = std::move(source);
  }
  // First: to load programs takes time, in which devices' rings would fill. But it stops last.
  std::vector<StartedSource> system = StartSystem(options, provided);
  DescribeProvided(provided);
  for (const auto& device : devices) {
    if (Status status = AttachDevice(device, options); !status.ok()) return status;
  }
  for (StartedSource& started : system) {
    if (started.wake_fd >= 0) WakeOn(started.wake_fd, EPOLLIN | EPOLLET, urgent_fd_.get());
    sources_.push_back(std::move(started.source));
  }
  if (auto waits = std::make_unique<HostWaits>(&session_); waits->Applies()) {
    if (Status status = waits->Start(); !status.ok()) return status;
    sources_.push_back(std::move(waits));
  }
  return {};
}

// Whoever cannot be had is missing, and says so among the probes.
std::vector<StartedSource> Recorder::StartSystem(const RecordOptions& options,
                                                 const ProviderDevices& provided) {
  SystemOptions system;
  if (!provided.counters.empty()) {
    auto counters = std::make_shared<ProviderCounters>(provided.counters, &warnings_);
    if (!counters->empty()) {
      system.provider_counters = [counters](Readings* readings) { counters->Read(readings); };
    }
  }
  if (options.sources == 0 && !system.provider_counters) return {};
  system.wanted = options.sources;
  system.system_wide = options.system_wide;
  system.owner = options.owner;
  if (bpf_ != nullptr) {
    system.tracked_fd = bpf_->tracked_fd();
    system.tracked_changes = [this] { return bpf_->tracked_changes(); };
  }
  for (const auto& device : devices_) {
    system.devices.emplace_back(device->number(), device->pci_address());
  }
  for (const ProviderDevice& device : provided.devices) {
    if (device.pci) system.devices.emplace_back(device.description.device(), device.address);
  }
  system.since_ns = [this](uint32_t pid) {
    return std::max(start_ns_, bpf_ == nullptr ? 0 : bpf_->since_ns(pid));
  };
  return StartSystemSources(system, &session_);
}

Status Recorder::AttachDevice(const std::shared_ptr<AxlDevice>& device,
                              const RecordOptions& options) {
  proto::Device description = DescribeDevice(device->info());
  if (auto pci = ReadPci(device->pci_address()); pci.ok()) {
    *description.mutable_pci() = std::move(pci).value();
  } else {
    warnings_.push_back(pci.message());
  }
  session_.OnDevice(description);
  if (options.probes.clock || options.probes.counters) {
    auto source = std::make_unique<SampleSource>(device, options.probes.clock,
                                                 options.probes.counters, &session_);
    if (Status status = source->Start(); !status.ok()) return status;
    sources_.push_back(std::move(source));
  }
  if (options.probes.device) {
    const uint64_t period_ns = options.probes.counters ? CounterPeriodNs(options) : 0;
    const DeviceSource::Filter wanted = [bpf = bpf_.get()](uint32_t number,
                                                           const axl_record& record) {
      return bpf == nullptr || bpf->Wanted(number, record);
    };
    auto source = std::make_unique<DeviceSource>(device, period_ns, wanted, &session_);
    if (Status status = source->Start(); !status.ok()) return status;
    WakeOn(source->wake_fd(), EPOLLIN, watermark_fd_.get());
    fills_.push_back([ring = source.get()] { return ring->fill_permille(); });
    sources_.push_back(std::move(source));
  }
  return {};
}

void Recorder::DescribeProvided(const ProviderDevices& provided) {
  warnings_.insert(warnings_.end(), provided.warnings.begin(), provided.warnings.end());
  for (const ProviderDevice& device : provided.devices) {
    proto::Device description = device.description;
    if (!device.pci) {
      description.mutable_pci()->set_address(device.address);
    } else if (auto pci = ReadPci(device.address); pci.ok()) {
      *description.mutable_pci() = std::move(pci).value();
    } else {
      warnings_.push_back(pci.message());
    }
    for (const std::string& lack : device.lacks) {
      warnings_.push_back(description.name() + ": " + lack);
    }
    session_.OnDevice(description);
  }
}

// All of them, or none: a BPF program hears of every device.
bool Recorder::OpenDriverRings() {
  std::vector<std::unique_ptr<DriverSource>> sources;
  for (const auto& device : devices_) {
    const uint32_t number = device->number();
    DriverSource::Owner owner;
    owner.wanted = [this](uint32_t client) {
      return bpf_ == nullptr || bpf_->WantedClient(client);
    };
    owner.used = [this, number](uint32_t context, uint32_t pid, uint64_t correlation) {
      if (bpf_ != nullptr) bpf_->NoteJob(number, context, pid, correlation);
    };
    auto source = std::make_unique<DriverSource>(device, std::move(owner), &session_);
    if (!source->Start().ok()) return false;
    sources.push_back(std::move(source));
  }
  for (auto& source : sources) {
    WakeOn(source->wake_fd(), EPOLLIN, watermark_fd_.get());
    fills_.push_back([ring = source.get()] { return ring->fill_permille(); });
    sources_.push_back(std::move(source));
  }
  return true;
}

}  // namespace acceltrace::daemon
