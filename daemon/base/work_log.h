// SPDX-License-Identifier: Apache-2.0
//
// The times at which the recorder worked, so that a report can tell what its work delayed. Memory
// is bounded: if there are too many intervals, neighbours are joined.
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
  // Adds an interval ("stretch") [begin_ns, end_ns) of work on one CPU, in order of time. `cpu_ns`
  // is the CPU time since the previous one. `wakes` is 0 if the thread only continues after it
  // yielded. With `lifted` the thread did not yield; the interval is not joined with others.
  void Add(int64_t begin_ns, int64_t end_ns, uint64_t cpu_ns, uint32_t cpu, uint32_t wakes = 1,
           bool lifted = false);

  // `beside` are the logs of other threads of the same recording. If two threads worked at once on
  // the same CPU, their intervals become one with the sum of both; on different CPUs, one with the
  // sum of both on the CPU of the one with more.
  void Write(proto::Accounts* accounts, std::initializer_list<const WorkLog*> beside = {}) const;
  size_t size() const { return rows_.size(); }

  static constexpr size_t kMaxRows = 2048;
  // Intervals with a shorter pause between them are joined.
  static constexpr int64_t kJoinNs = 5'000;

  // The calling thread works from here to the end of the scope, except when it yields.
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
