// SPDX-License-Identifier: Apache-2.0
#include "libtrace/provider/provider.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "libtrace/provider/offer.h"
#include "tests/catch.h"

namespace acceltrace::provider {
namespace {

namespace fs = std::filesystem;

constexpr char kHead[] = "[provider]\nformat = 1\nname = x\nabout = y\n";      // lines 1 to 4
constexpr char kMatch[] = "[match]\ndriver = d\n";                             // 5, 6
constexpr char kSubmit[] = "[tracepoint s:a]\nrole = submit\njob = id\n";      // 7 to 9
constexpr char kComplete[] = "[tracepoint s:b]\nrole = complete\njob = id\n";  // 10 to 12

std::string Whole() { return std::string(kHead) + kMatch + kSubmit + kComplete; }

TEST_CASE("A provider file is read whole") {
  const auto read = Parse(
      std::string(kHead) +
          "reader = this-file  # a comment\n[match]\t # devices\ndriver = d, e\nclass = 0x0108\n"
          "device = 0x1b36:0x0010 *:*\n\n[value unit]\nentry = nvme/nvme#\n[value block]\n"
          "file = a*/size\n[tracepoint s:a]\nrole = submit\nkernel = 5.4..6.16\n"
          "where = ctl == unit\nwhere = queue != 0x10\nqueue = q\njob = id\nopcode = op\n"
          "bytes = len[8:2] + 1 * block\nbytes-opcodes = 1 0x02\n" +
          kComplete +
          "status = st\n[opcodes]\n0x01 = write\n[counter c]\nfile = x/y\nunit = GT/s\n"
          "kind = gauge\n[counter d]\npmu = cpu/cycles/\nunit = count\n"
          "[api libx.so.1:go]\nkind = copy\nbytes = arg2 * arg3\nstream = arg4\n"
          "direction = to-device\n[clock]\nsource = ptp\ndevice = ptp/ptp*\n",
      "f");
  INFO(read.message());
  REQUIRE(read.ok());
  CHECK(read->name == "x");
  CHECK(read->match.drivers == std::vector<std::string>{"d", "e"});
  CHECK(read->match.devices[0].vendor == 0x1b36);
  CHECK(read->match.devices[1].device == -1);
  REQUIRE(read->tracepoints.size() == 2);
  const Tracepoint& submit = read->tracepoints[0];
  CHECK(submit.Title() == "s:a");
  CHECK(submit.kernel.first == (5u << 16 | 4));
  CHECK(submit.where[0].name == "unit");
  CHECK_FALSE(submit.where[1].equal);
  CHECK(submit.where[1].number == 16);
  CHECK(submit.bytes->from.field == "len");
  CHECK(submit.bytes->from.offset == 8);
  CHECK(submit.bytes->add == 1);
  CHECK(submit.bytes->times_name == "block");
  CHECK(submit.bytes_opcodes == std::vector<uint32_t>{1, 2});
  CHECK(read->tracepoints[1].status->field == "st");
  CHECK(read->opcodes.at(1) == "write");
  CHECK(read->counters[0].gauge);
  CHECK(read->functions[0].bytes->times_place == 3);
  CHECK(read->clock.device == "ptp/ptp*");
}

struct Mistake {
  std::string text;
  const char* message;
};

std::vector<Mistake> MistakesOfForm() {
  const std::string head = kHead, match = kMatch;
  const std::string point = head + match + "[tracepoint s:a]\n";  // 7
  return {
      {"", "f:1: is empty: begin with [provider]"},
      {"name = x\n", "f:1: stands before the first section: begin with [provider]"},
      {"[match]\n", "f:1: [match] stands first: begin with [provider]"},
      {"[provider\n", "f:1: '[provider' has no ] at its end"},
      {"[provider]\n[]\n", "f:1: [provider] lacks format: add a line format ="},
      {head + "[]\n", "f:5: a section without a name"},
      {"[provider x]\n", "f:1: [provider] takes no name: leave 'x' out"},
      {head + "[match a b]\n", "f:5: 'match a b' has too many words"},
      {head + "[mtach]\n", "f:5: no section 'mtach': one of provider, match"},
      {head + "[tracepoint]\n", "f:5: [tracepoint] needs a name"},
      {head + match + "[match]\ndriver = d\n", "f:7: [match] is there twice"},
      {head + "[match]\n", "f:5: [match] is empty: add driver, class or device"},
      {"[provider]\nformat = 2\n", "f:2: format '2' is not known here: this version reads 1"},
      {"[provider]\nformat = 1\nname = A b\n", "f:3: 'A b' is no name: lower-case"},
      {"[provider]\nformat = 1\nformat = 1\n", "f:3: format was already set"},
      {"[provider]\nformat\n", "f:2: 'format' is neither [SECTION] nor KEY = VALUE"},
      {"[provider]\nformat =\n", "f:2: format has no value"},
      {"[provider]\nfromat = 1\n", "f:2: no key 'fromat' in [provider]: one of format, name"},
      {head + "reader = other\n", "f:5: no reader 'other': one of this-file, built-in"},
      {head, "f:1: neither [match] nor [api]"},
      {head + "[match]\nclass = 0x1\n", "f:6: '0x1' is no PCI class: write 0x and 2, 4 or 6"},
      {head + "[match]\nclass = 12\n", "f:6: '12' is no PCI class"},
      {head + "[match]\ndevice = 1b36\n", "f:6: '1b36' is no PCI device: write VENDOR:DEVICE"},
      {head + "[match]\ndriver = a/b\n", "f:6: 'a/b' is no driver's name"},
      {head + match + "[tracepoint sa]\n", "f:7: 'sa' is no tracepoint: write SYSTEM:NAME"},
      {point + "role = submit\n", "f:7: [tracepoint s:a] lacks job"},
      {point + "role = begin\n", "f:8: no role 'begin': one of submit, start"},
      {point + "kernel = 6\n", "f:8: '6' is no range of kernels: write 5.4..6.16"},
      {point + "kernel = 6..7\n", "f:8: '6' is no kernel version: write MAJOR.MINOR"},
      {point + "kernel = 6.2..6.1\n", "f:8: '6.2..6.1' ends before it begins"},
      {point + "where = a\n", "f:8: 'a' is no condition: write FIELD == VALUE"},
      {point + "where = a == \"b\n", "f:8: '\"b' is nothing to compare with"},
      {point + "where = a == \"b c\"\n", "f:8: '\"b c\"' is no text"},
      {point + "where = a == \"\"\n", "f:8: '\"\"' is no text"},
      {point + "where = a == 1x\n", "f:8: '1x' is no number: write 12 or 0x0c"},
      {point + "where = a b == 1\n", "f:8: 'a b' is no field"},
      {point + "where = a == 1\nwhere = a == 1\nwhere = a == 1\nwhere = a == 1\nwhere = a == 1\n",
       "f:12: more than 4 conditions"},
      {point + "job = a[1]\n", "f:8: 'a[1]' is no part of a field: write FIELD[OFFSET:SIZE]"},
      {point + "job = a[0:3]\n", "f:8: '3' is no size of a number: a part has 1, 2, 4 or 8"},
      {point + "job = a[9999:4]\n", "f:8: '9999' is beyond any field"},
      {point + "job = a-b\n", "f:8: 'a-b' is no field"},
      {point + "bytes = a + b\n", "f:8: 'b' is no number"},
      {point + "bytes = a * b-c\n", "f:8: 'b-c' is no factor"},
      {point + "bytes = a + 99999999999999999999\n", "does not fit into 64 bits"},
      {point + "role = submit\njob = id\nbytes-opcodes = 1\n", "f:7: bytes-opcodes needs bytes"},
      {point + "role = submit\njob = id\nstatus = s\n", "f:7: status is of a completion"},
      {point + "role = complete\njob = id\nbytes = s\n",
       "f:7: bytes and opcode are of a submission"},
      {point + "role = dependency\njob = id\n", "f:7: waits-for belongs to role dependency"},
      {point + "role = submit\njob = id\nwaits-for-queue = q\n", "f:7: waits-for-queue without"},
      {point + "bytes-opcodes = 256\n", "f:8: '256' is no opcode: they go from 0 to 255"},
      {head + match + kSubmit, "f:7: no tracepoint of role complete: jobs are pairs"},
      {head + match + kComplete, "f:7: no tracepoint of role submit"},
      {head + "[api l:f]\nkind = wait\n" + kSubmit + kComplete, "f:7: tracepoints of no device"},
  };
}

std::vector<Mistake> MistakesOfParts() {
  const std::string head = kHead, match = kMatch, whole = Whole();
  const std::string point = head + match + "[tracepoint s:a]\n";  // 7
  return {
      {whole + "where = a == unit\n", "f:10: no [value unit] in this file: add the section"},
      {point + "role = submit\njob = id\nbytes = a * unit\n" + kComplete,
       "f:7: no [value unit] in this file"},
      {whole + "[value address]\n", "f:13: 'address' is known of each device"},
      {whole + "[value v]\n", "f:13: [value v] needs a file or an entry"},
      {whole + "[value v]\nentry = a\n", "f:14: 'a' needs one # where the number stands"},
      {whole + "[value v]\nfile = /etc/x\n", "f:14: '/etc/x' is no path below the device's"},
      {whole + "[value v]\nfile = a/../../x\n", "leaves the device's sysfs folder"},
      {whole + "[value v]\nfile = a?b\n", "f:14: 'a?b' is no file name"},
      {whole + "[value v]\nfile = a\n[value v]\nfile = a\n", "f:15: 'v' is there twice"},
      {whole + "[opcodes]\n256 = a\n", "f:14: '256' is no opcode"},
      {whole + "[opcodes]\nread = 1\n", "f:14: 'read' is no number"},
      {whole + "[opcodes]\n1 = a b\n", "f:14: 'a b' is no name"},
      {whole + "[opcodes]\n1 = a\n0x1 = b\n", "f:15: opcode 0x1 was already named"},
      {whole + "[counter c]\nunit = bytes\n", "f:13: [counter c] needs a file, a debugfs or a pmu"},
      {whole + "[counter c]\nunit = bytes\nfile = a\ndebugfs = b\n", "f:13: [counter c] needs a"},
      {whole + "[counter c]\nscale = 0\n", "f:14: '0' is no scale: write a number above 0"},
      {whole + "[counter c]\nscale = 1e3x\n", "f:14: '1e3x' is no scale"},
      {whole + "[counter c]\ndebugfs = ../x\n", "f:14: "},
      {whole + "[counter c]\nfile = a\n", "f:13: [counter c] lacks unit"},
      {whole + "[counter c]\npmu = a\n", "f:14: 'a' is no perf event: write PMU/EVENT/"},
      {whole + "[counter c]\nunit = a b\n", "f:14: 'a b' is no unit"},
      {whole + "[counter c]\nkind = sum\n", "f:14: no kind 'sum': one of count, gauge"},
      {whole + "[counter c d]\n", "f:13: 'counter c d' has too many words"},
      {whole + "[counter c+d]\n", "f:13: 'c+d' is no name"},
      {whole + "[clock]\nsource = sun\n", "f:14: no clock source 'sun': one of host, ptp, driver"},
      {whole + "[clock]\nsource = ptp\n",
       "f:13: a clock of source ptp, and no other, has a device"},
      {whole + "[api cos]\n", "f:13: 'cos' is no function: write LIBRARY:FUNCTION"},
      {whole + "[api l:f]\n", "f:13: [api l:f] lacks kind"},
      {whole + "[api l:f]\nkind = run\n", "f:14: no kind 'run': one of launch, copy"},
      {whole + "[api l:f]\nkind = wait\n[api l:f]\n", "f:15: 'l:f' is there twice"},
      {whole + "[api l:f]\nbytes = arg17\n", "f:14: 'arg17' is no argument: write arg1 to arg16"},
      {whole + "[api kernel:read]\nstream = arg6\nbytes = arg3 * arg7\n",
       "f:15: 'arg3 * arg7' of a system call: it has arg1 to arg6"},
      {whole + "[api l:f]\ndirection = up\n", "f:14: no direction 'up'"},
      {whole + "[api l:f]\nwaits = maybe\n", "f:14: 'maybe' is neither yes nor no"},
      {whole + std::string("name = a\0b\n", 11), "f:13: has a control character"},
      {whole + std::string(600, 'x'), "f:13: longer than 512 bytes"},
      {whole + std::string(70'000, '\n'), "f:1: larger than 64 KiB"},
  };
}

std::vector<Mistake> Mistakes() {
  std::vector<Mistake> all = MistakesOfForm();
  for (const Mistake& mistake : MistakesOfParts()) all.push_back(mistake);
  return all;
}

TEST_CASE("Each mistake gets one line that names its place and its mend") {
  size_t count = 0;
  for (const Mistake& mistake : Mistakes()) {
    const auto read = Parse(mistake.text, "f");
    INFO(mistake.text.substr(0, 400) << "\nis: " << read.message());
    CHECK_FALSE(read.ok());
    CHECK(read.message().find(mistake.message) != std::string::npos);
    CHECK(read.message().find('\n') == std::string::npos);
    CHECK(read.message().rfind("f:", 0) == 0);
    ++count;
  }
  CHECK(count >= 30);
  CHECK(Parse(Whole(), "f").ok());
}

TEST_CASE("More sections than any device needs are refused") {
  std::string text = Whole();
  for (int i = 0; i < 600; ++i) text += "[value v" + std::to_string(i) + "]\nfile = a\n";
  CHECK(Parse(text, "f").message().find("more than 512 sections") != std::string::npos);
}

constexpr char kFormat[] =
    "name: nvme_setup_cmd\nID: 1200\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
    "\tfield:char disk[32];\toffset:8;\tsize:32;\tsigned:0;\n"
    "\tfield:int id;\toffset:40;\tsize:4;\tsigned:1;\n"
    "\tfield:u8 cdw10[24];\toffset:61;\tsize:24;\tsigned:0;\n"
    "\tfield:struct dma_fence * fence;\toffset:88;\tsize:8;\tsigned:0;\n"
    "\tfield:__data_loc char[] dev;\toffset:96;\tsize:4;\tsigned:0;\n"
    "\nprint fmt: \"\"\n";

TEST_CASE("Fields are found where the kernel says they are") {
  const auto format = ParseFormat(kFormat);
  INFO(format.message());
  REQUIRE(format.ok());
  CHECK(format->id == 1200);
  REQUIRE(format->Find("fence") != nullptr);
  CHECK(format->Find("fence")->offset == 88);
  CHECK(format->Find("dev")->elsewhere);
  CHECK(format->Find("dev")->text);
  const auto place = [&](const std::string& lines) {
    const auto read = Parse(
        std::string(kHead) + kMatch + "[tracepoint s:a]\nrole = submit\n" + lines + kComplete, "f");
    INFO(read.message());
    REQUIRE(read.ok());
    return PlaceFields(read->tracepoints[0], *format);
  };
  const auto good = place("job = fence\nqueue = cdw10[8:2]\nwhere = dev == address\n");
  INFO(good.message());
  REQUIRE(good.ok());
  CHECK(good->job->offset == 88);
  CHECK(good->job->size == 8);
  CHECK(good->queue->offset == 69);
  CHECK(good->queue->size == 2);
  CHECK(good->where[0].place.elsewhere);
  const auto text = place("job = fence\nwhere = dev == \"virtio_gpu\"\n");
  REQUIRE(text.ok());
  CHECK(text->where[0].place.elsewhere);
  const auto wrong = [&](const std::string& lines, const std::string& reason) {
    const auto placed = place(lines);
    INFO(lines << placed.message());
    CHECK_FALSE(placed.ok());
    CHECK(placed.message().find(reason) != std::string::npos);
  };
  wrong("job = cid\n", "no field 'cid': it has disk, id, cdw10, fence, dev");
  wrong("job = cdw10\n", "has 24 bytes: name a part of it");
  wrong("job = cdw10[20:8]\n", "[20:8] is not inside");
  wrong("job = disk\n", "is no number");
  wrong("job = id\nwhere = disk == 1\n", "is a text");
  wrong("job = id\nwhere = id == driver\n", "is no text");
  wrong("job = id\nwhere = id == \"driver\"\n", "is no text");
  CHECK_FALSE(ParseFormat("").ok());
  CHECK_FALSE(ParseFormat("ID: x\n").ok());
  CHECK_FALSE(ParseFormat("ID: 3\n\tfield:int a;\toffset:999999;\tsize:4;\n").ok());
}

// The root folder of a simulated machine.
class FakeRoot {
 public:
  FakeRoot() : top_(fs::temp_directory_path() / ("providers-" + std::to_string(getpid()))) {
    fs::remove_all(top_);
  }
  ~FakeRoot() { fs::remove_all(top_); }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((top_ / path).parent_path());
    std::ofstream(top_ / path) << text;
  }
  std::string path() const { return top_; }

 private:
  fs::path top_;
};

TEST_CASE("What a machine offers, and why not the rest") {
  const FakeRoot root;
  const std::string disk = "sys/bus/pci/devices/0000:00:05.0/";
  root.Write(disk + "vendor", "0x1b36\n");
  root.Write(disk + "device", "0x0010\n");
  root.Write(disk + "class", "0x010802\n");
  root.Write(disk + "nvme/nvme3/nvme3n1/queue/logical_block_size", "512\n");
  root.Write("drivers/nvme/x", "");
  fs::create_symlink("../../../../drivers/nvme", root.path() + "/" + disk + "driver");
  root.Write("etc/a.provider", std::string(kHead) +
                                   "[match]\ndriver = nvme\n[value unit]\nentry = nvme/nvme#\n"
                                   "[value block]\nfile = nvme/nvme*/nvme*n*/queue/"
                                   "logical_block_size\n"
                                   "[tracepoint s:a]\nrole = submit\njob = id\nwhere = id == unit\n"
                                   "[tracepoint s:b]\nrole = complete\njob = id\n"
                                   "[counter l]\nfile = current_link_speed\nunit = GT/s\n");
  root.Write("etc/b.provider", "[provider]\n");
  root.Write("etc/c.provider", std::string(kHead) + "[match]\ndriver = other\n");
  const Catalogue catalogue = LoadProviders({root.path() + "/etc", root.path() + "/none"});
  REQUIRE(catalogue.providers.size() == 1);
  REQUIRE(catalogue.errors.size() == 2);
  CHECK(catalogue.errors[0].find("b.provider:1: [provider] lacks format") != std::string::npos);
  CHECK(catalogue.errors[1].find("provider x is in") != std::string::npos);
  const Provider& nvme = catalogue.providers[0];

  const auto why = [&](const Offer& offer, const std::string& kind) {
    for (const Evidence& evidence : offer.evidence) {
      if (evidence.kind == kind) return evidence.why;
    }
    return std::string("no such evidence");
  };
  {
    const Machine machine(root.path());
    REQUIRE(machine.devices().size() == 1);
    CHECK(machine.devices()[0].driver == "nvme");
    CHECK(*machine.ReadValue(machine.devices()[0], nvme.values[0]) == 3);
    CHECK(*machine.ReadValue(machine.devices()[0], nvme.values[1]) == 512);
    CHECK_FALSE(Examine(nvme, machine).why.empty());  // no tracefs, or no permission to read it
  }
  root.Write("sys/kernel/tracing/events/s/b/format", kFormat);
  CHECK(why(Examine(nvme, Machine(root.path())), "submit").find("no such tracepoint") == 0);
  root.Write("sys/kernel/tracing/events/s/a/format", "ID: 3\n\tfield:int b;\toffset:8;\tsize:4;\n");
  CHECK(why(Examine(nvme, Machine(root.path())), "submit").find("s:a has no field 'id'") == 0);
  root.Write("sys/kernel/tracing/events/s/a/format", kFormat);
  const Offer whole = Examine(nvme, Machine(root.path()));
  CHECK(whole.why.empty());
  CHECK(whole.devices.size() == 1);
  CHECK(why(whole, "submit").empty());
  CHECK(why(whole, "counter").find("no current_link_speed") == 0);
  // Two namespaces have different block sizes, so that no number is right for both.
  root.Write(disk + "nvme/nvme3/nvme3n2/queue/logical_block_size", "4096\n");
  const Machine two(root.path());
  CHECK(two.ReadValue(two.devices()[0], nvme.values[1]).message().find("differ") !=
        std::string::npos);
  // The device gets another driver.
  fs::remove(root.path() + "/" + disk + "driver");
  CHECK(Examine(nvme, Machine(root.path())).why.find("no such device here") == 0);
}

TEST_CASE("A perf event is what its PMU says in sysfs") {
  const FakeRoot root;
  const std::string pmu = "sys/bus/event_source/devices/uncore_x/";
  root.Write(pmu + "type", "23\n");
  root.Write(pmu + "cpumask", "0,4-5\n");
  root.Write(pmu + "format/event", "config:0-7,32-35\n");
  root.Write(pmu + "format/umask", "config1:8-15\n");
  root.Write(pmu + "format/edge", "config2:63\n");
  root.Write(pmu + "events/reads", "event=0xa5c,umask=0x3,edge\n");
  root.Write(pmu + "events/reads.scale", "6.103515625e-5\n");
  root.Write(pmu + "events/other", "event=1,thresh=2\n");
  const auto found = FindPmuEvent("uncore_x/reads/", root.path());
  INFO(found.message());
  REQUIRE(found.ok());
  CHECK(found->type == 23);
  CHECK(found->config == std::array<uint64_t, 3>{0xa'0000'005c, 0x300, 1ull << 63});
  CHECK(found->cpus == std::vector<uint32_t>{0, 4, 5});
  CHECK(found->scale == 6.103515625e-5);
  const auto why = [&](const std::string& event) {
    return FindPmuEvent(event, root.path()).message();
  };
  CHECK(why("uncore_y/reads/").find("no PMU uncore_y") == 0);
  CHECK(why("uncore_x/writes/").find("no event writes in") == 0);
  CHECK(why("uncore_x/other/").find("cannot be understood: 'thresh=2'") != std::string::npos);
  root.Write(pmu + "events/reads.scale", "-1\n");
  CHECK(why("uncore_x/reads/").find("a scale that is no number") != std::string::npos);
  root.Write(pmu + "events/reads.scale", "1\n");
  for (const char* format : {"config:0-99", "config9:0", "0-7", "config:x", "config:3-"}) {
    root.Write(pmu + "format/event", format);
    CHECK_FALSE(FindPmuEvent("uncore_x/reads/", root.path()).ok());
  }
  CHECK(ParseList("0-3,7") == std::vector<uint32_t>{0, 1, 2, 3, 7});
  CHECK(ParseList("0\n") == std::vector<uint32_t>{0});
  CHECK(ParseList("0-99999999").empty());
  CHECK(ParseList("a,1").empty());
}

TEST_CASE("Functions of a library that is none") {
  const FakeRoot root;
  root.Write("none.so",
             "\x7f"
             "ELF, or not");
  CHECK_FALSE(FunctionsOf(root.path() + "/none.so").ok());
  const std::string libc = Machine().FindLibrary("libc.so.6");
  if (!libc.empty()) {
    const auto names = FunctionsOf(libc);
    REQUIRE(names.ok());
    CHECK(std::binary_search(names->begin(), names->end(), std::string("memcpy")));
    CHECK_FALSE(std::binary_search(names->begin(), names->end(), std::string("nosuchname")));
  }
}

TEST_CASE("System calls are those that the kernel has") {
  const FakeRoot root;
  const std::string line = std::string("0000 T ") + kSystemCallEntry;
  root.Write("proc/kallsyms", line + "read\n0000 t ksys_lseek\n" + line + "fsync\t[m]\n");
  const Machine machine(root.path());
  const auto calls = machine.SystemCalls();
  REQUIRE(calls.ok());
  CHECK(calls.value() == std::vector<std::string>{"fsync", "read"});
  const auto provider =
      Parse(std::string(kHead) +
                "[api kernel:read]\nkind = copy\nbytes = arg3\n"
                "[api kernel:lseek]\nkind = other\n[api none.so:f]\nkind = other\n",
            "f");
  REQUIRE(provider.ok());
  Offer offer = Examine(*provider, machine);
  REQUIRE(offer.evidence.size() >= 3);
  CHECK(offer.why.empty());  // one of them is available
  CHECK(offer.evidence[0].why.empty());
  CHECK(offer.evidence[1].why == "no system call lseek in this kernel");
  CHECK(offer.evidence[2].why.find("no none.so on this machine") == 0);
  root.Write("proc/kallsyms", "");
  offer = Examine(*provider, machine);
  CHECK(offer.why.find("no system call in") == 0);
}

TEST_CASE("The files that are shipped are right") {
  const Catalogue shipped = LoadProviders({"daemon/providers"});
  for (const std::string& error : shipped.errors) {
    INFO(error);
    CHECK(error.empty());
  }
  CHECK(shipped.providers.size() >= 8);
}

}  // namespace
}  // namespace acceltrace::provider
