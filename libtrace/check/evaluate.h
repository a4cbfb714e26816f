// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the rules on a trace, as far as its contents allow.
//
// Every value is an interval. What is measured through a device's clock has error bounds, and where
// rows are missing, a count can only be larger and a percentile can be anything. A rule holds if it
// holds for all values within the bounds, is broken if it holds for none of them, and is undecided
// otherwise.
#ifndef LIBTRACE_CHECK_EVALUATE_H_
#define LIBTRACE_CHECK_EVALUATE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/check/rules.h"
#include "libtrace/query/tables.h"

namespace acceltrace::check {

struct Value {
  double lo = 0, mid = 0, hi = 0;
  Unit unit;
  std::string unknown;  // why the value is unknown; empty if it is known
};

struct Outcome {
  enum class State { kPass, kFail, kUnknown };
  const Rule* rule = nullptr;
  State state = State::kUnknown;
  bool likely = false;  // the rule holds for the most likely values
  Value left, right;
  std::string why;  // the reason for kUnknown, on one line
};

// The values that rules can name in one trace. The report must outlive it.
class Trace {
 public:
  explicit Trace(const analysis::Report& report);
  Value Evaluate(const Node& node, const Trace* baseline, const Value* other) const;
  bool lossy() const { return lossy_; }

 private:
  Value Scalar(const std::string& name) const;
  Value OfSeries(const Node& node) const;
  Value Share(const Series& series) const;
  Value Count(const Node& node) const;
  const query::PlainTable* Find(const std::string& name) const;
  // Returns durations, or the values of a column. Sets *why if there is no such series.
  std::vector<analysis::Amount> Members(const Series& series, std::string* why) const;
  std::vector<analysis::Amount> JobMembers(const std::string& name) const;
  std::vector<analysis::Amount> CommandMembers(const Series& series, std::string* why) const;
  std::vector<analysis::Amount> NamedMembers(const Series& series, std::string* why) const;
  std::vector<analysis::Amount> ColumnMembers(const Series& series, std::string* why) const;

  const analysis::Report& report_;
  const model::Model& model_;
  bool lossy_ = false;
  std::vector<query::PlainTable> tables_;
};

// Compares two known numbers.
bool Holds(double left, Compare compare, double right);

// baseline may be nullptr: rules that use it are then undecided.
std::vector<Outcome> CheckRules(const std::vector<Rule>& rules, const Trace& trace,
                                const Trace* baseline);

}  // namespace acceltrace::check

#endif  // LIBTRACE_CHECK_EVALUATE_H_
