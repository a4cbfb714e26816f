// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/common/processes.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace acceltrace::daemon {
namespace {

constexpr int kStatFlags = 9;                        // proc(5)
constexpr uint64_t kFlagKernelThread = 0x0020'0000;  // PF_KTHREAD

constexpr size_t kMaxThreads = 65536;

std::string ProcPath(uint32_t pid) { return "/proc/" + std::to_string(pid); }

// Capabilities in a namespace of its user only apply to what is the user's own.
bool InUsersOwnNamespace(uint32_t pid) {
  struct stat its, ours;
  return stat((ProcPath(pid) + "/ns/user").c_str(), &its) == 0 &&
         stat("/proc/self/ns/user", &ours) == 0 && its.st_ino != ours.st_ino;
}

}  // namespace

std::optional<uint32_t> ProcessUser(uint32_t pid) {
  std::ifstream file(ProcPath(pid) + "/status");
  std::string line;
  std::optional<uint32_t> user, group;
  std::optional<bool> capable;
  while (!capable && std::getline(file, line)) {
    if (line.rfind("CapPrm:", 0) == 0) capable = strtoull(line.c_str() + 7, nullptr, 16) != 0;
    const bool is_group = line.rfind("Gid:", 0) == 0;
    if (!is_group && line.rfind("Uid:", 0) != 0) continue;
    uint32_t real, effective, saved, files;
    if (sscanf(line.c_str() + 4, "%u %u %u %u", &real, &effective, &saved, &files) != 4 ||
        real != effective || real != saved || real != files) {
      return std::nullopt;
    }
    (is_group ? group : user) = real;
  }
  // Files (not folders) of a process that must not be inspected belong to root.
  struct stat info;
  if (!group || stat((ProcPath(pid) + "/status").c_str(), &info) != 0 || info.st_uid != user) {
    return std::nullopt;
  }
  if (!capable || (*capable && !InUsersOwnNamespace(pid))) return std::nullopt;
  return user;
}

uint32_t PidNamespace() {
  constexpr ino_t kFirst = 0xeffffffc;  // the kernel's PROC_PID_INIT_INO, a stable interface
  struct stat info;
  if (stat("/proc/self/ns/pid", &info) != 0 || info.st_ino == kFirst) return 0;
  return static_cast<uint32_t>(info.st_ino);
}

std::string ThreadName(uint32_t pid, uint32_t tid) {
  std::ifstream file(ProcPath(pid) + "/task/" + std::to_string(tid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

bool IsKernelThread(uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  // The name, in parentheses, may have any characters; the fields after it are numbered from 3.
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream rest(line.substr(name_end + 1));
  std::string word;
  for (int field = 3; field < kStatFlags; ++field) rest >> word;
  uint64_t flags = 0;
  rest >> flags;
  return (flags & kFlagKernelThread) != 0;
}

std::vector<std::pair<uint32_t, std::string>> ThreadNames(uint32_t pid) {
  std::vector<std::pair<uint32_t, std::string>> threads;
  DIR* dir = opendir((ProcPath(pid) + "/task").c_str());
  if (dir == nullptr) return threads;
  while (const dirent* entry = readdir(dir)) {
    const auto tid = static_cast<uint32_t>(std::strtoul(entry->d_name, nullptr, 10));
    if (tid == 0 || threads.size() >= kMaxThreads) continue;
    threads.emplace_back(tid, ThreadName(pid, tid));
  }
  closedir(dir);
  std::sort(threads.begin(), threads.end(), [pid](const auto& a, const auto& b) {
    return std::pair(a.first != pid, a.first) < std::pair(b.first != pid, b.first);
  });
  return threads;
}

std::string ReadString(uint32_t pid, uint64_t address, size_t max_bytes) {
  // Reads page by page, as the string may end just before an unmapped page.
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::string text;
  while (text.size() < max_bytes) {
    const uint64_t from = address + text.size();
    char buffer[4096];
    const size_t bytes = std::min(
        {sizeof(buffer), page - static_cast<size_t>(from % page), max_bytes - text.size()});
    iovec local = {buffer, bytes};
    iovec remote = {reinterpret_cast<void*>(from), bytes};
    const ssize_t got = process_vm_readv(static_cast<pid_t>(pid), &local, 1, &remote, 1, 0);
    if (got <= 0) return "";
    const size_t length = strnlen(buffer, static_cast<size_t>(got));
    text.append(buffer, length);
    if (length < static_cast<size_t>(got)) break;
  }
  return text;
}

}  // namespace acceltrace::daemon
