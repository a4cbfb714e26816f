// SPDX-License-Identifier: Apache-2.0
//
// When the recorder worked, so that a report can say what its work delayed.
// Bounded: with too many stretches neighbours are joined.
#ifndef DAEMON_BASE_WORK_LOG_H_
#define DAEMON_BASE_WORK_LOG_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "daemon/base/give_way.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::daemon {

class WorkLog {
 public:
  // [begin_ns, end_ns) on one CPU, cpu_ns of CPU time since the stretch before; in order. wakes: 0
  // if it only goes on after it gave way. lifted: it gave way to nobody, and is a stretch of its
  // own.
  void Add(int64_t begin_ns, int64_t end_ns, uint64_t cpu_ns, uint32_t cpu, uint32_t wakes = 1,
           bool lifted = false);

  // beside: of other threads that worked for the same recording. Where two worked at once on one
  // CPU, that is a stretch with what both had of it; on two it is one with all of both, on the CPU
  // of the one with more.
  void Write(proto::Accounts* accounts, std::initializer_list<const WorkLog*> beside = {}) const;
  size_t size() const { return rows_.size(); }

  static constexpr size_t kMaxRows = 2048;
  // Work that goes on after so short a pause is one stretch.
  static constexpr int64_t kJoinNs = 5'000;

  // The calling thread works from here to the end of the scope, but for when it gives way.
  class Stretch final : public GiveWayObserver {
   public:
    explicit Stretch(WorkLog* log);
    ~Stretch();
    void OnGaveWay(int64_t begin_ns, int64_t end_ns) override;
    Stretch(const Stretch&) = delete;
    Stretch& operator=(const Stretch&) = delete;

   private:
    void Add(int64_t end_ns);
    WorkLog* log_;
    int64_t begin_ns_;
    uint32_t wakes_ = 1;
  };

 private:
  struct Row {
    int64_t begin_ns, end_ns;
    uint64_t cpu_ns;
    uint32_t cpu, wakes;
    bool lifted = false;
  };
  void Halve();
  void Place(Row row);
  void Join(const WorkLog& beside);

  std::vector<Row> rows_;
  int64_t join_ns_ = kJoinNs;
  uint64_t last_cpu_ns_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_WORK_LOG_H_
