// SPDX-License-Identifier: Apache-2.0
//
// Applies rules to events as they are recorded: a slow job, the begin or the end of a range.
#ifndef DAEMON_SESSION_TRIGGERS_H_
#define DAEMON_SESSION_TRIGGERS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/control/recording.h"

namespace acceltrace::daemon {

using control::TriggerRule;

class Triggers {
 public:
  // `intern` returns the number by which events refer to a range's name.
  Triggers(std::vector<TriggerRule> rules, const std::function<uint32_t(std::string_view)>& intern);

  // `submit_ns` is 0 if unknown, as for a job that was submitted before the recording.
  void OnJob(int64_t submit_ns, int64_t complete_ns) {
    if (slow_job_ns_ != 0 && submit_ns != 0 && complete_ns - submit_ns >= slow_job_ns_) {
      Fire(slow_job_, complete_ns - submit_ns);
    }
  }
  void OnRangeBegin(uint32_t name);
  void OnRangeEnd(uint32_t name, int64_t duration_ns);

  // The number of times that any rule has fired.
  uint64_t fired() const { return fired_; }
  // Describes what fired since the last call; nullopt if none did.
  std::optional<std::string> Take();

 private:
  struct Rule {
    TriggerRule rule;
    uint32_t name = 0;
  };
  void Fire(size_t rule, int64_t duration_ns);

  std::vector<Rule> rules_;
  size_t slow_job_ = 0;  // the strictest one of several
  int64_t slow_job_ns_ = 0;
  uint64_t fired_ = 0;
  std::optional<std::string> last_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SESSION_TRIGGERS_H_
