// SPDX-License-Identifier: Apache-2.0
//
// Who serves the file systems that a process sees: whoever opens or reads a file waits for that.
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
  // Those of the process, and those that are seen here.
  explicit Mounts(uint32_t pid);

  // The text of a /proc/PID/mountinfo; here: of this process's own, where only root mounts.
  void Add(std::string_view text, bool here);

  // Of the file system with this device's number.
  By Served(uint32_t major, uint32_t minor) const;
  // Of a mount. Files of an overlay may lie on anything: it is believed if it was mounted here.
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
