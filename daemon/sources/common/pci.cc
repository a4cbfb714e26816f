// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/common/pci.h"

extern "C" {
#include <pci/pci.h>
}

#include <setjmp.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>

namespace acceltrace::daemon {
namespace {

// Returns the upstream bridge, by the device's parent folder in sysfs; empty at the root.
std::string Upstream(const std::string& address) {
  char resolved[PATH_MAX];
  if (realpath(("/sys/bus/pci/devices/" + address).c_str(), resolved) == nullptr) return "";
  std::string path = resolved;
  path.resize(path.rfind('/'));
  const std::string parent = path.substr(path.rfind('/') + 1);
  unsigned domain, bus, slot, function;
  if (sscanf(parent.c_str(), "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4) return "";
  return parent;
}

int NumaNode(const std::string& address) {
  int node = -1;
  if (FILE* file = fopen(("/sys/bus/pci/devices/" + address + "/numa_node").c_str(), "re")) {
    if (fscanf(file, "%d", &node) != 1) node = -1;
    fclose(file);
  }
  return node;
}

// What libpci reports. Nothing here needs a destructor: libpci's error handler may not return, so
// it jumps out of the calls below.
struct Raw {
  int domain, bus, slot, function;
  u16 vendor, device, control, status;
  u32 link;
  bool has_link;
  char vendor_name[256], device_name[256];
};

thread_local jmp_buf on_error;

void Ignore(char*, ...) {}
[[noreturn]] void JumpOut(char*, ...) { longjmp(on_error, 1); }

bool ReadRaw(Raw* raw) {
  pci_access* const pci = pci_alloc();
  pci->method = PCI_ACCESS_SYS_BUS_PCI;
  pci->error = JumpOut;
  pci->warning = Ignore;
  pci->debug = Ignore;
  if (setjmp(on_error) != 0) return false;  // leaks pci, once for each device that vanished
  pci_init(pci);
  pci_dev* const device = pci_get_dev(pci, raw->domain, raw->bus, raw->slot, raw->function);
  pci_fill_info(device, PCI_FILL_IDENT | PCI_FILL_CAPS);
  raw->vendor = device->vendor_id;
  raw->device = device->device_id;
  const int flags = PCI_LOOKUP_NO_NUMBERS;
  char name[sizeof(raw->vendor_name)];
  if (const char* text = pci_lookup_name(pci, name, sizeof(name), flags | PCI_LOOKUP_VENDOR,
                                         raw->vendor, 0, 0, 0)) {
    snprintf(raw->vendor_name, sizeof(raw->vendor_name), "%s", text);
  }
  if (const char* text = pci_lookup_name(pci, name, sizeof(name), flags | PCI_LOOKUP_DEVICE,
                                         raw->vendor, raw->device, 0, 0)) {
    snprintf(raw->device_name, sizeof(raw->device_name), "%s", text);
  }
  if (const pci_cap* cap = pci_find_cap(device, PCI_CAP_ID_EXP, PCI_CAP_NORMAL)) {
    raw->control = pci_read_word(device, cap->addr + PCI_EXP_DEVCTL);
    raw->link = pci_read_long(device, cap->addr + PCI_EXP_LNKCAP);
    raw->status = pci_read_word(device, cap->addr + PCI_EXP_LNKSTA);
    raw->has_link = raw->control != 0xffff;
  }
  pci_free_dev(device);
  pci_cleanup(pci);
  return true;
}

}  // namespace

Result<proto::Pci> ReadPci(const std::string& address) {
  Raw raw = {};
  unsigned domain, bus, slot, function;
  if (sscanf(address.c_str(), "%x:%x:%x.%u", &domain, &bus, &slot, &function) != 4) {
    return Status::Error("'" + address + "' is not a PCI address");
  }
  raw.domain = static_cast<int>(domain);
  raw.bus = static_cast<int>(bus);
  raw.slot = static_cast<int>(slot);
  raw.function = static_cast<int>(function);
  if (access(("/sys/bus/pci/devices/" + address).c_str(), F_OK) != 0 || !ReadRaw(&raw)) {
    return Status::Error("no PCI device at " + address);
  }
  if (raw.vendor == 0xffff) {
    return Status::Error(address + ": config space reads all ones: the device is off the bus");
  }
  proto::Pci result;
  result.set_address(address);
  result.set_vendor_id(raw.vendor);
  result.set_device_id(raw.device);
  result.set_vendor_name(raw.vendor_name);
  result.set_device_name(raw.device_name);
  result.set_numa_node(NumaNode(address));
  result.set_upstream(Upstream(address));
  if (raw.has_link) {
    result.set_max_payload_bytes(128u << ((raw.control & PCI_EXP_DEVCTL_PAYLOAD) >> 5));
    result.set_max_read_request_bytes(128u << ((raw.control & PCI_EXP_DEVCTL_READRQ) >> 12));
    result.set_link_speed(raw.status & PCI_EXP_LNKSTA_SPEED);
    result.set_link_width((raw.status & PCI_EXP_LNKSTA_WIDTH) >> 4);
    result.set_link_speed_max(raw.link & PCI_EXP_LNKCAP_SPEED);
    result.set_link_width_max((raw.link & PCI_EXP_LNKCAP_WIDTH) >> 4);
  }
  return result;
}

}  // namespace acceltrace::daemon
