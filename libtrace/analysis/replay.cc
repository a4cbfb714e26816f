// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/replay.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>

namespace acceltrace::analysis {
namespace {

// In the order in which they are looked at when they fall on the same instant.
enum class Kind { kCompletion, kStart, kDoorbell, kWake, kWait };

struct Point {
  int64_t at_ns;
  Kind kind;
  size_t job;  // row, or kNone
  uint32_t tid, cpu;
};
constexpr size_t kNone = SIZE_MAX;

// One thread, or all of them on one CPU.
struct Lane {
  Lane(const TracerWork& tracer, uint32_t tid, Estimate estimate, int64_t begin_ns)
      : work(tracer, tid, estimate), last_ns(begin_ns) {}
  WorkSum work;
  int64_t last_ns;
  double shift_ns = 0;
  bool waits = false;
  uint32_t cpu = 0;
};

class Replay {
 public:
  Replay(const model::Model& model, const TracerWork& tracer, Estimate estimate, int64_t begin_ns)
      : model_(model),
        tracer_(tracer),
        estimate_(estimate),
        begin_ns_(begin_ns),
        one_cpu_(model.info.num_cpus() <= 1),
        doorbell_shift_(model.jobs.size()),
        job_shift_(model.jobs.size()),
        last_done_(model.devices.size(), kNone),
        latency_ns_(model.devices.size(), INT64_MAX) {}

  double Run(int64_t end_ns) {
    Collect();
    Lane* last = nullptr;
    for (const Point& point : points_) {
      if (point.at_ns > end_ns) break;
      if (point.kind == Kind::kStart) {
        Start(point);
      } else if (point.kind == Kind::kCompletion) {
        last_done_[model_.jobs.device[point.job]] = point.job;
      } else {
        last = &At(point);
        Host(point, last);
      }
    }
    if (last == nullptr) return 0;
    return last->shift_ns + last->work.Between(last->last_ns, end_ns, WhichCpu(*last));
  }

 private:
  void Collect() {
    const model::Jobs& jobs = model_.jobs;
    std::map<std::pair<uint64_t, uint64_t>, size_t> by_sequence;
    for (size_t j = 0; j < jobs.size(); ++j) {
      by_sequence[{uint64_t{jobs.device[j]} << 32 | jobs.queue[j], jobs.sequence[j]}] = j;
      const int64_t rung_ns = std::max(jobs.doorbell_ns[j], jobs.submit_ns[j]);
      if (rung_ns != model::kNoTime) {
        points_.push_back({rung_ns, Kind::kDoorbell, j, jobs.tid[j], 0});
      }
      if (!jobs.on_device[j]) continue;
      const int64_t start_ns = StartNs(j);
      points_.push_back({start_ns, Kind::kStart, j, 0, 0});
      points_.push_back(
          {std::max(start_ns, jobs.completion.host[j].mid_ns), Kind::kCompletion, j, 0, 0});
      int64_t& least = latency_ns_[jobs.device[j]];
      least = std::min(least, std::max<int64_t>(0, start_ns - jobs.doorbell.host[j].mid_ns));
    }
    const model::HostEvents& host = model_.host;
    for (size_t i = 0; i < host.size(); ++i) {
      const bool wait = host.kind[i] == proto::HostBatch::KIND_WAIT;
      if (!wait && host.kind[i] != proto::HostBatch::KIND_WAKE) continue;
      const auto job =
          by_sequence.find({uint64_t{host.device[i]} << 32 | host.queue[i], host.sequence[i]});
      points_.push_back({host.time_ns[i], wait ? Kind::kWait : Kind::kWake,
                         job == by_sequence.end() ? kNone : job->second, host.tid[i], host.cpu[i]});
    }
    std::stable_sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
      return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.kind < b.kind;
    });
  }

  int64_t StartNs(size_t j) const {
    const model::Jobs& jobs = model_.jobs;
    return std::max(jobs.first_start.host[j].mid_ns, jobs.doorbell.host[j].mid_ns);
  }

