// SPDX-License-Identifier: Apache-2.0
//
// What /proc reports of processes: names, memory, users. Everything here may fail
// at any time, because processes exit.
#ifndef DAEMON_SOURCES_COMMON_PROCESSES_H_
#define DAEMON_SOURCES_COMMON_PROCESSES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace acceltrace::daemon {

// The user as whom a process runs; nullopt if there is no such process, if its real, effective,
// saved and file system user or group are not all the same, if it has capabilities beyond a user
// namespace of its user's, or if the kernel lets its own user not look into it.
std::optional<uint32_t> ProcessUser(uint32_t pid);

// This process's pid namespace, by the number of its file; 0: the machine's first one, whose
// numbers are the kernel's own.
uint32_t PidNamespace();

// Whether it is a thread of the kernel's own; false also if it is gone.
bool IsKernelThread(uint32_t pid);

// (thread, name) of each thread of a process, the process itself first.
std::vector<std::pair<uint32_t, std::string>> ThreadNames(uint32_t pid);

// The name of one thread, empty if it is gone.
std::string ThreadName(uint32_t pid, uint32_t tid);

// A C string in a process' memory, at most max_bytes long; empty if unreadable.
std::string ReadString(uint32_t pid, uint64_t address, size_t max_bytes);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_PROCESSES_H_
