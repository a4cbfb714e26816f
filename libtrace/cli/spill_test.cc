// SPDX-License-Identifier: Apache-2.0
//
// Memory beyond a limit is in a file and keeps its contents. Each case runs in its own process,
// since spilling cannot be undone.
#include "libtrace/cli/spill.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"

namespace acceltrace::cli {
namespace {

constexpr uint64_t kMost = uint64_t{1} << 40;
constexpr size_t kBound = 64 << 20, kBlock = 1 << 20, kBlocks = 400;
// Allows for the program itself, and for what is used between two checks.
constexpr size_t kBeside = 48 << 20;

// Returns a line of /proc/self/status in bytes.
size_t Memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) == 0)
      return std::strtoull(&line[name.size() + 1], nullptr, 10) * 1024;
  }
  return SIZE_MAX;
}

bool WhatIsAllocatedStaysWithinTheBound() {
  if (!SpillBeyond(kBound, kMost).ok()) return false;
  std::vector<std::unique_ptr<uint64_t[]>> blocks;
  for (size_t b = 0; b < kBlocks; ++b) {
    blocks.emplace_back(new uint64_t[kBlock / 8]);
    for (size_t i = 0; i < kBlock / 8; ++i) blocks.back()[i] = b * kBlock + i;
  }
  const size_t most = Memory("VmHWM");
  if (most > kBound + kBeside) return false;
  for (size_t b = 0; b < kBlocks; ++b) {
    for (size_t i = 0; i < kBlock / 8; ++i) {
      if (blocks[b][i] != b * kBlock + i) return false;
    }
  }
  // All of it was used; it is released by the thread that watches, sooner or later.
  for (int round = 0; round < 60'000 && Memory("VmRSS") > kBound; ++round) usleep(1000);
  return Memory("VmRSS") <= kBound;
}

bool WhatIsFreedIsTakenAgain() {
  if (!SpillBeyond(kBound, 4 * kBlocks * kBlock).ok()) return false;
  // Allocates more in total than the limit, by two threads.
  const auto run = [] {
    for (size_t b = 0; b < 8 * kBlocks; ++b) {
      const std::unique_ptr<char[]> block(new char[kBlock]);
      asm volatile("" : : "r"(block.get()) : "memory");
    }
  };
  std::thread other(run);
  run();
  other.join();
  return true;
}

bool MoreThanThereIsRoomForIsMemoryThatCannotBeHad() {
  if (!SpillBeyond(kBound, 32 * kBlock).ok()) return false;
  try {
    // Use the memory, or the compiler may remove the allocation.
    const std::vector<char> block(64 * kBlock, 'x');
    asm volatile("" : : "r"(block.data()) : "memory");
    return false;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

bool AFolderThatIsNotThereIsSaid() {
  setenv("TMPDIR", "/nowhere/at/all", 1);
  const Status spilt = SpillBeyond(kBound, kMost);
  if (spilt.ok() || spilt.message().find("/nowhere/at/all: No such file") == std::string::npos) {
    return false;
  }
  const std::vector<char> block(16 * kBlock, 'x');  // as before
  return block.back() == 'x';
}

bool ALimitOfFilesIsNoSignal() {
  std::signal(SIGXFSZ, SIG_DFL);
  const rlimit limit = {kBlock, kBlock};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
  return !SpillBeyond(kBound, kMost).ok();
}

bool InAProcessOfItsOwn(bool (*test)()) {
  const pid_t child = fork();
  if (child == 0) {
    const bool ok = test();
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

TEST_CASE("What is allocated beyond a bound lies in a file") {
  CHECK(InAProcessOfItsOwn(WhatIsAllocatedStaysWithinTheBound));
  CHECK(InAProcessOfItsOwn(WhatIsFreedIsTakenAgain));
  CHECK(InAProcessOfItsOwn(MoreThanThereIsRoomForIsMemoryThatCannotBeHad));
}

TEST_CASE("Where no file can be had memory is as it was") {
  CHECK(InAProcessOfItsOwn(AFolderThatIsNotThereIsSaid));
  CHECK(InAProcessOfItsOwn(ALimitOfFilesIsNoSignal));
}

}  // namespace
}  // namespace acceltrace::cli
