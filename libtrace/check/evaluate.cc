// SPDX-License-Identifier: Apache-2.0
#include "libtrace/check/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace acceltrace::check {
bool Holds(double left, Compare compare, double right) {
  switch (compare) {
    case Compare::kLess:
      return left < right;
    case Compare::kAtMost:
      return left <= right;
    case Compare::kGreater:
      return left > right;
    case Compare::kAtLeast:
      return left >= right;
    case Compare::kEqual:
      return left == right;
    case Compare::kUnequal:
      return left != right;
  }
  return false;
}

namespace {

using analysis::Amount;
using Kind = Node::Kind;
using State = Outcome::State;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value Unknown(std::string why) {
  Value value;
  value.unknown = std::move(why);
  return value;
}

// Damaged traces can produce infinities and from them NaNs, which must not become bounds.
Value Bounded(double lo, double mid, double hi) {
  Value value;
  value.lo = std::isnan(lo) ? -kInfinity : lo;
  value.hi = std::isnan(hi) ? kInfinity : hi;
  value.mid = std::isnan(mid) ? 0 : mid;
  return value;
}

double Times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Value Multiply(const Value& a, const Value& b) {
  const auto [lo, hi] =
      std::minmax({Times(a.lo, b.lo), Times(a.lo, b.hi), Times(a.hi, b.lo), Times(a.hi, b.hi)});
  return Bounded(lo, a.mid * b.mid, hi);
}

Value Divide(const Value& a, const Value& b) {
  if (b.lo <= 0 && b.hi >= 0) return Unknown("divides by what may be 0");
  const Value inverse = Bounded(1 / b.hi, 1 / b.mid, 1 / b.lo);
  Value result = Multiply(a, inverse);
  result.mid = a.mid / b.mid;
  return result;
}

Value Arithmetic(Kind kind, const Value& a, const Value& b) {
  switch (kind) {
    case Kind::kAdd:
      return Bounded(a.lo + b.lo, a.mid + b.mid, a.hi + b.hi);
    case Kind::kSubtract:
      return Bounded(a.lo - b.hi, a.mid - b.mid, a.hi - b.lo);
    case Kind::kMultiply:
      return Multiply(a, b);
    default:
      return Divide(a, b);
  }
}

// Uses the nearest rank, as the report does. The percentiles of the lower and of the upper bounds
// are bounds of the true percentile.
Value Percentile(std::vector<Amount> members, double percent) {
  double parts[3];
  double Amount::*const which[] = {&Amount::lo, &Amount::mid, &Amount::hi};
  const auto n = static_cast<double>(members.size());
  const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(n * percent / 100)));
  const auto place = members.begin() + static_cast<ptrdiff_t>(rank - 1);
  for (int part = 0; part < 3; ++part) {
    std::nth_element(members.begin(), place, members.end(), [&](const Amount& a, const Amount& b) {
      return a.*which[part] < b.*which[part];
    });
    parts[part] = (*place).*which[part];
  }
  return Bounded(parts[0], parts[1], parts[2]);
}

Value Aggregate(const std::string& function, double percent, std::vector<Amount> members) {
  if (function == "count") {
    const auto n = static_cast<double>(members.size());
    return Bounded(n, n, n);
  }
  Amount total;
  if (function == "total" || function == "mean") {
    for (const Amount& member : members) total += member;
    const double n = function == "mean" ? static_cast<double>(members.size()) : 1;
    return Bounded(total.lo / n, total.mid / n, total.hi / n);
  }
  if (function == "min") percent = 0;
  if (function == "max") percent = 100;
  return Percentile(std::move(members), percent);
}

State Decide(const Value& left, Compare compare, const Value& right) {
  const auto both = [&](bool always, bool never) {
    return always ? State::kPass : never ? State::kFail : State::kUnknown;
  };
  const bool apart = left.hi < right.lo || right.hi < left.lo;
  const bool same = left.lo == left.hi && right.lo == right.hi && left.lo == right.lo;
  switch (compare) {
    case Compare::kLess:
      return both(left.hi < right.lo, left.lo >= right.hi);
    case Compare::kAtMost:
      return both(left.hi <= right.lo, left.lo > right.hi);
    case Compare::kGreater:
      return both(left.lo > right.hi, left.hi <= right.lo);
    case Compare::kAtLeast:
      return both(left.lo >= right.hi, left.hi < right.lo);
    case Compare::kEqual:
      return both(same, apart);
    case Compare::kUnequal:
      return both(apart, same);
  }
  return State::kUnknown;
}

}  // namespace

