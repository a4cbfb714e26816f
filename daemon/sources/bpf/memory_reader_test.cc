// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/memory_reader.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "daemon/base/unique_fd.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

uint64_t At(const void* address) { return reinterpret_cast<uintptr_t>(address); }

TEST_CASE("who fills in its pages itself is not waited for, and others are read") {
  constexpr size_t kBytes = 1 << 16;
  static char plain[] = "plain";
  void* pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  int told[2];
  REQUIRE(pipe(told) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const int faults = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
    uffdio_api api = {UFFD_API, 0, 0};
    uffdio_register range = {};
    range.range = {At(pages), kBytes};
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    const char right = faults >= 0 && ioctl(faults, UFFDIO_API, &api) == 0 &&
                       ioctl(faults, UFFDIO_REGISTER, &range) == 0;
    (void)!write(told[1], &right, 1);
    pause();  // never handles a fault
    _exit(0);
  }
  char right = 0;
  REQUIRE(read(told[0], &right, 1) == 1);
  const auto hostile = static_cast<uint32_t>(child);
  MemoryReader reader(std::chrono::seconds(2));  // long enough for a busy machine
  if (right != 0) {
    CHECK(reader.ReadString(hostile, At(plain), 16) == "plain");
    CHECK(reader.ReadString(hostile, At(pages), 16).empty());
    // Not even accessible memory is read then.
    CHECK(reader.ReadString(hostile, At(plain), 16).empty());
    CHECK(reader.ReadString(static_cast<uint32_t>(getpid()), At(plain), 16) == "plain");
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(told[0]);
  close(told[1]);
  munmap(pages, kBytes);
  if (right == 0) SKIP("no right to userfaultfd");
}

}  // namespace
}  // namespace acceltrace::daemon
