// SPDX-License-Identifier: Apache-2.0
//
// Finds what providers name on this machine: devices, tracepoints, libraries and values in sysfs.
#ifndef LIBTRACE_PROVIDER_MACHINE_H_
#define LIBTRACE_PROVIDER_MACHINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/provider/pmu.h"
#include "libtrace/provider/provider.h"
#include "libtrace/provider/tracefs.h"

namespace acceltrace::provider {

// The prefix of the kernel functions that implement system calls.
#if defined(__aarch64__)
inline constexpr char kSystemCallEntry[] = "__arm64_sys_";
#else
inline constexpr char kSystemCallEntry[] = "__x64_sys_";
#endif

// A PCI device, or a device without a bus (such as vgem) that has a DRM or accel node.
struct PciDevice {
  std::string address, driver;  // without a bus, driver is the device's own name
  bool pci = true;
  std::string folder;  // in sysfs
  uint32_t vendor = 0, device = 0, class_code = 0;
};

class Machine {
 public:
  // root is prepended to every path, for tests.
  explicit Machine(std::string root = "");

  const std::vector<PciDevice>& devices() const { return devices_; }
  uint32_t kernel() const { return kernel_; }  // major << 16 | minor
  void set_kernel(uint32_t kernel) { kernel_ = kernel; }

  // Returns an error without tracefs, permission or such a tracepoint.
  Result<TraceFormat> Format(const Tracepoint& tracepoint) const;

  // Returns an error if the value does not exist, is not a number, or if several files differ.
  Result<uint64_t> ReadValue(const PciDevice& device, const Value& value) const;

  // Returns files below the device's folder that match a path with *.
  std::vector<std::string> Files(const PciDevice& device, const std::string& path) const;
  // Returns the files of a counter that is not a perf event.
  std::vector<std::string> Files(const PciDevice& device, const Counter& counter) const;
  // Fails as FindPmuEvent() does.
  Result<PmuEvent> FindEvent(const Counter& counter) const;

  // Returns the path of the library, or an empty string if it is not found.
  std::string FindLibrary(const std::string& name) const;

  // Returns the sorted names of this kernel's system calls, or an error if it hides its symbols.
  Result<std::vector<std::string>> SystemCalls() const;

  bool Exists(const std::string& path) const;

 private:
  std::string root_;
  std::vector<PciDevice> devices_;
  uint32_t kernel_ = 0;
};

bool Matches(const Match& match, const PciDevice& device);

// Returns the names of the functions that an ELF library exports, or an error for any other file.
Result<std::vector<std::string>> FunctionsOf(const std::string& library);

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_MACHINE_H_
