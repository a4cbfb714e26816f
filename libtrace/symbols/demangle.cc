// SPDX-License-Identifier: Apache-2.0
#include "libtrace/symbols/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace acceltrace::symbols {
namespace {

constexpr size_t kMaxMangled = 1024;
constexpr size_t kMaxDemangled = 1024;
// Each reference can at most repeat all that precedes it. N references achieve the longest name
// when they come in groups of e, namely e^(N/e) times the length: with 24, about 7,000 times.
constexpr int kMaxReferences = 24;
constexpr int kMaxExpansions = 2;  // of packs, each of which repeats its contents

// Both counts are upper bounds: letters of identifiers that look like these codes are counted, too.
bool IsModest(const std::string& name) {
  int references = 0, expansions = 0;
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    const char next = name[i + 1];
    const bool number = next == '_' || (next >= '0' && next <= '9') || (next >= 'A' && next <= 'Z');
    references += (name[i] == 'S' || name[i] == 'T') && number;
    expansions += next == 'p' && (name[i] == 'D' || name[i] == 's');
  }
  return references <= kMaxReferences && expansions <= kMaxExpansions;
}

}  // namespace

std::string Demangle(const std::string& name) {
  if (name.compare(0, 2, "_Z") != 0 || name.size() > kMaxMangled || !IsModest(name)) return name;
  struct Free {
    void operator()(char* text) const { free(text); }
  };
  int status = 0;
  const std::unique_ptr<char, Free> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status));
  if (status != 0 || text == nullptr) return name;
  const std::string demangled = text.get();
  return demangled.size() <= kMaxDemangled ? demangled : name;
}

}  // namespace acceltrace::symbols
