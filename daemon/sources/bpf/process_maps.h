// SPDX-License-Identifier: Apache-2.0
//
// Which file's code lies at an address of a process, by /proc/PID/maps.
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
  uint64_t begin = 0, end = 0, offset = 0;  // addresses; of `begin` in the file
  std::string path;                         // as the kernel prints it
  uint32_t build_id = 0;                    // string id, where somebody has learnt it; 0 = not yet
};

// The executable mappings of files in the text of /proc/PID/maps, by address. What is no line of
// it is left out.
std::vector<MappedCode> ParseMaps(std::string_view text);

class ProcessMaps {
 public:
  // owner: only processes that run as this user are looked into.
  explicit ProcessMaps(std::optional<uint32_t> owner) : owner_(owner) {}

  // The mapping that holds the address; nullptr: none, or the process is gone. Maps are read again
  // when an address is in none, but not for each that is of no file: ever more seldom, where that
  // finds nothing. Valid until the next call.
  MappedCode* Find(uint32_t pid, uint64_t address, int64_t now_ns);
  // It runs another program.
  void Forget(uint32_t pid) { processes_.erase(pid); }

 private:
  struct Known {
    std::vector<MappedCode> code;
    int64_t again_ns = INT64_MIN;  // read again from then on
    int64_t wait_ns = 0;           // since it was read last
  };
  bool Read(uint32_t pid, std::vector<MappedCode>* code) const;

  std::optional<uint32_t> owner_;
  std::unordered_map<uint32_t, Known> processes_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_PROCESS_MAPS_H_
