// SPDX-License-Identifier: Apache-2.0
//
// The source of each recorded process's control group: when it is first seen, and when it changes.
#ifndef DAEMON_SOURCES_SYSTEM_CGROUP_SOURCE_H_
#define DAEMON_SOURCES_SYSTEM_CGROUP_SOURCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

class CgroupSource : public Source {
 public:
  // Increases when processes are added to that map, perhaps slightly earlier.
  using Changes = std::function<uint64_t()>;

  // `tracked_fd` is the map of recorded processes.
  CgroupSource(int tracked_fd, Changes changes, EventHandler* handler)
      : tracked_fd_(tracked_fd), changes_(std::move(changes)), handler_(handler) {}

  // Fails if the recorded processes are not known, or if there are no control groups.
  Status Start() override;
  Pace Drain(int64_t now_ns) override;
  std::vector<Hop> Hops() override;
  void Stop() override;

 private:
  // With `all`, also checks known processes, which may have moved.
  void Look(int64_t now_ns, bool all);

  struct Known {
    uint32_t generation = 0;  // of its current program
    std::string group;
  };

  int tracked_fd_;
  Changes changes_;
  uint64_t seen_changes_ = 0;
  bool once_more_ = true;
  EventHandler* handler_;
  std::unordered_map<uint32_t, Known> known_;  // by process
  int64_t next_all_ns_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SYSTEM_CGROUP_SOURCE_H_
