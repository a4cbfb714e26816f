// SPDX-License-Identifier: Apache-2.0
#include "libtrace/check/rules.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "libtrace/analysis/usage/latency.h"
#include "libtrace/base/byte_order_mark.h"
#include "libtrace/check/lexer.h"

namespace acceltrace::check {
namespace {

using Kind = Node::Kind;
using NodePtr = std::unique_ptr<Node>;
using TokenKind = Token::Kind;

constexpr size_t kMaxLine = 4096, kMaxRules = 10'000;
constexpr int kMaxDepth = 50;

struct Scalar {
  const char* name;
  Unit unit;
  bool about_faults;
};
constexpr Scalar kScalars[] = {
    {"run", {1, 0}, false},     {"losses", {}, true},
    {"damage", {}, true},       {"faults", {}, true},
    {"violations", {}, true},   {"broken_laws", {}, true},
    {"jobs", {}, false},        {"commands", {}, false},
    {"calls", {}, false},       {"failed", {}, false},
    {"gaps", {}, false},        {"gap_time", {1, 0}, false},
    {"overlap", {1, 0}, false}, {"clock_error", {1, 0}, false},
};

// Derives the unit from the column's name.
Unit UnitOfColumn(std::string_view column) {
  if (column.ends_with("_ns")) return {1, 0};
  if (column == "bytes" || column.ends_with("_bytes")) return {0, 1};
  return {};
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Status Run(Rule* rule) {
    rule_ = rule;
    Status status = Sum(&rule->left);
    if (!status.ok()) return status;
    const size_t column = Peek().column;
    if (!TakeCompare(&rule->compare)) {
      return ErrorAt(column, "a comparison is missing: <, <=, >, >=, == or !=");
    }
    status = Sum(&rule->right);
    if (!status.ok()) return status;
    if (Peek().kind != TokenKind::kEnd) {
      return ErrorAt(Peek().column, "the rule ends before this: one comparison a line");
    }
    return Settle(column);
  }

 private:
  // Compares the units of both sides, once it is known that `baseline` stands for the other side.
  Status Settle(size_t column) {
    const bool left = IsOther(*rule_->left), right = IsOther(*rule_->right);
    if (left && right)
      return ErrorAt(column, "baseline on both sides: it stands for the other one");
    if (others_ > 0) {
      // Only multiples of `baseline` are allowed, so it has the unit of the other side.
      Node* side = left ? rule_->left.get() : rule_->right.get();
      side->unit = left ? rule_->right->unit : rule_->left->unit;
    }
    if (rule_->left->unit == rule_->right->unit) return {};
    const bool time = rule_->left->unit == Unit{1, 0} && rule_->right->unit == Unit{};
    const bool bytes = rule_->left->unit == Unit{0, 1} && rule_->right->unit == Unit{};
    return ErrorAt(column, UnitText(rule_->left->unit) + " is compared with " +
                               UnitText(rule_->right->unit) +
                               (time    ? ": write a unit, as in 80us"
                                : bytes ? ": write a unit, as in 4KiB"
                                        : ""));
  }

  static bool IsOther(const Node& node) {
    if (node.kind == Kind::kBaseline) return node.left == nullptr;
    return (node.left && IsOther(*node.left)) || (node.right && IsOther(*node.right));
  }

  const Token& Peek() const { return tokens_[at_]; }
  Token Take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool TakeMark(std::string_view mark) {
    if (Peek().kind != TokenKind::kMark || Peek().text != mark) return false;
    Take();
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (Peek().kind != TokenKind::kWord || Peek().text != word) return false;
    Take();
    return true;
  }
  Status Close() {
    if (TakeMark(")")) return {};
    return ErrorAt(Peek().column, "a ) is missing");
  }

  bool TakeCompare(Compare* compare) {
    constexpr Compare kAll[] = {Compare::kLess,    Compare::kAtMost, Compare::kGreater,
                                Compare::kAtLeast, Compare::kEqual,  Compare::kUnequal};
    for (const Compare one : kAll) {
      if (!TakeMark(CompareText(one))) continue;
      *compare = one;
      return true;
    }
    return false;
  }

  static NodePtr Make(Kind kind, size_t column) {
    auto node = std::make_unique<Node>();
    node->kind = kind, node->column = column;
    return node;
  }

  Status Sum(NodePtr* out) {
    if (++depth_ > kMaxDepth) return ErrorAt(Peek().column, "too many parentheses");
    Status status = Product(out);
    while (status.ok() && Peek().kind == TokenKind::kMark &&
           (Peek().text == "+" || Peek().text == "-")) {
      const Token mark = Take();
      NodePtr node = Make(mark.text == "+" ? Kind::kAdd : Kind::kSubtract, mark.column);
      node->left = std::move(*out);
      status = Product(&node->right);
      if (!status.ok()) return status;
      if (IsOther(*node->left) || IsOther(*node->right)) {
        return ErrorAt(mark.column,
                       "baseline alone may be multiplied and divided; to add to it "
                       "write baseline(what)");
      }
      if (node->left->unit != node->right->unit) {
        return ErrorAt(mark.column, UnitText(node->left->unit) + " and " +
                                        UnitText(node->right->unit) + " are no sum");
      }
      node->unit = node->left->unit;
      *out = std::move(node);
    }
    --depth_;
    return status;
  }

  Status Product(NodePtr* out) {
    Status status = Factor(out);
    // A long chain makes a deep tree: it is parsed by a loop but evaluated by recursion.
    while (status.ok() && Peek().kind == TokenKind::kMark &&
           (Peek().text == "*" || Peek().text == "/")) {
      const Token mark = Take();
      const int sign = mark.text == "*" ? 1 : -1;
      NodePtr node = Make(sign > 0 ? Kind::kMultiply : Kind::kDivide, mark.column);
      node->left = std::move(*out);
      status = Factor(&node->right);
      if (!status.ok()) return status;
      if (IsOther(*node->left) || IsOther(*node->right)) {
        const Node& with = IsOther(*node->left) ? *node->right : *node->left;
        const bool divided = sign < 0 && IsOther(*node->right);
        if (with.unit != Unit{} || divided || IsOther(with)) {
          return ErrorAt(mark.column, "baseline is multiplied with plain numbers only");
        }
      }
      node->unit = {node->left->unit.time + sign * node->right->unit.time,
                    node->left->unit.bytes + sign * node->right->unit.bytes};
      if (std::abs(node->unit.time) > 4 || std::abs(node->unit.bytes) > 4) {
        return ErrorAt(mark.column, "this product has no meaning");
      }
      *out = std::move(node);
    }
    return status;
  }

  Status Factor(NodePtr* out) {
    const Token token = Take();
    if (token.kind == TokenKind::kNumber) {
      *out = Make(Kind::kNumber, token.column);
      (*out)->number = token.number, (*out)->unit = token.unit;
      return {};
    }
    if (token.kind == TokenKind::kMark && token.text == "(") {
      const Status status = Sum(out);
      return status.ok() ? Close() : status;
    }
    if (token.kind == TokenKind::kMark && token.text == "-") {
      if (++depth_ > kMaxDepth) return ErrorAt(token.column, "too many signs");
      NodePtr node = Make(Kind::kNegative, token.column);
      const Status status = Factor(&node->left);
      --depth_;
      if (!status.ok()) return status;
      if (IsOther(*node->left)) return ErrorAt(token.column, "baseline has no sign");
      node->unit = node->left->unit;
      *out = std::move(node);
      return {};
    }
    if (token.kind == TokenKind::kWord) return Named(token, out);
    return ErrorAt(token.column, "a value is missing: a number, p99(job.latency), losses");
  }

  Status Named(const Token& token, NodePtr* out) {
    const std::string& word = token.text;
    if (word == "baseline") return Baseline(token, out);
    for (const Scalar& scalar : kScalars) {
      if (word != scalar.name) continue;
      *out = Make(Kind::kScalar, token.column);
      (*out)->text = word, (*out)->unit = scalar.unit;
      faults_ += scalar.about_faults, others_of_faults_ += !scalar.about_faults;
      return {};
    }
    ++others_of_faults_;
    if (!TakeMark("(")) {
      return ErrorAt(token.column, "no such value: " + word + "; values are " + ScalarNames() +
                                       " and functions as p99(job.latency)");
    }
    *out = Make(Kind::kSeries, token.column);
    Status status;
    if (word == "share") {
      (*out)->kind = Kind::kShare;
      status = SeriesOf(true, out->get());
    } else if (word == "count") {
      status = CountOf(out->get());
    } else if (IsFunction(word, &(*out)->number)) {
      (*out)->text = word;
      status = SeriesOf(false, out->get());
    } else {
      return ErrorAt(token.column,
                     "no such function: " + word +
                         "; there are p1 to p99, min, max, mean, total, count, share");
    }
    return status.ok() ? Close() : status;
  }

  static std::string ScalarNames() {
    std::string names;
    for (const Scalar& scalar : kScalars)
      names += (names.empty() ? "" : ", ") + std::string(scalar.name);
    return names;
  }

  static bool IsFunction(const std::string& word, double* percent) {
    for (const char* name : {"min", "max", "mean", "total"}) {
      if (word == name) return true;
    }
    if (word.size() < 2 || word.size() > 3 || word[0] != 'p') return false;
    if (word.find_first_not_of("0123456789", 1) != std::string::npos) return false;
    *percent = std::atof(word.c_str() + 1);
    return *percent >= 1;
  }

  Status Baseline(const Token& token, NodePtr* out) {
    rule_->uses_baseline = true;
    *out = Make(Kind::kBaseline, token.column);
    if (in_baseline_) return ErrorAt(token.column, "a baseline has none of its own");
    if (!TakeMark("(")) {
      ++others_;
      return {};
    }
    in_baseline_ = true;
    const Status status = Sum(&(*out)->left);
    in_baseline_ = false;
    if (!status.ok()) return status;
    (*out)->unit = (*out)->left->unit;
    return Close();
  }

  // Parses head.name, where the name may contain further dots.
  Status Path(Series* series, size_t* column) {
    *column = Peek().column;
    if (Peek().kind != TokenKind::kWord) return ErrorAt(*column, "a name is missing: job.latency");
    series->head = Take().text;
    while (TakeMark(".")) {
      const Token part = Take();
      if (part.kind != TokenKind::kWord && part.kind != TokenKind::kText &&
          part.kind != TokenKind::kNumber) {
        return ErrorAt(part.column, "a name is missing after the dot");
      }
      if (part.kind == TokenKind::kText) series->glob = true;
      series->name += (series->name.empty() ? "" : ".") + part.text;
    }
    return {};
  }

  Status SeriesOf(bool share, Node* node) {
    size_t column = 0;
    const Status status = Path(&node->series, &column);
    if (!status.ok()) return status;
    const std::string& head = node->series.head;
    if (share) {
      if (node->series.name.empty()) {
        std::swap(node->series.head, node->series.name);
        return {};
      }
      if (head == "class" || head == "limiter" || head == "unit" || head == "stall") return {};
      return ErrorAt(column, "shares are of class., limiter., unit. or stall., or of a bare name");
    }
    if (node->series.name.empty()) return ErrorAt(column, "a name is missing: as in job.latency");
    node->unit = {1, 0};
    if (head == "job") {
      if (IsJobSeries(node->series.name)) return {};
      std::string names = "latency, return";
      for (const std::string& stage : analysis::StageNames()) names += ", " + stage;
      return ErrorAt(column, "a job has no " + node->series.name + ": it has " + names);
    }
    if (head == "op" || head == "api" || head == "range" || head == "unit") return {};
    // Whether the table has this column is only known once there is a trace.
    node->unit = UnitOfColumn(node->series.name);
    return {};
  }

  Status CountOf(Node* node) {
    node->text = "count";
    do {
      Series path;
      size_t column = 0;
      Status status = Path(&path, &column);
      if (!status.ok()) return status;
      Condition condition;
      if (!TakeCompare(&condition.compare)) {
        if (!node->conditions.empty()) return ErrorAt(Peek().column, "a comparison is missing");
        // count(op.matmul), count(jobs)
        node->series = path;
        if (path.name.empty()) node->kind = Kind::kCount;
        return {};
      }
      node->kind = Kind::kCount;
      if (path.name.empty()) return ErrorAt(column, "a column is missing: api.name");
      condition.table = path.head, condition.column = path.name;
      if (!node->conditions.empty() && node->conditions.front().table != path.head) {
        return ErrorAt(
            column, "conditions of one count are of one table: " + node->conditions.front().table);
      }
      status = ValueOf(&condition);
      if (!status.ok()) return status;
      node->conditions.push_back(std::move(condition));
    } while (TakeWord("and"));
    if (!node->conditions.empty()) node->series.head = node->conditions.front().table;
    return {};
  }

  Status ValueOf(Condition* condition) {
    const bool negative = TakeMark("-");
    const Token token = Take();
    if (token.kind == TokenKind::kText && !negative) {
      if (condition->compare != Compare::kEqual && condition->compare != Compare::kUnequal) {
        return ErrorAt(token.column, "text is compared with == and !=");
      }
      condition->value = token.text;
      return {};
    }
    if (token.kind != TokenKind::kNumber) {
      return ErrorAt(token.column, "a number, or a text in quotes, is missing");
    }
    condition->value = negative ? -token.number : token.number;
    return {};
  }

 public:
  bool about_faults() const { return faults_ > 0 && others_of_faults_ == 0; }

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
  Rule* rule_ = nullptr;
  int depth_ = 0, others_ = 0, faults_ = 0, others_of_faults_ = 0;
  bool in_baseline_ = false;
};

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r").find(text.front()) != std::string_view::npos) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::string_view(" \t\r").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace

const char* CompareText(Compare compare) {
  constexpr const char* kTexts[] = {"<", "<=", ">", ">=", "==", "!="};
  return kTexts[static_cast<int>(compare)];
}

std::string UnitText(const Unit& unit) {
  if (unit == Unit{}) return "a plain number";
  if (unit == Unit{1, 0}) return "a time";
  if (unit == Unit{0, 1}) return "a number of bytes";
  if (unit == Unit{-1, 1}) return "bytes a time";
  return "time^" + std::to_string(unit.time) + " bytes^" + std::to_string(unit.bytes);
}

bool IsJobSeries(std::string_view name) {
  if (name == "latency" || name == "return") return true;
  const std::vector<std::string> stages = analysis::StageNames();
  return std::find(stages.begin(), stages.end(), name) != stages.end();
}

Result<std::vector<Rule>> ParseRules(std::string_view text) {
  std::vector<Rule> rules;
  size_t number = 0;
  text = WithoutMark(text);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const std::string place = "line " + std::to_string(number) + ", ";
    if (line.size() > kMaxLine) {
      return Status::Error(place + "column " + std::to_string(kMaxLine + 1) +
                           ": a line is too long");
    }
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    Result<std::vector<Token>> tokens = Tokens(line);
    if (!tokens.ok()) return Status::Error(place + tokens.message());
    if (tokens->size() == 1) continue;  // the line is empty or a comment
    if (rules.size() == kMaxRules) return Status::Error(place + "column 1: too many rules");
    Rule rule;
    rule.line = number;
    // The rule's text ends where a comment begins.
    rule.text = std::string(Trimmed(line.substr(0, tokens->back().column - 1)));
    Parser parser(std::move(tokens).value());
    const Status status = parser.Run(&rule);
    if (!status.ok()) return Status::Error(place + status.message());
    rule.about_faults = parser.about_faults();
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace acceltrace::check
