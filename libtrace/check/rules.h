// SPDX-License-Identifier: Apache-2.0
//
// Assertions on a trace, as text.
// docs/check.md has the language.
//
//   p99(job.latency) < 80us
//   count(api.name == "Memcpy" and api.bytes > 4096) <= 10
//   p50(op.matmul) <= 1.05 * baseline
#ifndef LIBTRACE_CHECK_RULES_H_
#define LIBTRACE_CHECK_RULES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libtrace/stream/result.h"

namespace acceltrace::check {

enum class Compare { kLess, kAtMost, kGreater, kAtLeast, kEqual, kUnequal };
const char* CompareText(Compare compare);

// What a number counts, as powers: bytes a time is {-1, 1}. A share is a plain number.
struct Unit {
  int time = 0, bytes = 0;
  friend bool operator==(const Unit&, const Unit&) = default;
};
std::string UnitText(const Unit& unit);  // "a time", "a number of bytes"

// TABLE.COLUMN compared with a value: of a row.
struct Condition {
  std::string table, column;
  Compare compare = Compare::kEqual;
  std::variant<double, std::string> value;  // text: with * and ?
};

// What a function is of: job.latency, op.NAME, api.NAME ...
struct Series {
  std::string head, name;  // name: with * and ? if it was quoted
  bool glob = false;
};

struct Node {
  enum class Kind {
    kNumber,    // number, in ns or bytes if it has a unit
    kScalar,    // text: losses, run, ...
    kSeries,    // text: the function, number: its percent; series
    kShare,     // series: of what
    kCount,     // conditions, all of one row
    kBaseline,  // left: in the other trace; nothing: the other side of the comparison
    kNegative,  // left
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
  };
  Kind kind = Kind::kNumber;
  size_t column = 0;  // where it is in its line, from 1
  Unit unit;
  double number = 0;
  std::string text;
  Series series;
  std::vector<Condition> conditions;
  std::unique_ptr<Node> left, right;
};

struct Rule {
  std::string text;  // without what surrounds it
  size_t line = 0;   // from 1
  Compare compare = Compare::kLess;
  std::unique_ptr<Node> left, right;
  bool uses_baseline = false;
  // Damage and losses are what it asks for.
  bool about_faults = false;
};

// One rule a line; # begins a remark. The error is one line: place, what is wrong, what to do.
Result<std::vector<Rule>> ParseRules(std::string_view text);

// The stages that job. may name besides latency and return.
bool IsJobSeries(std::string_view name);

}  // namespace acceltrace::check

#endif  // LIBTRACE_CHECK_RULES_H_
