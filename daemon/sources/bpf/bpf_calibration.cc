// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/bpf_calibration.h"

#include <bpf/libbpf.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/sdt.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "daemon/sources/provider/provider_tracepoints.h"

namespace acceltrace::daemon {
namespace {

constexpr int kRounds = 7, kTimes = 24;
constexpr size_t kSampleRingBytes = 64 << 10;  // for all samples

struct LinkDeleter {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, LinkDeleter>;

// Triggers the tracepoint task_rename.
void Rename(const char* name) { prctl(PR_SET_NAME, name, 0UL, 0UL, 0UL); }

__attribute__((noinline)) void Fire(const char* name, uint64_t correlation) {
  DTRACE_PROBE4(acceltraced, calibrate, name, correlation, uint64_t{4096}, uint32_t{1});
}

// Runs all rounds without the program, then the same number with it, since attaching takes longer
// than running.
template <typename Attach>
Measured With(const std::function<void()>& once, Attach&& attach) {
  const auto nothing = [] {};
  const Measured without = CostOf(once, nothing, kRounds, kTimes);
  const auto attached = attach();
  if (!attached) return {};
  once();  // first-time initialisation
  const Measured with = CostOf(once, nothing, kRounds, kTimes);
  return {std::max(0.0, with.ns - without.ns), with.error_ns + without.error_ns};
}

}  // namespace

Measured CalibrateTracepoint(bpf_program* program) {
  char name[16] = {};
  prctl(PR_GET_NAME, name, 0UL, 0UL, 0UL);
  return With(
      [&name] { Rename(name); },
      [program] { return Link(bpf_program__attach_raw_tracepoint(program, "task_rename")); });
}

Measured CalibrateUsdt(bpf_program* program) {
  char self[PATH_MAX] = {};
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0) return {};
  uint64_t correlation = 0;
  return With([&] { Fire("calibrate", ++correlation); },
              [&] {
                return Link(bpf_program__attach_usdt(program, getpid(), self, "acceltraced",
                                                     "calibrate", nullptr));
              });
}

Measured CalibrateSystemCall(bpf_program* begin, bpf_program* end) {
  using Links = std::pair<Link, Link>;
  Measured cost = With([] { (void)getpgid(0); },
                       [&]() -> std::unique_ptr<Links> {
                         auto links = std::make_unique<Links>();
                         links->first.reset(bpf_program__attach_trace(begin));
                         if (links->first) links->second.reset(bpf_program__attach_trace(end));
                         return links->second ? std::move(links) : nullptr;
                       });
  cost.ns /= 2, cost.error_ns /= 2;
  return cost;
}

Measured CalibrateSample() {
  struct Sampled {
    UniqueFd fd;
    Mapping ring;
  };
  char name[16] = {};
  prctl(PR_GET_NAME, name, 0UL, 0UL, 0UL);
  return With([&name] { Rename(name); },
              []() -> std::unique_ptr<Sampled> {
                auto sampled = std::make_unique<Sampled>();
                const uint32_t id = TracepointId("task", "task_rename");
                sampled->fd = OpenTracepoint(id, 0, -1, kSampleRingBytes / 2);
                if (!sampled->fd.valid()) return nullptr;
                sampled->ring = MapRing(sampled->fd.get(), kSampleRingBytes);
                if (sampled->ring.get() == nullptr ||
                    ioctl(sampled->fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
                  return nullptr;
                }
                return sampled;
              });
}

}  // namespace acceltrace::daemon
