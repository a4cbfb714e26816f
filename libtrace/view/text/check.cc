// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/text/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "libtrace/analysis/rows/unknown.h"
#include "libtrace/base/utf8.h"
#include "libtrace/view/common/format.h"

namespace acceltrace::view {
namespace {

using check::Outcome;
using check::Value;
using State = Outcome::State;

// Removes characters that XML does not allow, and escapes those that have a meaning.
std::string Xml(const std::string& text) {
  std::string out;
  for (const char c : Printable(text)) {  // has neither control characters nor invalid UTF-8
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

const char* StateName(State state) {
  return state == State::kPass ? "pass" : state == State::kFail ? "fail" : "unknown";
}

nlohmann::ordered_json ValueJson(const Value& value) {
  if (!value.unknown.empty()) return nullptr;
  const auto number = [](double n) {
    return std::isfinite(n) ? nlohmann::ordered_json(n) : nlohmann::ordered_json();
  };
  // If a time can be anything, there is no bound to show.
  const bool time = value.unit == check::Unit{1, 0};
  const auto bound = [&](double n) {
    const bool known =
        !time || std::fabs(n - value.mid) < static_cast<double>(analysis::kUnknownNs);
    return known ? number(n) : nlohmann::ordered_json();
  };
  return {{"value", number(value.mid)}, {"lo", bound(value.lo)}, {"hi", bound(value.hi)}};
}

std::string NumberText(double number) {
  return number == std::floor(number) && std::fabs(number) < 1e15
             ? fmt::format("{}", static_cast<int64_t>(number))
             : fmt::format("{:.6g}", number);
}

}  // namespace

bool Passed(const Outcome& outcome, bool lenient) {
  return outcome.state == State::kPass ||
         (lenient && outcome.state == State::kUnknown && outcome.likely);
}

std::string FormatValue(const Value& value, bool share) {
  if (!value.unknown.empty()) return value.unknown;
  if (share) return FormatShare(analysis::Ratio{value.lo, value.mid, value.hi});
  if (value.unit == check::Unit{1, 0} && std::fabs(value.mid) < 9e18) {
    if (std::isfinite(value.lo) && std::isfinite(value.hi)) {
      return FormatSpan(analysis::Amount{value.lo, value.mid, value.hi});
    }
    return FormatNs(static_cast<int64_t>(value.mid)) + " or another";
  }
  const bool bytes = value.unit == check::Unit{0, 1};
  const std::string unit = bytes ? " B" : value.unit == check::Unit{} ? "" : " (ns, B)";
  const std::string text = NumberText(value.mid) + unit;
  if (value.lo == value.hi) return text;
  const auto bound = [&](double n) { return std::isfinite(n) ? NumberText(n) : "unknown"; };
  return fmt::format("{}, between {} and {}{}", text, bound(value.lo), bound(value.hi), unit);
}

std::string OutcomeText(const Outcome& outcome) {
  std::string text = outcome.rule->text + ": ";
  if (!outcome.left.unknown.empty() || !outcome.right.unknown.empty()) return text + outcome.why;
  text += "is " + FormatValue(outcome.left, outcome.rule->left->kind == check::Node::Kind::kShare);
  if (outcome.rule->right->kind != check::Node::Kind::kNumber) {
    text += " against " + FormatValue(outcome.right);
  }
  if (outcome.state == State::kUnknown) text += ": " + outcome.why;
  return text;
}

std::string TextCheck(const std::vector<Outcome>& outcomes, bool lenient, const Style& style) {
  std::string out;
  for (const Outcome& outcome : outcomes) {
    const bool passed = Passed(outcome, lenient);
    const bool sure = outcome.state != State::kUnknown;
    const char* word = sure ? (passed ? "pass" : "FAIL") : passed ? "likely" : "UNSURE";
    out += Paint(style, passed ? Ink::kGood : Ink::kBad, fmt::format("{:<7}", word)) +
           Printable(OutcomeText(outcome)) + "\n";
  }
  return out;
}

std::string JsonCheck(const std::vector<Outcome>& outcomes, bool lenient) {
  nlohmann::ordered_json rules = nlohmann::ordered_json::array();
  size_t passed = 0;
  for (const Outcome& outcome : outcomes) {
    passed += Passed(outcome, lenient);
    nlohmann::ordered_json rule = {
        {"rule", outcome.rule->text},        {"line", outcome.rule->line},
        {"state", StateName(outcome.state)}, {"passed", Passed(outcome, lenient)},
        {"left", ValueJson(outcome.left)},   {"right", ValueJson(outcome.right)}};
    if (!outcome.why.empty()) rule["why"] = outcome.why;
    rules.push_back(std::move(rule));
  }
  const nlohmann::ordered_json json = {{"schema", "acceltrace.check"},
                                       {"version", 1},
                                       {"passed", passed},
                                       {"failed", outcomes.size() - passed},
                                       {"rules", rules}};
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string JunitCheck(const std::vector<Outcome>& outcomes, bool lenient, const std::string& file,
                       const std::string& rules) {
  size_t failed = 0;
  for (const Outcome& outcome : outcomes) failed += !Passed(outcome, lenient);
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\"", outcomes.size(), failed);
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n<testsuite "
      "name=\"acceltrace check {1}\" {0}>\n",
      counts, Xml(file));
  for (const Outcome& outcome : outcomes) {
    out += fmt::format("<testcase classname=\"{}\" name=\"{}\" line=\"{}\"", Xml(rules),
                       Xml(outcome.rule->text), outcome.rule->line);
    const std::string text = Xml(OutcomeText(outcome));
    if (!Passed(outcome, lenient)) {
      out += fmt::format(">\n<failure type=\"{}\" message=\"{}\"/>\n</testcase>\n",
                         StateName(outcome.state), text);
    } else {
      out += fmt::format(">\n<system-out>{}</system-out>\n</testcase>\n", text);
    }
  }
  return out + "</testsuite>\n</testsuites>\n";
}

}  // namespace acceltrace::view
