// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/pci_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

extern "C" {
#include <pci/pci.h>
}

namespace acceltrace::cli {
namespace {

namespace fs = std::filesystem;

// The classes of the character devices of accelerator drivers.
constexpr const char* kNodeClasses[] = {"accel", "axl"};

std::string ReadLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

unsigned long ReadHex(const fs::path& path) {
  return std::strtoul(ReadLine(path).c_str(), nullptr, 16);
}

// Converts "8.0 GT/s PCIe" to a generation; 0 = not known.
int Generation(const std::string& speed) {
  const double gigatransfers = std::strtod(speed.c_str(), nullptr);
  constexpr double kSpeeds[] = {2.5, 5, 8, 16, 32, 64};
  for (size_t i = 0; i < std::size(kSpeeds); ++i) {
    if (gigatransfers == kSpeeds[i]) return static_cast<int>(i) + 1;
  }
  return 0;
}

std::string Link(const fs::path& device, const char* which) {
  const int generation = Generation(ReadLine(device / (std::string(which) + "_link_speed")));
  const int width = std::atoi(ReadLine(device / (std::string(which) + "_link_width")).c_str());
  if (generation == 0 || width <= 0 || width > 32) return "";
  return fmt::format("gen {} x{}", generation, width);
}

std::string Node(const fs::path& device) {
  std::error_code error;
  for (const char* node_class : kNodeClasses) {
    for (const auto& entry : fs::directory_iterator(device / node_class, error)) {
      const std::string name = entry.path().filename();
      return std::string(node_class) == "accel" ? "/dev/accel/" + name : "/dev/" + name;
    }
  }
  return "";
}

// By default, libpci ends the program on errors, and its lookups call what pci_init() would have
// set. Only names are needed here.
void Ignore(char*, ...) {}
[[noreturn]] void Die(char* message, ...) {
  std::fprintf(stderr, "acceltrace: libpci: %s\n", message);
  std::exit(1);
}

pci_access* OpenNames() {
  pci_access* names = pci_alloc();
  names->error = Die;
  names->warning = Ignore;
  names->debug = Ignore;
  return names;
}

}  // namespace

std::vector<PciAccelerator> ListAccelerators(const std::string& root) {
  std::vector<PciAccelerator> found;
  pci_access* ids = OpenNames();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root + "/bus/pci/devices", error)) {
    const fs::path& device = entry.path();
    const unsigned long class_code = ReadHex(device / "class") >> 8;
    PciAccelerator accelerator;
    accelerator.node = Node(device);
    if (class_code >> 8 != 0x12 && class_code != 0x0b40 && accelerator.node.empty()) continue;
    accelerator.address = device.filename();
    const int vendor = static_cast<int>(ReadHex(device / "vendor"));
    const int id = static_cast<int>(ReadHex(device / "device"));
    char name[256];
    const char* known =
        pci_lookup_name(ids, name, sizeof(name), PCI_LOOKUP_VENDOR | PCI_LOOKUP_DEVICE, vendor, id);
    accelerator.name = known != nullptr ? known : fmt::format("{:04x}:{:04x}", vendor, id);
    accelerator.driver = fs::read_symlink(device / "driver", error).filename();
    accelerator.link = Link(device, "current");
    accelerator.best = Link(device, "max");
    const std::string numa = ReadLine(device / "numa_node");
    if (!numa.empty()) accelerator.numa_node = std::atoi(numa.c_str());
    found.push_back(std::move(accelerator));
  }
  pci_free_name_list(ids);
  std::free(ids);  // pci_cleanup() would also free what pci_init() opens
  std::sort(found.begin(), found.end(),
            [](const PciAccelerator& a, const PciAccelerator& b) { return a.address < b.address; });
  return found;
}

}  // namespace acceltrace::cli
