// SPDX-License-Identifier: Apache-2.0
//
// Splits a rule into tokens. Internal.
#ifndef LIBTRACE_CHECK_LEXER_H_
#define LIBTRACE_CHECK_LEXER_H_

#include <string>
#include <string_view>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/check/rules.h"

namespace acceltrace::check {

struct Token {
  enum class Kind { kWord, kText, kNumber, kMark, kEnd };
  Kind kind = Kind::kEnd;
  size_t column = 0;  // from 1
  std::string text;   // kMark: one of ( ) . + - * / < <= > >= == !=
  double number = 0;  // the unit is already applied
  Unit unit;
};

// The tokens end with a kEnd. An error names its column.
Result<std::vector<Token>> Tokens(std::string_view line);

Status ErrorAt(size_t column, const std::string& message);

}  // namespace acceltrace::check

#endif  // LIBTRACE_CHECK_LEXER_H_
