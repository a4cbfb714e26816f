// SPDX-License-Identifier: Apache-2.0
#include "libtrace/check/lexer.h"

#include <cmath>
#include <cstdlib>

namespace acceltrace::check {
namespace {

struct UnitName {
  std::string_view name;
  double factor;
  Unit unit;
};
constexpr UnitName kUnits[] = {
    {"%", 0.01, {}},
    {"ns", 1, {1, 0}},
    {"us", 1e3, {1, 0}},
    {"µs", 1e3, {1, 0}},
    {"ms", 1e6, {1, 0}},
    {"s", 1e9, {1, 0}},
    {"B", 1, {0, 1}},
    {"kB", 1e3, {0, 1}},
    {"MB", 1e6, {0, 1}},
    {"GB", 1e9, {0, 1}},
    {"KiB", 1024, {0, 1}},
    {"MiB", 1048576, {0, 1}},
    {"GiB", 1073741824, {0, 1}},
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
// The bytes of a unit's name. µ takes two bytes, neither of which is ASCII.
bool IsUnitByte(char c) { return IsLetter(c) || (static_cast<unsigned char>(c) & 0x80) != 0; }

class Lexer {
 public:
  explicit Lexer(std::string_view line) : line_(line) {}

  Result<std::vector<Token>> Run() {
    while (true) {
      while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t')) ++at_;
      Token token;
      token.column = at_ + 1;
      if (at_ == line_.size() || line_[at_] == '#') {
        tokens_.push_back(token);
        return std::move(tokens_);
      }
      const Status status = Next(&token);
      if (!status.ok()) return status;
      tokens_.push_back(std::move(token));
    }
  }

 private:
  Status Next(Token* token) {
    const char c = line_[at_];
    if (IsDigit(c)) return Number(token);
    if (c == '"' || c == '\'') return Text(c, token);
    if (IsLetter(c)) {
      const size_t begin = at_;
      while (at_ < line_.size() && (IsLetter(line_[at_]) || IsDigit(line_[at_]))) ++at_;
      token->kind = Token::Kind::kWord;
      token->text = std::string(line_.substr(begin, at_ - begin));
      return {};
    }
    for (const std::string_view mark :
         {"<=", ">=", "==", "!=", "<", ">", "(", ")", ".", "+", "-", "*", "/"}) {
      if (line_.substr(at_, mark.size()) != mark) continue;
      token->kind = Token::Kind::kMark;
      token->text = std::string(mark);
      at_ += mark.size();
      return {};
    }
    if (c == '=') return ErrorAt(token->column, "= is no comparison: write ==");
    return ErrorAt(token->column,
                   "this character has no meaning here: names with others than "
                   "letters, digits and _ stand in quotes");
  }

  Status Number(Token* token) {
    const size_t begin = at_;
    const auto digits = [&] {
      while (at_ < line_.size() && IsDigit(line_[at_])) ++at_;
    };
    digits();
    if (at_ + 1 < line_.size() && line_[at_] == '.' && IsDigit(line_[at_ + 1])) {
      ++at_;
      digits();
    }
    const size_t end = at_;
    // An e begins an exponent only if digits follow, as in 1e6.
    if (at_ < line_.size() && (line_[at_] == 'e' || line_[at_] == 'E')) {
      size_t after = at_ + 1;
      if (after < line_.size() && (line_[after] == '+' || line_[after] == '-')) ++after;
      if (after < line_.size() && IsDigit(line_[after])) {
        at_ = after;
        digits();
      }
    }
    token->kind = Token::Kind::kNumber;
    token->text = std::string(line_.substr(begin, (at_ > end ? at_ : end) - begin));
    token->number = std::strtod(token->text.c_str(), nullptr);
    if (!std::isfinite(token->number)) return ErrorAt(begin + 1, "this number is too large");
    return TakeUnit(token);
  }

  Status TakeUnit(Token* token) {
    size_t begin = at_;
    // A % may be separated by blanks, but the name of a unit may not: "5 s" could be two words.
    while (begin < line_.size() && line_[begin] == ' ') ++begin;
    if (begin < line_.size() && line_[begin] == '%') {
      at_ = begin + 1;
      token->number *= 0.01;
      return {};
    }
    begin = at_;
    while (at_ < line_.size() && IsUnitByte(line_[at_])) ++at_;
    const std::string_view name = line_.substr(begin, at_ - begin);
    if (name.empty()) return {};
    for (const UnitName& unit : kUnits) {
      if (unit.name != name) continue;
      token->number *= unit.factor;
      token->unit = unit.unit;
      return {};
    }
    return ErrorAt(begin + 1, "no unit: ns, us, ms, s, %, B, kB, MB, GB, KiB, MiB or GiB");
  }

  Status Text(char quote, Token* token) {
    const size_t end = line_.find(quote, at_ + 1);
    if (end == std::string_view::npos) {
      return ErrorAt(token->column, std::string("a text without its end: add ") + quote);
    }
    token->kind = Token::Kind::kText;
    token->text = std::string(line_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return {};
  }

  std::string_view line_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

Status ErrorAt(size_t column, const std::string& message) {
  return Status::Error("column " + std::to_string(column) + ": " + message);
}

Result<std::vector<Token>> Tokens(std::string_view line) { return Lexer(line).Run(); }

}  // namespace acceltrace::check