  Lane& At(const Point& point) {
    const uint32_t tid = one_cpu_ ? WorkSum::kEvery : point.tid;
    return lanes_.try_emplace(tid, tracer_, tid, estimate_, begin_ns_).first->second;
  }
  uint32_t WhichCpu(const Lane& lane) const { return one_cpu_ ? WorkSum::kEvery : lane.cpu; }

  void Host(const Point& point, Lane* lane) {
    const double work_ns = lane->work.Between(lane->last_ns, point.at_ns, WhichCpu(*lane));
    if (point.kind == Kind::kWake && lane->waits && point.job != kNone &&
        model_.jobs.on_device[point.job]) {
      Wake(point, lane);
    } else {
      lane->shift_ns += work_ns;
    }
    if (point.kind == Kind::kDoorbell) doorbell_shift_[point.job] = lane->shift_ns;
    if (point.kind == Kind::kWake || point.kind == Kind::kWait) lane->cpu = point.cpu;
    lane->waits = point.kind == Kind::kWait;
    lane->last_ns = std::max(lane->last_ns, point.at_ns);
  }

  // Nothing ran in this lane since last_ns but for the tracer.
  void Wake(const Point& point, Lane* lane) {
    const int64_t done_ns = model_.jobs.completion.host[point.job].mid_ns;
    const int64_t from_ns = std::min(point.at_ns, std::max(lane->last_ns, done_ns));
    const double rest_ns = static_cast<double>(point.at_ns - from_ns);
    const double work_ns =
        std::min(rest_ns, lane->work.Between(from_ns, point.at_ns, WhichCpu(*lane)));
    const double came_ns = static_cast<double>(lane->last_ns - begin_ns_) - lane->shift_ns;
    const double complete_ns = static_cast<double>(done_ns - begin_ns_) - job_shift_[point.job];
    const double woken_ns = std::max(came_ns, complete_ns) + rest_ns - work_ns;
    lane->shift_ns = static_cast<double>(point.at_ns - begin_ns_) - woken_ns;
  }

  void Start(const Point& point) {
    const model::Jobs& jobs = model_.jobs;
    const uint32_t device = jobs.device[point.job];
    const double at_ns = static_cast<double>(point.at_ns);
    const double rung_ns = std::min(
        at_ns, static_cast<double>(jobs.doorbell.host[point.job].mid_ns + latency_ns_[device]));
    const double by_doorbell_ns = rung_ns - doorbell_shift_[point.job];
    const size_t before = last_done_[device];
    double base_ns = rung_ns, without_ns = by_doorbell_ns;
    if (before != kNone) {
      const double free_ns =
          std::min(at_ns, static_cast<double>(jobs.completion.host[before].mid_ns));
      base_ns = std::max(base_ns, free_ns);
      without_ns = std::max(without_ns, free_ns - job_shift_[before]);
    }
    job_shift_[point.job] = base_ns - without_ns;
  }

  const model::Model& model_;
  const TracerWork& tracer_;
  const Estimate estimate_;
  const int64_t begin_ns_;
  const bool one_cpu_;
  std::vector<Point> points_;
  std::unordered_map<uint32_t, Lane> lanes_;
  std::vector<double> doorbell_shift_, job_shift_;  // by job
  std::vector<size_t> last_done_;                   // by device
  std::vector<int64_t> latency_ns_;                 // doorbell to first start, at least
};

}  // namespace

double ReplayWithout(const model::Model& model, const TracerWork& work, Estimate estimate,
                     int64_t begin_ns, int64_t end_ns) {
  if (end_ns <= begin_ns || !work.known()) return 0;
  const double shift_ns = Replay(model, work, estimate, begin_ns).Run(end_ns);
  return std::clamp(shift_ns, 0.0, static_cast<double>(end_ns - begin_ns));
}

}  // namespace acceltrace::analysis
