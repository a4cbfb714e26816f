// SPDX-License-Identifier: Apache-2.0
//
// Lists the accelerators on the PCI bus, using sysfs and libpci.
#ifndef LIBTRACE_CLI_PCI_LIST_H_
#define LIBTRACE_CLI_PCI_LIST_H_

#include <string>
#include <vector>

namespace acceltrace::cli {

struct PciAccelerator {
  std::string address;     // 0000:00:04.0
  std::string name;        // vendor and device from pci.ids, or the ids
  std::string driver;      // empty = none is bound
  std::string node;        // character device, empty = none
  std::string link, best;  // such as gen 3 x4; empty = not known
  int numa_node = -1;
};

// Returns processing accelerators (base class 0x12, co-processors 0x0b40) and all devices with the
// device node of an accelerator. `root` is the place of sysfs, for tests.
std::vector<PciAccelerator> ListAccelerators(const std::string& root = "/sys");

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_PCI_LIST_H_
