// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/host_waits.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

// A folder like /proc, removed by the destructor.
class Proc {
 public:
  Proc() {
    std::string name =
        std::filesystem::temp_directory_path() / ("host-waits-" + std::string(6, 'X'));
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Proc() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  void Put(const std::string& file, const std::string& text) const {
    std::ofstream(path_ + "/" + file) << text;
  }

 private:
  std::string path_;
};

std::string Interrupts(int root, int share) {
  return "           CPU0       CPU1\n"
         "  1:          7          0   IO-APIC   1-edge      i8042\n" +
         (" 25:          " + std::to_string(root) +
          "          2   PCI-MSI 32769-edge      virtio1-requests\n") +
         (" 26:          0          " + std::to_string(share) +
          "   PCI-MSIX-0000:00:04.0    1-edge      virtio2-requests\n") +
         " 27:         90         90   PCI-MSI 49153-edge      virtio0-input.0\n"
         "NMI:          3          3   Non-maskable interrupts\n";
}

TEST_CASE("answers of the host since the beginning are counted") {
  Proc proc;
  proc.Put("cmdline", "console=ttyS0 acceltrace.icount tsc_early_khz=1000000\n");
  proc.Put("interrupts", Interrupts(40, 1));
  HostWaits waits(nullptr, proc.path());
  CHECK(waits.Applies());
  REQUIRE(waits.Start().ok());
  CHECK(waits.Hops().at(0).in == 0);
  proc.Put("interrupts", Interrupts(42, 4));
  const Hop hop = waits.Hops().at(0);
  CHECK(hop.name == "host-file-waits");
  CHECK(hop.in == 5);
  CHECK(hop.out == 5);
}

TEST_CASE("a machine that says nothing of itself is no such guest") {
  Proc proc;
  proc.Put("cmdline", "console=ttyS0 acceltrace.icount2\n");
  CHECK_FALSE(HostWaits(nullptr, proc.path()).Applies());
  CHECK_FALSE(HostWaits(nullptr, proc.path() + "/none").Applies());
}

}  // namespace
}  // namespace acceltrace::daemon
