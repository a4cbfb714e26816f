// SPDX-License-Identifier: Apache-2.0
//
// What this machine has of what providers name: devices, tracepoints, libraries, values in sysfs.
#ifndef LIBTRACE_PROVIDER_MACHINE_H_
#define LIBTRACE_PROVIDER_MACHINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/provider/pmu.h"
#include "libtrace/provider/provider.h"
#include "libtrace/provider/tracefs.h"

namespace acceltrace::provider {

// What the kernel's functions are called that enter a system call, before its name.
#if defined(__aarch64__)
inline constexpr char kSystemCallEntry[] = "__arm64_sys_";
#else
inline constexpr char kSystemCallEntry[] = "__x64_sys_";
#endif

// Or one of no bus, by its own name (vgem), that has a node for graphics or computing.
struct PciDevice {
  std::string address, driver;  // of no bus: the driver's is the device's own name
  bool pci = true;
  std::string folder;  // in sysfs
  uint32_t vendor = 0, device = 0, class_code = 0;
};

class Machine {
 public:
  // root: before every path, for tests.
  explicit Machine(std::string root = "");

  const std::vector<PciDevice>& devices() const { return devices_; }
  uint32_t kernel() const { return kernel_; }  // major << 16 | minor
  void set_kernel(uint32_t kernel) { kernel_ = kernel; }

  // Errors: no tracefs, no permission, no such tracepoint.
  Result<TraceFormat> Format(const Tracepoint& tracepoint) const;

  // Errors: it is not there, is no number, or several differ.
  Result<uint64_t> ReadValue(const PciDevice& device, const Value& value) const;

  // Files below the device's folder that fit a path with *.
  std::vector<std::string> Files(const PciDevice& device, const std::string& path) const;
  // Those of a counter that is no perf event.
  std::vector<std::string> Files(const PciDevice& device, const Counter& counter) const;
  // Errors: as FindPmuEvent().
  Result<PmuEvent> FindEvent(const Counter& counter) const;

  // Where a library is; empty: nowhere.
  std::string FindLibrary(const std::string& name) const;

  // Names of the system calls that this kernel has, sorted. Errors: it hides its symbols.
  Result<std::vector<std::string>> SystemCalls() const;

  bool Exists(const std::string& path) const;

 private:
  std::string root_;
  std::vector<PciDevice> devices_;
  uint32_t kernel_ = 0;
};

bool Matches(const Match& match, const PciDevice& device);

// Names of the functions that an ELF library shows. Errors: it is none.
Result<std::vector<std::string>> FunctionsOf(const std::string& library);

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_MACHINE_H_
