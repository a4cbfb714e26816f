// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/process_maps.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "daemon/base/unique_fd.h"
#include "daemon/sources/common/processes.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxBytes = 4 << 20;   // of a process's maps
constexpr size_t kMaxMappings = 16384;  // per process
constexpr size_t kMaxProcesses = 256;   // remembered
constexpr size_t kMaxPath = 1024;       // longer paths are skipped
constexpr int64_t kAgainNs = 100'000'000;
constexpr int64_t kSeldomNs = 60'000'000'000;

// Takes a number and the character after it from the line.
bool Take(std::string_view* line, int base, char behind, uint64_t* value) {
  const auto [end, error] =
      std::from_chars(line->data(), line->data() + line->size(), *value, base);
  const auto taken = static_cast<size_t>(end - line->data());
  if (error != std::errc() || taken >= line->size() || (*line)[taken] != behind) return false;
  line->remove_prefix(taken + 1);
  return true;
}

// Copies the build ids of mappings that still exist.
void Keep(const std::vector<MappedCode>& from, std::vector<MappedCode>* to) {
  auto old = from.begin();
  for (MappedCode& code : *to) {
    while (old != from.end() && old->begin < code.begin) ++old;
    if (old == from.end()) return;
    if (old->begin == code.begin && old->end == code.end && old->offset == code.offset &&
        old->path == code.path) {
      code.build_id = old->build_id;
    }
  }
}

// "begin-end rwxp offset major:minor inode   path"
bool ParseLine(std::string_view line, MappedCode* code) {
  if (!Take(&line, 16, '-', &code->begin) || !Take(&line, 16, ' ', &code->end)) return false;
  if (line.size() < 5 || line[2] != 'x' || line[4] != ' ') return false;
  line.remove_prefix(5);
  if (!Take(&line, 16, ' ', &code->offset)) return false;
  const size_t path = line.find('/');
  if (path == std::string_view::npos || line.size() - path > kMaxPath) return false;
  code->path = line.substr(path);
  return code->begin < code->end;
}

}  // namespace

std::vector<MappedCode> ParseMaps(std::string_view text) {
  std::vector<MappedCode> all;
  while (!text.empty() && all.size() < kMaxMappings) {
    const size_t end = std::min(text.find('\n'), text.size());
    MappedCode code;
    if (ParseLine(text.substr(0, end), &code)) all.push_back(std::move(code));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::sort(all.begin(), all.end(),
            [](const MappedCode& a, const MappedCode& b) { return a.begin < b.begin; });
  return all;
}

// The pid of a process that has ended may have been reused by another user's process, whose
// addresses must not be disclosed.
bool ProcessMaps::Read(uint32_t pid, std::vector<MappedCode>* code) const {
  const auto others = [&] { return owner_ && ProcessUser(pid) != owner_; };
  if (others()) return false;
  const UniqueFd fd(open(("/proc/" + std::to_string(pid) + "/maps").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || others()) return false;
  std::string text;
  char part[16384];
  ssize_t bytes;
  while (text.size() < kMaxBytes && (bytes = read(fd.get(), part, sizeof(part))) > 0) {
    text.append(part, static_cast<size_t>(bytes));
  }
  if (text.empty()) return false;
  std::vector<MappedCode> fresh = ParseMaps(text);
  Keep(*code, &fresh);
  *code = std::move(fresh);
  return true;
}

MappedCode* ProcessMaps::Find(uint32_t pid, uint64_t address, int64_t now_ns) {
  if (processes_.size() >= kMaxProcesses && processes_.count(pid) == 0) processes_.clear();
  Known& known = processes_[pid];
  for (bool again = false;; again = true) {
    const auto after = std::upper_bound(
        known.code.begin(), known.code.end(), address,
        [](uint64_t wanted, const MappedCode& code) { return wanted < code.begin; });
    if (after != known.code.begin() && address < std::prev(after)->end) {
      if (again) known.again_ns = now_ns + (known.wait_ns = kAgainNs);
      return &*std::prev(after);
    }
    if (again || now_ns < known.again_ns) return nullptr;
    known.wait_ns = std::clamp(2 * known.wait_ns, kAgainNs, kSeldomNs);
    known.again_ns = now_ns + known.wait_ns;
    if (!Read(pid, &known.code)) return nullptr;  // keeps what is known
  }
}

}  // namespace acceltrace::daemon
