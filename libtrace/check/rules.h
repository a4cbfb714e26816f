// SPDX-License-Identifier: Apache-2.0
//
// Rules that assert something about a trace, as text. docs/check.md describes the language.
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

#include "libtrace/base/result.h"

namespace acceltrace::check {

enum class Compare { kLess, kAtMost, kGreater, kAtLeast, kEqual, kUnequal };
const char* CompareText(Compare compare);

// The dimension of a number, as exponents: bytes per time is {-1, 1}. A share is a plain number.
struct Unit {
  int time = 0, bytes = 0;
  friend bool operator==(const Unit&, const Unit&) = default;
};
std::string UnitText(const Unit& unit);  // "a time", "a number of bytes"

// A condition on each row: TABLE.COLUMN compared with a value.
struct Condition {
  std::string table, column;
  Compare compare = Compare::kEqual;
  std::variant<double, std::string> value;  // text may hold * and ?
};

// The argument of a function: job.latency, op.NAME, api.NAME and so on.
struct Series {
  std::string head, name;  // a quoted name may hold * and ?
  bool glob = false;
};

struct Node {
  enum class Kind {
    kNumber,    // number, in ns or bytes if it has a unit
    kScalar,    // text is losses, run and so on
    kSeries,    // text is the function, number its percentile; uses series
    kShare,     // uses series
    kCount,     // uses conditions, all on the same row
    kBaseline,  // left in the other trace; without left, the other side of the comparison
    kNegative,  // uses left
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
  };
  Kind kind = Kind::kNumber;
  size_t column = 0;  // position in its line, from 1
  Unit unit;
  double number = 0;
  std::string text;
  Series series;
  std::vector<Condition> conditions;
  std::unique_ptr<Node> left, right;
};

struct Rule {
  std::string text;  // without surrounding blanks and comments
  size_t line = 0;   // from 1
  Compare compare = Compare::kLess;
  std::unique_ptr<Node> left, right;
  bool uses_baseline = false;
  // The rule asks for damage or losses, so missing rows do not make it undecided.
  bool about_faults = false;
};

// Parses one rule per line; # begins a comment. An error is one line with the place, the fault and
// how to correct it.
Result<std::vector<Rule>> ParseRules(std::string_view text);

// Returns true for the stages that `job.` may name besides latency and return.
bool IsJobSeries(std::string_view name);

}  // namespace acceltrace::check

#endif  // LIBTRACE_CHECK_RULES_H_
