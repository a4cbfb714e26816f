// SPDX-License-Identifier: Apache-2.0
//
// Computes how fast commands progress that share a device's link and memory, see whatif.h.
// Internal.
#ifndef LIBTRACE_ANALYSIS_ROWS_SHARING_H_
#define LIBTRACE_ANALYSIS_ROWS_SHARING_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace acceltrace::analysis {

// How many ns a command occupies each resource. alone_ns is the least time that it takes by its own
// means.
struct Use {
  double memory_ns = 0, to_device_ns = 0, from_device_ns = 0, alone_ns = 0, stretch = 1;
};

class Sharing {
 public:
  explicit Sharing(size_t units) { flows_.reserve(units + 1); }

  // Returns when the first command will end.
  double next_ns() const { return next_ns_; }

  // Times must not decrease. Returns false if the command takes no time.
  bool Add(double at_ns, uint32_t node, const Use& use) {
    Flow flow;
    flow.node = node;
    flow.use = {use.memory_ns, use.to_device_ns, use.from_device_ns};
    flow.stretch = use.stretch;
    flow.dominant = std::max({use.memory_ns, use.to_device_ns, use.from_device_ns});
    flow.cap = use.alone_ns > 0 ? 1 / use.alone_ns : kInfinite;
    if (flow.dominant <= 0 && use.alone_ns <= 0) return false;
    Progress(at_ns);
    flows_.push_back(flow);
    Fill();
    return true;
  }

  // Removes the command that ends at next_ns() and returns its node.
  uint32_t Remove() {
    Progress(next_ns_);
    const uint32_t node = flows_[first_].node;
    flows_[first_] = flows_.back();
    flows_.pop_back();
    Fill();
    return node;
  }

 private:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();
  static constexpr size_t kShared = 3;
  struct Flow {
    std::array<double, kShared> use;
    double dominant, cap, stretch;
    double left = 1, rate = 0, grow = 0;
    uint32_t node;
    bool fixed;
  };

  void Progress(double at_ns) {
    const double ns = at_ns - now_ns_;
    if (ns > 0) {
      for (Flow& flow : flows_) flow.left = std::max(0.0, flow.left - flow.rate * ns);
    }
    now_ns_ = std::max(now_ns_, at_ns);
  }

  void Fill() {
    if (flows_.size() == 1) return FillOne();
    FillAll();
  }

  // A fast path for a single command, the most frequent case, with the result of FillAll().
  void FillOne() {
    Flow& flow = flows_.front();
    flow.fixed = true;
    flow.rate = flow.cap;
    flow.grow = 0;
    if (flow.dominant > 0) {
      flow.grow = 1 / flow.dominant;
      double step = flow.cap / flow.grow;
      for (size_t r = 0; r < kShared; ++r) {
        const double load = flow.grow * flow.use[r];
        if (load > 0 && 1 / load < step) step = 1 / load;
      }
      flow.rate = flow.grow * step;
    }
    const double end_ns = now_ns_ + flow.left * flow.stretch / flow.rate;
    flow.rate /= flow.stretch;
    next_ns_ = kInfinite;
    if (end_ns < next_ns_) next_ns_ = end_ns, first_ = 0;
  }

  void FillAll() {
    std::array<double, kShared> room;
    room.fill(1);
    size_t active = 0;
    for (Flow& flow : flows_) {
      flow.fixed = flow.dominant <= 0;
      flow.rate = flow.fixed ? flow.cap : 0;
      flow.grow = flow.fixed ? 0 : 1 / flow.dominant;
      active += !flow.fixed;
    }
    while (active > 0) active -= Grow(&room);
    next_ns_ = kInfinite;
    for (size_t i = 0; i < flows_.size(); ++i) {
      const double end_ns = now_ns_ + flows_[i].left * flows_[i].stretch / flows_[i].rate;
      flows_[i].rate /= flows_[i].stretch;
      if (end_ns < next_ns_) next_ns_ = end_ns, first_ = i;
    }
  }

  // Increases the rates until a resource is used up or a command is as fast as it can be. Returns
  // how many commands that stops.
  size_t Grow(std::array<double, kShared>* room) {
    double step = kInfinite;
    std::array<double, kShared> load{};
    size_t slowest = flows_.size(), full = kShared, stopped = 0;
    for (size_t i = 0; i < flows_.size(); ++i) {
      const Flow& flow = flows_[i];
      if (flow.fixed) continue;
      for (size_t r = 0; r < kShared; ++r) load[r] += flow.grow * flow.use[r];
      const double until = (flow.cap - flow.rate) / flow.grow;
      if (until < step) step = until, slowest = i;
    }
    for (size_t r = 0; r < kShared; ++r) {
      if (load[r] > 0 && (*room)[r] / load[r] < step) step = (*room)[r] / load[r], full = r;
    }
    for (size_t i = 0; i < flows_.size(); ++i) {
      Flow& flow = flows_[i];
      if (flow.fixed) continue;
      flow.rate += flow.grow * step;
      for (size_t r = 0; r < kShared; ++r) {
        (*room)[r] = std::max(0.0, (*room)[r] - flow.grow * step * flow.use[r]);
      }
      if (full < kShared ? flow.use[full] > 0 : i == slowest) flow.fixed = true, ++stopped;
    }
    return stopped;
  }

  std::vector<Flow> flows_;
  double now_ns_ = 0, next_ns_ = kInfinite;
  size_t first_ = 0;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_SHARING_H_
