// SPDX-License-Identifier: Apache-2.0
//
// Reads names, memory and users of processes from /proc. Any of this may fail at any time, because
// processes exit.
#ifndef DAEMON_SOURCES_COMMON_PROCESSES_H_
#define DAEMON_SOURCES_COMMON_PROCESSES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace acceltrace::daemon {

// Returns the user as whom a process runs. Returns nullopt if there is no such process, if its
// real, effective, saved and file system users or groups are not all the same, if it has
// capabilities beyond a user namespace of its user, or if the kernel does not allow its own user to
// inspect it.
std::optional<uint32_t> ProcessUser(uint32_t pid);

// Returns this process's pid namespace as the inode number of its file; 0 is the initial namespace,
// whose pids are the kernel's own.
uint32_t PidNamespace();

// Returns true for a kernel thread, and false also if it is gone.
bool IsKernelThread(uint32_t pid);

// Returns (thread, name) for each thread of a process, the process itself first.
std::vector<std::pair<uint32_t, std::string>> ThreadNames(uint32_t pid);

// Returns the name of a thread, or an empty string if it is gone.
std::string ThreadName(uint32_t pid, uint32_t tid);

// Returns a C string in a process' memory, at most max_bytes long; empty if unreadable.
std::string ReadString(uint32_t pid, uint64_t address, size_t max_bytes);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_PROCESSES_H_
