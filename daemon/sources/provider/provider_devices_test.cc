// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider/provider_devices.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

namespace fs = std::filesystem;

constexpr char kProvider[] =
    "[provider]\nformat = 1\nname = disk\nabout = disks\n[match]\ndriver = disks\n"
    "[value instance]\nentry = unit/unit#\n[value block]\nfile = unit/unit*/size\n"
    "[tracepoint s:a]\nrole = submit\nwhere = ctl == instance\nwhere = dev != address\nqueue = q\n"
    "job = id[4:2]\nopcode = op\nbytes = len + 1 * block\nbytes-opcodes = 1 200\n"
    "[tracepoint s:b]\nrole = complete\nqueue = q\njob = id[4:2]\n"
    "[tracepoint s:c]\nrole = start\njob = id[4:2]\n[opcodes]\n1 = write\n";
constexpr char kFormat[] =
    "ID: 7\n\tfield:int ctl;\toffset:8;\tsize:4;\n\tfield:u16 q;\toffset:12;\tsize:2;\n"
    "\tfield:u8 id[8];\toffset:16;\tsize:8;\n\tfield:u8 op;\toffset:24;\tsize:1;\n"
    "\tfield:u64 len;\toffset:32;\tsize:8;\n\tfield:__data_loc char[] dev;\toffset:40;\tsize:4;\n";

// A machine with a device at 0000:00:05.0, whose driver is `disks` by default.
class World {
 public:
  World() : top_(fs::temp_directory_path() / ("provided-" + std::to_string(getpid()))) {
    fs::remove_all(top_);
    Add("0000:00:05.0", "disks", 3);
    Write("sys/kernel/tracing/events/s/a/format", kFormat);
    Write("sys/kernel/tracing/events/s/b/format", kFormat);
    auto parsed = provider::Parse(kProvider, "disk.provider");
    INFO(parsed.message());
    REQUIRE(parsed.ok());
    catalogue_.providers.push_back(std::move(parsed).value());
  }
  ~World() { fs::remove_all(top_); }

  void Add(const std::string& address, const std::string& driver, int unit) const {
    const std::string folder = "sys/bus/pci/devices/" + address;
    Write(folder + "/class", "0x010802\n");
    Write(folder + "/unit/unit" + std::to_string(unit) + "/size", "512\n");
    Write("drivers/" + driver + "/x", "");
    fs::create_symlink("../../../../../drivers/" + driver, top_ / folder / "driver");
  }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((top_ / path).parent_path());
    std::ofstream(top_ / path) << text;
  }
  void Remove(const std::string& path) const { fs::remove_all(top_ / path); }

  Result<ProviderDevices> Find(const std::vector<std::string>& names) const {
    return FindProviderDevices(names, catalogue_, provider::Machine(top_), 16);
  }
  provider::Catalogue& catalogue() { return catalogue_; }

 private:
  fs::path top_;
  provider::Catalogue catalogue_;
};

TEST_CASE("A device is prepared as its provider says") {
  const World world;
  world.Add("0000:00:06.0", "disks", 4);
  const auto found = world.Find({"00:05.0", "disk3", "axl0"});
  INFO(found.message());
  REQUIRE(found.ok());
  CHECK(found->others == std::vector<std::string>{"axl0"});
  REQUIRE(found->devices.size() == 1);  // once, with whatever names
  const ProviderDevice& device = found->devices[0];
  CHECK(device.description.name() == "disk3");
  CHECK(device.description.device() == 16);
  CHECK(device.description.opcodes(0).name() == "write");
  REQUIRE(device.roles.size() == 2);
  CHECK(device.lacks.size() == 1);  // role start: no such tracepoint
  const RoleConfig& submit = device.roles[0].config;
  CHECK(device.roles[0].name == "a");
  CHECK(device.roles[0].id == 7);
  CHECK(device.roles[0].filter == "ctl == 3");  // conditions on texts are not included
  CHECK(device.roles[1].filter.empty());
  CHECK(submit.role == RoleConfig::kSubmit);
  CHECK(device.roles[1].config.role == RoleConfig::kComplete);
  CHECK(submit.where.size() == 2);
  CHECK(submit.where[0].number == 3);
  CHECK(submit.where[0].place.mask == 0xffffffff);
  CHECK(!submit.where[0].unequal);
  CHECK(submit.where[1].unequal);
  CHECK(submit.where[1].place.kind == FieldPlace::kTextElsewhere);
  CHECK(submit.where[1].text == "0000:00:05.0");
  CHECK(submit.job.offset == 20);
  CHECK(submit.job.mask == 0xffff);
  CHECK(submit.bytes.mask == ~uint64_t{0});
  CHECK(submit.bytes_add == 1);
  CHECK(submit.bytes_times == 512);
  CHECK(submit.bytes_opcodes[0] == 2);
  CHECK(submit.bytes_opcodes[3] == uint64_t{1} << (200 - 192));
  CHECK(submit.status.mask == 0);
}

