// SPDX-License-Identifier: Apache-2.0
//
// Stacks of API calls: what the BPF programs say of them to rows of the stream.
//
// A stack comes once for each image of a process, as addresses and, where the kernel could say it,
// as places in files known by their build ids. Stacks that are the same in the end have one number,
// so that many processes of one program fill no table.
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
#include "libtrace/stream/columns.h"

namespace acceltrace::daemon {

class CallStacks {
 public:
  CallStacks(EventHandler* handler, std::optional<uint32_t> owner)
      : handler_(handler), maps_(owner) {}

  // The frames of a stack. false: it is none.
  bool OnStack(const act_stack& record);
  // false: its frames were lost, or there are more stacks than are numbered.
  bool OnCall(const act_call_stack& record);
  void OnExec(uint32_t pid) { maps_.Forget(pid); }
  // Hands over the calls that wait for more.
  void Flush();

 private:
  struct Frame {
    uint32_t object = 0, build_id = 0;  // string ids
    uint64_t offset = 0;
    auto operator<=>(const Frame&) const = default;
  };
  struct Image {  // of a process, by its number
    uint32_t pid = 0;
    uint64_t id = 0;
    auto operator<=>(const Image&) const = default;
  };

  struct Known {
    uint32_t number = 0;  // 0: there are too many
    std::list<Image>::iterator used;
  };

  // placed: what the kernel says of the place, if anything.
  Frame Resolve(uint32_t pid, uint64_t address, const act_frame* placed, int64_t now_ns);
  void Use(Known* known);
  uint32_t Number(const std::vector<Frame>& frames, int64_t now_ns);

  EventHandler* handler_;
  ProcessMaps maps_;
  std::unordered_map<std::string, uint32_t> objects_;  // path of a build id, as string ids
  std::map<std::vector<Frame>, uint32_t> numbers_;
  std::map<Image, Known> stacks_;
  std::list<Image> used_;  // of stacks_, the latest last
  size_t frames_ = 0;      // in numbers_
  proto::Packet calls_;
  stream::DeltaEncoder time_, correlation_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_CALL_STACKS_H_
