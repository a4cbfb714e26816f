// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api/mounts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "daemon/base/unique_fd.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxBytes = 8 << 20;  // of a process's mount table
constexpr size_t kMaxMounts = 65536;

std::string ReadAll(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char part[16384];
  ssize_t bytes;
  while (text.size() < kMaxBytes && (bytes = read(fd.get(), part, sizeof(part))) > 0) {
    text.append(part, static_cast<size_t>(bytes));
  }
  return text;
}

}  // namespace

Mounts::Mounts(uint32_t pid) {
  Add(ReadAll("/proc/" + std::to_string(pid) + "/mountinfo"), false);
  Add(ReadAll("/proc/self/mountinfo"), true);
  // The kernel's internal file system, which is not mounted.
  const UniqueFd memory(memfd_create("none", MFD_CLOEXEC));
  struct stat about;
  if (memory.valid() && fstat(memory.get(), &about) == 0) {
    by_[{major(about.st_dev), minor(about.st_dev)}] = By::kKernel;
  }
}

// Parses lines such as "36 35 98:0 /from /at rw,noatime shared:1 - ext4 /dev/root rw"; spaces in
// names are escaped.
void Mounts::Add(std::string_view text, bool here) {
  while (!text.empty() && mounts_.size() < kMaxMounts) {
    const std::string line(text.substr(0, std::min(text.find('\n'), text.size())));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    uint64_t number;
    Device device;
    const size_t kind = line.find(" - ");
    if (kind == std::string::npos || sscanf(line.c_str(), "%" SCNu64 " %*u %u:%u ", &number,
                                            &device.first, &device.second) != 3) {
      continue;
    }
    // Matches fuse, fuseblk and fuse.NAME, but not virtiofs, which the host serves.
    const bool program = line.compare(kind + 3, 4, "fuse") == 0;
    const By by = program ? By::kProgram : By::kKernel;
    by_.try_emplace(device, by);
    mounts_.try_emplace(number, Mount{device, by, line.compare(kind + 3, 8, "overlay ") == 0});
    if (here) here_.insert(device);
  }
}

Mounts::By Mounts::Served(uint32_t device_major, uint32_t device_minor) const {
  const auto found = by_.find({device_major, device_minor});
  if (found != by_.end()) return found->second;
  // It is not mounted any more, but a disk is served by the kernel in any case.
  return device_major != 0 ? By::kKernel : By::kUnknown;
}

// A btrfs volume or an overlay layer has a device number that is in no line of the mount table.
Mounts::By Mounts::ServedMount(uint64_t mount) const {
  const auto found = mounts_.find(mount);
  if (found == mounts_.end()) return By::kUnknown;
  const Mount& it = found->second;
  return it.overlay && here_.count(it.device) == 0 ? By::kUnknown : it.by;
}

}  // namespace acceltrace::daemon
