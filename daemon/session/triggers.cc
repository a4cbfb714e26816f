// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/triggers.h"

#include <utility>

#include "daemon/base/quantities.h"

namespace acceltrace::daemon {
namespace {

constexpr std::string_view kBegin = "begin:";
constexpr std::string_view kRange = "range:";
constexpr size_t kMaxNameBytes = 4096;

bool StartsWith(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

}  // namespace

Result<TriggerRule> ParseTrigger(std::string_view text) {
  const Status bad =
      Status::Error("no rule '" + std::string(text.substr(0, 64)) +
                    "'; rules are job>10ms, begin:NAME, range:NAME, range:NAME>20ms");
  TriggerRule rule;
  rule.text = text;
  if (StartsWith(text, kBegin)) {
    rule.kind = TriggerRule::Kind::kRangeBegin;
    rule.range = text.substr(kBegin.size());
    if (rule.range.empty() || rule.range.size() > kMaxNameBytes) return bad;
    return rule;
  }
  // A range's own name may have a '>' in it: what follows the last one is a time, or part of it.
  const size_t more = text.rfind('>');
  std::optional<uint64_t> least_ns;
  if (more != std::string_view::npos) least_ns = ParseDurationNs(text.substr(more + 1));
  if (StartsWith(text, kRange)) {
    rule.kind = TriggerRule::Kind::kRangeEnd;
    text = text.substr(0, least_ns ? more : text.size());
    rule.range = text.substr(kRange.size());
    rule.min_ns = static_cast<int64_t>(least_ns.value_or(0));
    if (rule.range.empty() || rule.range.size() > kMaxNameBytes) return bad;
    return rule;
  }
  if (!least_ns || *least_ns == 0 || text.substr(0, more) != "job") return bad;
  rule.min_ns = static_cast<int64_t>(*least_ns);
  return rule;
}

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
  if (last_) return;  // only the first since then is reported
  last_ = rules_[rule].rule.text;
  if (duration_ns >= 0) *last_ += " (" + std::to_string(duration_ns / 1000) + " us)";
}

std::optional<std::string> Triggers::Take() { return std::exchange(last_, std::nullopt); }

}  // namespace acceltrace::daemon
