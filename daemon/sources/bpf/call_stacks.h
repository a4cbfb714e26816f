// SPDX-License-Identifier: Apache-2.0
//
// Stacks of API calls: turns the records of BPF programs into rows of the stream.
//
// A stack is reported once for each image of a process, as addresses and, if the kernel knows them,
// as offsets in files identified by build ids. Equal resolved stacks have the same number, so that
// many processes of one program do not fill the table.
#ifndef DAEMON_SOURCES_BPF_CALL_STACKS_H_
#define DAEMON_SOURCES_BPF_CALL_STACKS_H_

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/bpf/records.h"
#include "daemon/sources/bpf/process_maps.h"
#include "daemon/sources/common/source.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::daemon {

class CallStacks {
 public:
  CallStacks(EventHandler* handler, std::optional<uint32_t> owner)
      : handler_(handler), maps_(owner) {}

  // The frames of a stack. Returns false if the record is invalid.
  bool OnStack(const act_stack& record);
  // Returns false if its frames were lost, or there are too many stacks.
  bool OnCall(const act_call_stack& record);
  void OnExec(uint32_t pid) { maps_.Forget(pid); }
  // Passes on collected calls.
  void Flush();

 private:
  struct Frame {
    uint32_t object = 0, build_id = 0;  // string ids
    uint64_t offset = 0;
    auto operator<=>(const Frame&) const = default;
  };
  // An executed program of a process, by its number.
  struct Image {
    uint32_t pid = 0;
    uint64_t id = 0;
    auto operator<=>(const Image&) const = default;
  };

  struct Known {
    uint32_t number = 0;  // 0 if there are too many
    std::list<Image>::iterator used;
  };

  // `placed` is the kernel's information on the place, if any.
  Frame Resolve(uint32_t pid, uint64_t address, const act_frame* placed, int64_t now_ns);
  void Use(Known* known);
  uint32_t Number(const std::vector<Frame>& frames, int64_t now_ns);

  EventHandler* handler_;
  ProcessMaps maps_;
  std::unordered_map<std::string, uint32_t> objects_;  // from build id to path, as string ids
  std::map<std::vector<Frame>, uint32_t> numbers_;
  std::map<Image, Known> stacks_;
  std::list<Image> used_;  // of stacks_, the most recently used last
  size_t frames_ = 0;      // in numbers_
  proto::Packet calls_;
  stream::DeltaEncoder time_, correlation_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_CALL_STACKS_H_
