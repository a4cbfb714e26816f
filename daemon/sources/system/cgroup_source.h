// SPDX-License-Identifier: Apache-2.0
//
// The control group of each recorded process: when it is seen first, and when it has changed.
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
  // Grows when processes come into that map, and may grow a little earlier.
  using Changes = std::function<uint64_t()>;

  // tracked_fd: the map of recorded processes.
  CgroupSource(int tracked_fd, Changes changes, EventHandler* handler)
      : tracked_fd_(tracked_fd), changes_(std::move(changes)), handler_(handler) {}

  // Errors: nobody knows which processes are recorded; there are no control groups.
  Status Start() override;
  Pace Drain(int64_t now_ns) override;
  std::vector<Hop> Hops() override;
  void Stop() override;

 private:
  // all: those that are known as well, which may have moved.
  void Look(int64_t now_ns, bool all);

  struct Known {
    uint32_t generation = 0;  // of the program that it runs
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
