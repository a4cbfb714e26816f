// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/triggers.h"

#include <utility>

namespace acceltrace::daemon {

Triggers::Triggers(std::vector<TriggerRule> rules,
                   const std::function<uint32_t(std::string_view)>& intern) {
  for (TriggerRule& rule : rules) {
    if (rule.kind == TriggerRule::Kind::kSlowJob) {
      if (slow_job_ns_ == 0 || rule.min_ns < slow_job_ns_) {
        slow_job_ns_ = rule.min_ns;
        slow_job_ = rules_.size();
      }
    }
    const uint32_t name = rule.range.empty() ? 0 : intern(rule.range);
    rules_.push_back({std::move(rule), name});
  }
}

void Triggers::OnRangeBegin(uint32_t name) {
  for (size_t i = 0; i < rules_.size(); ++i) {
    const Rule& each = rules_[i];
    if (each.rule.kind == TriggerRule::Kind::kRangeBegin && each.name == name) Fire(i, -1);
  }
}

void Triggers::OnRangeEnd(uint32_t name, int64_t duration_ns) {
  for (size_t i = 0; i < rules_.size(); ++i) {
    const Rule& each = rules_[i];
    if (each.rule.kind == TriggerRule::Kind::kRangeEnd && each.name == name &&
        duration_ns >= each.rule.min_ns) {
      Fire(i, duration_ns);
    }
  }
}

void Triggers::Fire(size_t rule, int64_t duration_ns) {
  ++fired_;
  if (last_) return;  // only the first one since the last Take() is reported
  last_ = rules_[rule].rule.text;
  if (duration_ns >= 0) *last_ += " (" + std::to_string(duration_ns / 1000) + " us)";
}

std::optional<std::string> Triggers::Take() { return std::exchange(last_, std::nullopt); }

}  // namespace acceltrace::daemon
