// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/kernel_symbols.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxSymbols = 1 << 20;
constexpr size_t kMaxLine = 1024;

}  // namespace

Result<KernelSymbols> KernelSymbols::Read(const std::string& path) {
  FILE* file = fopen(path.c_str(), "re");
  if (file == nullptr) return Status::Error("cannot read " + path + ": " + strerror(errno));
  KernelSymbols result;
  char line[kMaxLine];
  bool any_address = false;
  // "ffffffff81000000 T name [module]"
  while (fgets(line, sizeof(line), file) != nullptr && result.symbols_.size() < kMaxSymbols) {
    char* rest = nullptr;
    const uint64_t address = strtoull(line, &rest, 16);
    if (rest == line || rest[0] != ' ' || rest[1] == '\0' || rest[2] != ' ') continue;
    const char type = rest[1];
    const std::string_view name(rest + 3, strcspn(rest + 3, " \t\n"));
    any_address = any_address || address != 0;
    if (name == "__sched_text_start") result.sched_text_begin_ = address;
    if (name == "__sched_text_end") result.sched_text_end_ = address;
    if (strchr("tTwW", type) == nullptr) continue;
    result.symbols_.push_back(
        {address, static_cast<uint32_t>(result.names_.size()), static_cast<uint32_t>(name.size())});
    result.names_ += name;
  }
  fclose(file);
  if (!any_address) {
    return Status::Error(
        "the kernel hides the addresses of its functions "
        "(kernel.kptr_restrict; CAP_SYSLOG is needed)");
  }
  std::stable_sort(result.symbols_.begin(), result.symbols_.end(),
                   [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
  return result;
}

std::string_view KernelSymbols::FunctionAt(uint64_t address) const {
  const auto after = std::upper_bound(
      symbols_.begin(), symbols_.end(), address,
      [](uint64_t wanted, const Symbol& symbol) { return wanted < symbol.address; });
  if (after == symbols_.begin()) return {};
  const Symbol& symbol = *(after - 1);
  return std::string_view(names_).substr(symbol.name, symbol.length);
}

}  // namespace acceltrace::daemon
