// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/system_sources.h"

#include <utility>

#include "daemon/sources/system/cgroup_source.h"
#include "daemon/sources/system/irq_source.h"
#include "daemon/sources/system/sampled_source.h"
#include "daemon/sources/system/sched_source.h"
#include "daemon/sources/system/system_readers.h"

namespace acceltrace::daemon {
namespace {

struct Sampled {
  SystemSource source;
  const char* name;
  void (*read)(const std::string& root, Readings* readings);
  const char* without;
};
constexpr Sampled kSampled[] = {
    {kSourcePressure, "pressure", ReadPressure,
     "this kernel has no /proc/pressure (CONFIG_PSI, or psi=1 when it is booted)"},
    {kSourceMemory, "memory", ReadMemory, "/proc/meminfo and /proc/vmstat cannot be read"},
    {kSourceCpu, "cpu", ReadCpus, "/proc/stat cannot be read"},
    {kSourceBlock, "block", ReadBlock, "no disk was ever used, or /proc/diskstats cannot be read"},
    {kSourceNet, "net", ReadNet, "no network interface was ever used"},
};
struct SampledOfDevices {
  SystemSource source;
  const char* name;
  void (*read)(const std::string& root,
               const std::vector<std::pair<uint32_t, std::string>>& devices, Readings* readings);
  const char* without;
};
constexpr SampledOfDevices kSampledOfDevices[] = {
    {kSourcePcie, "pcie", ReadPcie, "the recording has no PCIe device with a link in sysfs"},
    {kSourceNuma, "numa", ReadNuma, "this kernel does not report NUMA nodes"},
};

}  // namespace

std::vector<std::unique_ptr<Source>> StartSystemSources(const SystemOptions& options,
                                                        EventHandler* handler) {
  std::vector<std::unique_ptr<Source>> started;
  const auto start = [&](const char* name, std::unique_ptr<Source> source) {
    if (Status status = source->Start(); !status.ok()) {
      handler->OnProbe(name, false, status.message());
    } else {
      started.push_back(std::move(source));
    }
  };
  // Started before the scheduler source, whose tracepoints these would trigger.
  uint32_t first_counter = 1;
  const auto add = [&](const char* name, const char* without, SampledSource::Read read) {
    start(name,
          std::make_unique<SampledSource>(name, without, first_counter, std::move(read), handler));
    first_counter += SampledSource::kMaxCounters;
  };
  const auto sample = [&](const auto& sampled, SampledSource::Read read) {
    if (options.wanted & sampled.source) add(sampled.name, sampled.without, std::move(read));
  };
  for (const Sampled& sampled : kSampled) {
    sample(sampled, [&sampled](Readings* readings) { sampled.read("", readings); });
  }
  for (const SampledOfDevices& sampled : kSampledOfDevices) {
    sample(sampled, [&sampled, devices = options.devices](Readings* readings) {
      sampled.read("", devices, readings);
    });
  }
  if (options.provider_counters) {
    add("provider", "none of the files holds a number", options.provider_counters);
  }
  if (options.wanted & kSourceCgroup) {
    start("cgroup",
          std::make_unique<CgroupSource>(options.tracked_fd, options.tracked_changes, handler));
  }
  if (options.wanted & kSourceIrq) {
    IrqOptions irq = {options.system_wide, options.tracked_fd, options.devices};
    start("irq", std::make_unique<IrqSource>(std::move(irq), handler));
  }
  if (options.wanted & kSourceSched) {
    SchedOptions sched;
    sched.system_wide = options.system_wide;
    sched.tracked_fd = options.tracked_fd;
    sched.owner = options.owner;
    sched.since_ns = options.since_ns;
    start("sched", std::make_unique<SchedSource>(std::move(sched), handler));
  }
  return started;
}

}  // namespace acceltrace::daemon
