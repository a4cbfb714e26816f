// SPDX-License-Identifier: Apache-2.0
//
// Accelerators on the PCI bus, as sysfs and libpci know them.
#ifndef LIBTRACE_CLI_PCI_LIST_H_
#define LIBTRACE_CLI_PCI_LIST_H_

#include <string>
#include <vector>

namespace acceltrace::cli {

struct PciAccelerator {
  std::string address;     // 0000:00:04.0
  std::string name;        // vendor and device, as pci.ids has them, or the ids
  std::string driver;      // empty: none bound
  std::string node;        // character device, empty: none
  std::string link, best;  // gen 3 x4; empty: unknown
  int numa_node = -1;
};

// Processing accelerators (base class 0x12, co-processors 0x0b40) and whatever
// has an accelerator's device node. root: where sysfs is, for tests.
std::vector<PciAccelerator> ListAccelerators(const std::string& root = "/sys");

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_PCI_LIST_H_
