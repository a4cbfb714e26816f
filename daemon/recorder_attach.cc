// SPDX-License-Identifier: Apache-2.0
//
// The sources of a recording's events.
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "daemon/bpf/records.h"
#include "daemon/recorder.h"
#include "daemon/sources/axl/axl_devices.h"
#include "daemon/sources/bpf/bpf_sources.h"
#include "daemon/sources/common/pci.h"
#include "daemon/sources/provider/provider_devices.h"
#include "daemon/sources/system/host_waits.h"
#include "daemon/sources/system/system_sources.h"

namespace acceltrace::daemon {
namespace {

// After those of built-in devices.
constexpr uint32_t kFirstProviderDevice = ACT_MAX_DEVICES;

// Where the loader searches in addition to what a program names (ld.so.conf).
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

// Copies of the API library that a program is likely to use: those beside this program, and in the
// folders of the loader. Others are found when a recorded process has them mapped.
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

// Events from shared memory have no stacks.
void ChooseProbes(const RecordOptions& options, BpfOptions* bpf) {
  bpf->stacks = options.stacks;
  bpf->usdt = options.probes.usdt || (options.probes.api && options.stacks);
  bpf->rings = options.probes.api && !bpf->usdt;
}

uint32_t MaskOf(const std::vector<std::shared_ptr<TracedDevice>>& devices) {
  uint32_t mask = 0;
  for (const auto& device : devices) {
    if (device->number() < ACT_MAX_DEVICES) mask |= 1u << device->number();
  }
  return mask;
}

}  // namespace

Status Recorder::Attach(const RecordOptions& options) {
  std::vector<std::shared_ptr<TracedDevice>> devices;
  ProviderDevices provided;
  provided.others = options.devices;
  if (!options.no_device && !options.devices.empty()) {
    // The service must not use an ordinary user's provider files.
    const auto folders = provider::ProviderFolders(options.own_process);
    auto found = FindProviderDevices(options.devices, provider::LoadProviders(folders),
                                     provider::Machine(), kFirstProviderDevice);
    if (!found.ok()) return found.status();
    provided = std::move(found).value();
  }
  if (!options.no_device &&
      ((provided.devices.empty() && provided.functions.empty()) || !provided.others.empty())) {
    auto opened = OpenAxlDevices(provided.others);
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
    bpf.usdt = bpf.rings = false;  // no program calls that library for these devices
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
  // Even without such programs, the process tree must be followed, unless everything is recorded
  // anyway.
  std::vector<std::unique_ptr<Source>> traced;
  if (bpf.usdt || bpf.rings || bpf.driver || !bpf.roles.empty() || !bpf.functions.empty() ||
      !options.system_wide) {
    auto started = StartTracer(options, std::move(bpf));
    if (!started.ok()) return started.status();
    traced = std::move(started).value();
  }
  // Started first, because loading programs takes time in which the rings of devices would fill;
  // but it is stopped last.
  std::vector<std::unique_ptr<Source>> system = StartSystem(options, provided);
  DescribeProvided(provided);
  for (const auto& device : devices) {
    if (Status status = AttachDevice(device.get(), options); !status.ok()) return status;
  }
  for (auto& source : system) Keep(std::move(source));
  if (auto waits = std::make_unique<HostWaits>(&session_); waits->Applies()) {
    if (Status status = waits->Start(); !status.ok()) return status;
    Keep(std::move(waits));
  }
  for (auto& source : traced) Keep(std::move(source));
  return {};
}

Result<std::vector<std::unique_ptr<Source>>> Recorder::StartTracer(const RecordOptions& options,
                                                                   BpfOptions bpf) {
  tracer_ = std::make_shared<Tracer>(std::move(bpf));
  if (Status status = tracer_->Load(); !status.ok()) return status;
  tracked_ = std::make_unique<TrackedProcesses>(tracer_, &session_);
  if (Status status = tracked_->Open(); !status.ok()) return status;
  const bool jobs = tracer_->options().driver && !options.probes.tracepoints;
  if (jobs && OpenDriverRings()) tracer_->LeaveJobs();
  auto sources = MakeBpfSources(tracer_, tracked_.get(), &session_);
  for (const auto& source : sources) {
    if (Status status = source->Start(); !status.ok()) return status;
  }
  return sources;
}

// Unavailable sources are omitted, and are reported as probes.
std::vector<std::unique_ptr<Source>> Recorder::StartSystem(const RecordOptions& options,
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
  if (tracked_ != nullptr) {
    system.tracked_fd = tracked_->map_fd();
    system.tracked_changes = [this] { return tracked_->changes(); };
  }
  for (const auto& device : devices_) {
    system.devices.emplace_back(device->number(), device->pci_address());
  }
  for (const ProviderDevice& device : provided.devices) {
    if (device.pci) system.devices.emplace_back(device.description.device(), device.address);
  }
  system.since_ns = [this](uint32_t pid) {
    return std::max(start_ns_, tracked_ == nullptr ? 0 : tracked_->since_ns(pid));
  };
  return StartSystemSources(system, &session_);
}

Status Recorder::AttachDevice(TracedDevice* device, const RecordOptions& options) {
  proto::Device description = device->Describe();
  if (auto pci = ReadPci(device->pci_address()); pci.ok()) {
    *description.mutable_pci() = std::move(pci).value();
  } else {
    warnings_.push_back(pci.message());
  }
  session_.OnDevice(description);
  if (options.probes.clock || options.probes.counters) {
    auto source =
        device->MakeSampleSource(options.probes.clock, options.probes.counters, &session_);
    if (Status status = source->Start(); !status.ok()) return status;
    Keep(std::move(source));
  }
  if (options.probes.device) {
    const uint64_t period_ns = options.probes.counters ? CounterPeriodNs(options) : 0;
    auto source = device->MakeRecordSource(period_ns, tracked_.get(), &session_);
    if (Status status = source->Start(); !status.ok()) return status;
    Keep(std::move(source));
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

// Opens all of them or none, since a BPF program receives events of all devices.
bool Recorder::OpenDriverRings() {
  std::vector<std::unique_ptr<Source>> sources;
  for (const auto& device : devices_) {
    sources.push_back(device->MakeJobSource(tracked_.get(), &session_));
    if (!sources.back()->Start().ok()) return false;
  }
  for (auto& source : sources) Keep(std::move(source));
  return true;
}

}  // namespace acceltrace::daemon