Value Trace::Evaluate(const Node& node, const Trace* baseline, const Value* other) const {
  Value value;
  switch (node.kind) {
    case Kind::kNumber:
      value = Bounded(node.number, node.number, node.number);
      break;
    case Kind::kScalar:
      value = Scalar(node.text);
      break;
    case Kind::kSeries:
      value = OfSeries(node);
      break;
    case Kind::kShare:
      value = Share(node.series);
      break;
    case Kind::kCount:
      value = Count(node);
      break;
    case Kind::kBaseline:
      if (node.left == nullptr) {
        value = other != nullptr ? *other : Unknown("there is no baseline");
      } else if (baseline != nullptr) {
        value = baseline->Evaluate(*node.left, nullptr, nullptr);
      } else {
        value = Unknown("there is no baseline");
      }
      break;
    case Kind::kNegative: {
      value = Evaluate(*node.left, baseline, other);
      if (value.unknown.empty()) value = Bounded(-value.hi, -value.mid, -value.lo);
      break;
    }
    default: {
      const Value left = Evaluate(*node.left, baseline, other);
      if (!left.unknown.empty()) return left;
      const Value right = Evaluate(*node.right, baseline, other);
      if (!right.unknown.empty()) return right;
      value = Arithmetic(node.kind, left, right);
    }
  }
  value.unit = node.unit;
  return value;
}

Value Trace::OfSeries(const Node& node) const {
  std::string why;
  std::vector<Amount> members = Members(node.series, &why);
  // An op, call, range or unit that does not occur counts as 0, but a misspelt table or column is
  // an error.
  const std::string& head = node.series.head;
  const bool named = head == "op" || head == "api" || head == "range" || head == "unit";
  const bool countable = node.text == "count" || node.text == "total";
  if (!why.empty() && !(named && countable)) return Unknown(why);
  if (members.empty() && !countable) {
    return Unknown("there is no " + node.series.head + "." + node.series.name + " in the trace");
  }
  Value value = Aggregate(node.text, node.number, std::move(members));
  if (lossy_) {
    const bool grows = node.text == "count" || node.text == "total" || node.text == "max";
    if (!grows) value.lo = node.text == "min" ? -kInfinity : 0;
    if (node.text != "min") value.hi = kInfinity;
  }
  return value;
}

std::vector<Outcome> CheckRules(const std::vector<Rule>& rules, const Trace& trace,
                                const Trace* baseline) {
  std::vector<Outcome> outcomes;
  for (const Rule& rule : rules) {
    Outcome outcome;
    outcome.rule = &rule;
    // `baseline` stands for the opposite side of the comparison, evaluated in the other trace.
    const auto in_baseline = [&](const Node& side) {
      return baseline == nullptr || !rule.uses_baseline
                 ? Unknown("there is no baseline")
                 : baseline->Evaluate(side, nullptr, nullptr);
    };
    const Value left_there = in_baseline(*rule.left), right_there = in_baseline(*rule.right);
    outcome.left = trace.Evaluate(*rule.left, baseline, &right_there);
    outcome.right = trace.Evaluate(*rule.right, baseline, &left_there);
    for (const Value* side : {&outcome.right, &outcome.left}) {
      if (!side->unknown.empty()) outcome.why = side->unknown;
    }
    if (outcome.why.empty()) {
      outcome.state = Decide(outcome.left, rule.compare, outcome.right);
      outcome.likely = Holds(outcome.left.mid, rule.compare, outcome.right.mid);
      if (outcome.state == State::kUnknown) {
        const bool missing = trace.lossy() || (baseline != nullptr && baseline->lossy());
        outcome.why = missing && !rule.about_faults
                          ? "rows are missing from the trace that could change it"
                          : "both are within the error bounds";
      }
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace acceltrace::check
