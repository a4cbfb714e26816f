// SPDX-License-Identifier: Apache-2.0
//
// Reads quantities of the machine from /proc and /sys.
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
  bool total = true;    // since the machine's start; false = a current value
  uint32_t device = 0;  // 1 + the number of its accelerator, or 0
};
using Readings = std::vector<Reading>;

// These parse the texts of files. What is not understood is skipped.
void ParsePressure(std::string_view text, const std::string& object, Readings* readings);
void ParseMeminfo(std::string_view text, Readings* readings);
void ParseVmstat(std::string_view text, Readings* readings);
// `ticks_per_s` is the rate of the clock in which times are given.
void ParseStat(std::string_view text, uint64_t ticks_per_s, Readings* readings);
void ParseDiskstats(std::string_view text, Readings* readings);
void ParseNetDev(std::string_view text, Readings* readings);
// Parses aer_dev_*: a line for each kind of error, and one for their sum.
void ParseAer(std::string_view text, const std::string& object, const std::string& prefix,
              uint32_t device, Readings* readings);
// Parses a speed such as "16.0 GT/s PCIe" in MT/s; returns 0 if it is invalid.
uint64_t ParseLinkSpeed(std::string_view text);
// Returns the path of the unified hierarchy in /proc/PID/cgroup, otherwise that of the first
// hierarchy.
std::string ParseCgroup(std::string_view text);

// These read from a machine whose /proc and /sys are in `root`.
void ReadPressure(const std::string& root, Readings* readings);
void ReadMemory(const std::string& root, Readings* readings);
void ReadCpus(const std::string& root, Readings* readings);
void ReadBlock(const std::string& root, Readings* readings);
void ReadNet(const std::string& root, Readings* readings);
// `devices` are numbers in the stream and PCI addresses. Reads their links and errors, and those of
// the ports above them.
void ReadPcie(const std::string& root, const std::vector<std::pair<uint32_t, std::string>>& devices,
              Readings* readings);
// Reads the NUMA nodes of CPUs and accelerators.
void ReadNuma(const std::string& root, const std::vector<std::pair<uint32_t, std::string>>& devices,
              Readings* readings);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SYSTEM_SYSTEM_READERS_H_
