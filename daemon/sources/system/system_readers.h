// SPDX-License-Identifier: Apache-2.0
//
// Quantities of the machine from /proc and /sys: what each file says, as readings.
#ifndef DAEMON_SOURCES_SYSTEM_SYSTEM_READERS_H_
#define DAEMON_SOURCES_SYSTEM_SYSTEM_READERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace acceltrace::daemon {

struct Reading {
  std::string object;  // cpu0, nvme0n1, 0000:00:04.0; empty = the machine
  std::string name;
  std::string unit = "count";
  uint64_t value = 0;
  bool total = true;    // since the machine's start; else as it is
  uint32_t device = 0;  // 1 + the accelerator that it is of
};
using Readings = std::vector<Reading>;

// The texts of files. What is not understood is passed over.
void ParsePressure(std::string_view text, const std::string& object, Readings* readings);
void ParseMeminfo(std::string_view text, Readings* readings);
void ParseVmstat(std::string_view text, Readings* readings);
// ticks_per_s: of the clock in which times are given.
void ParseStat(std::string_view text, uint64_t ticks_per_s, Readings* readings);
void ParseDiskstats(std::string_view text, Readings* readings);
void ParseNetDev(std::string_view text, Readings* readings);
// aer_dev_*: a line for each kind of error and one for their sum.
void ParseAer(std::string_view text, const std::string& object, const std::string& prefix,
              uint32_t device, Readings* readings);
// "16.0 GT/s PCIe" in MT/s; 0 if it is none.
uint64_t ParseLinkSpeed(std::string_view text);
// The path of the unified hierarchy in /proc/PID/cgroup, else that of the first one.
std::string ParseCgroup(std::string_view text);

// From a machine whose /proc and /sys lie in `root`.
void ReadPressure(const std::string& root, Readings* readings);
void ReadMemory(const std::string& root, Readings* readings);
void ReadCpus(const std::string& root, Readings* readings);
void ReadBlock(const std::string& root, Readings* readings);
void ReadNet(const std::string& root, Readings* readings);
// devices: number in the stream and PCI address. Their links and errors, and those of the ports
// above them.
void ReadPcie(const std::string& root, const std::vector<std::pair<uint32_t, std::string>>& devices,
              Readings* readings);
// The NUMA nodes of CPUs and accelerators.
void ReadNuma(const std::string& root, const std::vector<std::pair<uint32_t, std::string>>& devices,
              Readings* readings);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SYSTEM_SYSTEM_READERS_H_
