// SPDX-License-Identifier: Apache-2.0
//
// Tells whether the file systems that a process sees are served by the kernel or by a program, for
// which opening or reading a file may wait.
#ifndef DAEMON_SOURCES_API_MOUNTS_H_
#define DAEMON_SOURCES_API_MOUNTS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace acceltrace::daemon {

class Mounts {
 public:
  enum class By { kKernel, kProgram, kUnknown };

  Mounts() = default;
  // Reads the mounts of the process and of this process.
  explicit Mounts(uint32_t pid);

  // `text` is that of a /proc/PID/mountinfo. `here` is true for this process's own, where only root
  // mounts.
  void Add(std::string_view text, bool here);

  // For the file system with this device number.
  By Served(uint32_t major, uint32_t minor) const;
  // For a mount. The files of an overlay may be on any file system, so only overlays mounted here
  // are trusted.
  By ServedMount(uint64_t mount) const;

 private:
  using Device = std::pair<uint32_t, uint32_t>;
  struct Mount {
    Device device;
    By by = By::kUnknown;
    bool overlay = false;
  };
  std::map<Device, By> by_;
  std::map<uint64_t, Mount> mounts_;
  std::set<Device> here_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_MOUNTS_H_
