// SPDX-License-Identifier: Apache-2.0
//
// Finds the file mapped at an address of a process, by /proc/PID/maps.
#ifndef DAEMON_SOURCES_BPF_PROCESS_MAPS_H_
#define DAEMON_SOURCES_BPF_PROCESS_MAPS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace acceltrace::daemon {

struct MappedCode {
  uint64_t begin = 0, end = 0, offset = 0;  // `offset` is that of `begin` in the file
  std::string path;                         // as printed by the kernel
  uint32_t build_id = 0;                    // a string id, set by users of this; 0 = unknown
};

// Returns the executable file mappings in the text of /proc/PID/maps, by address. Invalid lines are
// skipped.
std::vector<MappedCode> ParseMaps(std::string_view text);

class ProcessMaps {
 public:
  // If set, only processes that run as this user are read.
  explicit ProcessMaps(std::optional<uint32_t> owner) : owner_(owner) {}

  // Returns the mapping that contains the address, or null if there is none or the process is gone.
  // Maps are read again when an address is in no mapping, but with increasing intervals if that
  // finds nothing, as the address may belong to no file. Valid until the next call.
  MappedCode* Find(uint32_t pid, uint64_t address, int64_t now_ns);
  // The process executes another program.
  void Forget(uint32_t pid) { processes_.erase(pid); }

 private:
  struct Known {
    std::vector<MappedCode> code;
    int64_t again_ns = INT64_MIN;  // when it may be read again
    int64_t wait_ns = 0;           // the time until then, from the last reading
  };
  bool Read(uint32_t pid, std::vector<MappedCode>* code) const;

  std::optional<uint32_t> owner_;
  std::unordered_map<uint32_t, Known> processes_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_PROCESS_MAPS_H_
