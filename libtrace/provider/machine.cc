// SPDX-License-Identifier: Apache-2.0
#include "libtrace/provider/machine.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "libtrace/provider/words.h"

namespace acceltrace::provider {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxMatches = 1024;  // of a path with *
constexpr size_t kMaxDevices = 4096;
constexpr size_t kMaxFormatBytes = 1 << 16;

std::string ReadSmall(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFormatBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

}  // namespace

std::string FirstLine(const std::string& path) {
  const std::string text = ReadSmall(path);
  return std::string(Trim(std::string_view(text).substr(0, text.find('\n'))));
}

namespace {

uint32_t ReadId(const std::string& path) {
  const auto number = ParseNumber(FirstLine(path));
  return number.ok() ? static_cast<uint32_t>(*number) : 0;
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error), end;
  for (; !error && entry != end && names.size() < kMaxDevices; entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

uint32_t RunningKernel() {
  utsname about;
  if (uname(&about) != 0) return 0;
  const unsigned long major = std::strtoul(about.release, nullptr, 10);
  const char* dot = std::strchr(about.release, '.');
  const unsigned long minor = dot == nullptr ? 0 : std::strtoul(dot + 1, nullptr, 10);
  return static_cast<uint32_t>(major << 16 | (minor & 0xffff));
}

// Checks with the effective ids: access(2) uses the real ones, and ignores the capabilities of
// users other than root.
int Access(const char* path, int mode) { return faccessat(AT_FDCWD, path, mode, AT_EACCESS); }

}  // namespace

Machine::Machine(std::string root) : root_(std::move(root)), kernel_(RunningKernel()) {
  const std::string bus = root_ + "/sys/bus/pci/devices/";
  for (const std::string& address : NamesIn(bus)) {
    PciDevice device;
    device.address = address;
    device.folder = bus + address;
    device.vendor = ReadId(device.folder + "/vendor");
    device.device = ReadId(device.folder + "/device");
    device.class_code = ReadId(device.folder + "/class");
    std::error_code error;
    const fs::path driver = fs::read_symlink(device.folder + "/driver", error);
    if (!error) device.driver = driver.filename();
    devices_.push_back(std::move(device));
  }
  const std::string platform = root_ + "/sys/bus/platform/devices/";
  for (const std::string& name : NamesIn(platform)) {
    PciDevice device;
    device.address = device.driver = name;
    device.folder = platform + name;
    device.pci = false;
    std::error_code error;
    if (!fs::exists(device.folder + "/drm", error) &&
        !fs::exists(device.folder + "/accel", error)) {
      continue;
    }
    const fs::path driver = fs::read_symlink(device.folder + "/driver", error);
    if (!error) device.driver = driver.filename();
    devices_.push_back(std::move(device));
  }
}

bool Machine::Exists(const std::string& path) const {
  return Access((root_ + path).c_str(), F_OK) == 0;
}

namespace {

std::string AsRoot() {
  return geteuid() != 0 ? ": run as root" : ": this is root, which a container may hold back";
}

}  // namespace

Result<TraceFormat> Machine::Format(const Tracepoint& tracepoint) const {
  std::string tracefs = root_ + "/sys/kernel/tracing";
  if (Access((tracefs + "/events").c_str(), F_OK) != 0) {
    if (errno == EACCES || (errno == ENOENT && geteuid() != 0)) {
      return Status::Error("no permission to look into /sys/kernel/tracing" + AsRoot());
    }
    const std::string older = root_ + "/sys/kernel/debug/tracing";
    if (Access((older + "/events").c_str(), F_OK) != 0) {
      return Status::Error("no tracefs here: mount -t tracefs tracefs /sys/kernel/tracing");
    }
    tracefs = older;
  }
  const std::string folder = tracefs + "/events/" + tracepoint.system;
  const std::string file = folder + "/" + tracepoint.name + "/format";
  if (Access(file.c_str(), R_OK) != 0) {
    if (errno == EACCES) return Status::Error("no permission to read " + file + AsRoot());
    if (Access(folder.c_str(), F_OK) != 0) {
      return Status::Error("no tracepoints " + tracepoint.system +
                           " in this kernel: load the module that has them");
    }
    return Status::Error("no such tracepoint in this kernel: see " + folder);
  }
  auto format = ParseFormat(ReadSmall(file));
  if (!format.ok()) return Status::Error(file + " " + format.message());
  return format;
}

namespace {

std::vector<std::string> FilesBelow(const std::string& top, const std::string& path) {
  std::vector<std::string> found = {top};
  for (const std::string_view part : Words(path, "/")) {
    const std::string pattern(part);
    std::vector<std::string> next;
    for (const std::string& folder : found) {
      if (pattern.find('*') == std::string::npos) {
        if (Access((folder + "/" + pattern).c_str(), F_OK) == 0) {
          next.push_back(folder + "/" + pattern);
        }
        continue;
      }
      for (const std::string& name : NamesIn(folder)) {
        if (next.size() >= kMaxMatches) break;
        if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) next.push_back(folder + "/" + name);
      }
    }
    found = std::move(next);
  }
  return found;
}

}  // namespace

std::vector<std::string> Machine::Files(const PciDevice& device, const std::string& path) const {
  return FilesBelow(device.folder, path);
}

std::vector<std::string> Machine::Files(const PciDevice& device, const Counter& counter) const {
  if (!counter.file.empty()) return FilesBelow(device.folder, counter.file);
  std::string path;
  for (const std::string_view part : Words(counter.debugfs, "/")) {
    path += (path.empty() ? "" : "/") + (part == "address" ? device.address : std::string(part));
  }
  return FilesBelow(root_ + "/sys/kernel/debug", path);
}

Result<PmuEvent> Machine::FindEvent(const Counter& counter) const {
  return FindPmuEvent(counter.pmu, root_);
}

Result<uint64_t> Machine::ReadValue(const PciDevice& device, const Value& value) const {
  std::vector<uint64_t> numbers;
  if (!value.file.empty()) {
    for (const std::string& file : Files(device, value.file)) {
      const auto number = ParseNumber(FirstLine(file));
      if (!number.ok()) return Status::Error(file + " holds no number");
      numbers.push_back(*number);
    }
  } else {
    const size_t mark = value.entry.find('#');
    const size_t name = value.entry.rfind('/', mark);
    const size_t begin = name == std::string::npos ? 0 : name + 1;
    const std::string before = value.entry.substr(begin, mark - begin);
    std::string pattern = value.entry;
    pattern[mark] = '*';
    for (const std::string& file : Files(device, pattern)) {
      const std::string_view rest =
          std::string_view(file).substr(file.rfind('/') + 1).substr(before.size());
      const auto number = ParseNumber(rest.substr(0, rest.find_first_not_of("0123456789")));
      if (number.ok()) numbers.push_back(*number);
    }
  }
  const std::string& path = value.file.empty() ? value.entry : value.file;
  if (numbers.empty()) return Status::Error("no " + path + " in " + device.folder);
  if (std::any_of(numbers.begin(), numbers.end(), [&](uint64_t n) { return n != numbers[0]; })) {
    return Status::Error("several " + path + " in " + device.folder + " differ");
  }
  return numbers[0];
}

std::string Machine::FindLibrary(const std::string& name) const {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {
    for (const std::string_view folder : Words(path, ":")) folders.emplace_back(folder);
  }
  for (const char* folder :
       {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
        "/usr/lib", "/usr/local/cuda/lib64", "/opt/rocm/lib"}) {
    folders.emplace_back(folder);
  }
  for (const std::string& folder : folders) {
    if (Exists(folder + "/" + name)) return root_ + folder + "/" + name;
  }
  return "";
}

Result<std::vector<std::string>> Machine::SystemCalls() const {
  const std::string_view entry = kSystemCallEntry;
  std::ifstream symbols(root_ + "/proc/kallsyms");
  std::vector<std::string> names;
  std::string address, type, name, line;
  while (symbols >> address >> type >> name && std::getline(symbols, line)) {
    if (name.compare(0, entry.size(), entry) == 0) names.push_back(name.substr(entry.size()));
  }
  if (names.empty()) {
    return Status::Error("no system call in " + root_ +
                         "/proc/kallsyms: take a kernel with CONFIG_KALLSYMS");
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool Matches(const Match& match, const PciDevice& device) {
  const auto driver = std::find(match.drivers.begin(), match.drivers.end(), device.driver);
  const bool by_driver = driver != match.drivers.end();
  const bool by_class =
      std::any_of(match.classes.begin(), match.classes.end(), [&](const ClassMatch& one) {
        return device.class_code >> (24 - 4 * one.digits) == one.value;
      });
  const bool by_id =
      std::any_of(match.devices.begin(), match.devices.end(), [&](const PciMatch& one) {
        return (one.vendor < 0 || one.vendor == static_cast<int32_t>(device.vendor)) &&
               (one.device < 0 || one.device == static_cast<int32_t>(device.device));
      });
  // A device must match every list that is given; a list of drivers alone is enough.
  if (!match.drivers.empty() && !by_driver) return false;
  if (!match.classes.empty() && !by_class) return false;
  if (!match.devices.empty() && !by_id) return false;
  return match.line != 0;
}

}  // namespace acceltrace::provider