TEST_CASE("Where a device is the only one of its kind the kernel need not compare") {
  const World world;
  const auto found = world.Find({"disk3"});
  REQUIRE(found.ok());
  CHECK(found->devices[0].roles[0].filter.empty());
  CHECK(found->devices[0].roles[0].config.where.size() == 2);
}

TEST_CASE("What cannot be known is left out, and said") {
  const World world;
  world.Write("sys/bus/pci/devices/0000:00:05.0/unit/unit3b/size", "4096\n");
  const auto found = world.Find({"0000:00:05.0"});
  REQUIRE(found.ok());
  REQUIRE(found->devices.size() == 1);
  CHECK(found->devices[0].roles[0].config.bytes.mask == 0);
  REQUIRE(found->devices[0].lacks.size() == 2);
  CHECK(found->devices[0].lacks[0].find("bytes are not known: several") == 0);
}

TEST_CASE("Counters are those of each provider that fits, and enough for a device") {
  World world;
  constexpr char kBus[] =
      "[provider]\nformat = 1\nname = bus\nabout = any device\n[match]\ndevice = *:*\n"
      "[counter errors]\nfile = errors\nunit = errors\n"
      "[counter clock]\ndebugfs = gpu/address/clk*\nunit = Hz\nkind = gauge\n"
      "[counter none]\nfile = none\nunit = x\n";
  auto bus = provider::Parse(kBus, "bus.provider");
  INFO(bus.message());
  REQUIRE(bus.ok());
  auto twice = provider::Parse(std::string(kBus).replace(29, 3, "buz"), "buz.provider");
  REQUIRE(twice.ok());
  world.catalogue().providers.push_back(std::move(bus).value());
  world.catalogue().providers.push_back(std::move(twice).value());
  for (const char* address : {"0000:00:05.0", "0000:00:06.0", "0000:00:07.0"}) {
    if (address[9] != '5') world.Add(address, "others", 4);
    const std::string folder = std::string("sys/bus/pci/devices/") + address;
    world.Write(folder + "/vendor", "0x1b36\n");
    if (address[9] != '7') world.Write(folder + "/errors", "0\n");
  }
  world.Write("sys/kernel/debug/gpu/0000:00:06.0/clk0", "100\n");
  const auto found = world.Find({"0000:00:05.0", "0000:00:06.0"});
  INFO(found.message());
  REQUIRE(found.ok());
  REQUIRE(found->devices.size() == 2);
  CHECK(found->devices[1].roles.empty());
  CHECK(found->devices[1].description.name() == "bus-0000:00:06.0");
  REQUIRE(found->counters.size() == 3);
  CHECK(found->counters[0].device == 16);
  CHECK(found->counters[0].object == "0000:00:05.0");
  CHECK(found->counters[1].device == 17);
  CHECK(found->counters[2].files[0].find("/sys/kernel/debug/gpu/0000:00:06.0/clk0") !=
        std::string::npos);
  // This device has none of them, either.
  CHECK(world.Find({"0000:00:07.0"}).message().find("no provider has tracepoints of") == 0);
}

TEST_CASE("What cannot be recorded is refused with the reason") {
  World world;
  world.Remove("sys/kernel/tracing/events/s/b");
  CHECK(world.Find({"0000:00:05.0"})
            .message()
            .find("0000:00:05.0 cannot be recorded by provider disk: no such tracepoint in this "
                  "kernel: see ") == 0);
  world.Add("0000:00:06.0", "others", 4);
  CHECK(world.Find({"0000:00:06.0"}).message().find("no provider has tracepoints of") == 0);
  // Devices that the daemon supports itself are not for providers.
  world.catalogue().providers[0].built_in = true;
  const auto built_in = world.Find({"0000:00:05.0"});
  REQUIRE(built_in.ok());
  CHECK(built_in->devices.empty());
  CHECK(built_in->others.size() == 1);
}

TEST_CASE("More devices than there is room for are refused") {
  const World world;
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) {
    names.push_back("0000:01:" + std::to_string(10 + i) + ".0");
    world.Add(names.back(), "disks", 10 + i);
  }
  CHECK(world.Find(names).message().find("more devices than one recording takes") == 0);
  names.resize(32);
  CHECK(world.Find(names).ok());
}

}  // namespace
}  // namespace acceltrace::daemon
