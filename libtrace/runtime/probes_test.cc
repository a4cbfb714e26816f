// SPDX-License-Identifier: Apache-2.0
//
// Checks the probes as a tracer finds them: ELF notes, one site each, semaphores; and what is
// announced when. The test raises the semaphores itself, as the kernel would.
#include "libtrace/runtime/probes.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "libtrace/runtime/kernel.h"
#include "libtrace/runtime/names.h"
#include "libtrace/runtime/runtime.h"
#include "libtrace/runtime/testing/fixture.h"
#include "tests/catch.h"

using namespace acceltrace::runtime;

namespace {

struct Probe {
  uint64_t pc, base, semaphore;
  std::string arguments;
};

// Reads the .note.stapsdt of a file, by probe name.
std::multimap<std::string, Probe> ReadProbes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::multimap<std::string, Probe> probes;
  if (bytes.size() < sizeof(Elf64_Ehdr)) return probes;
  const char* const data = bytes.data();
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(data);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(data + header->e_shoff);
  const char* names = data + sections[header->e_shstrndx].sh_offset;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (std::strcmp(names + sections[i].sh_name, ".note.stapsdt") != 0) continue;
    const char* at = data + sections[i].sh_offset;
    const char* const end = at + sections[i].sh_size;
    while (at < end) {
      const auto* note = reinterpret_cast<const Elf64_Nhdr*>(at);
      const char* content = at + sizeof *note + ((note->n_namesz + 3) & ~3u);
      Probe probe;
      std::memcpy(&probe.pc, content, 24);
      const char* provider = content + 24;
      const char* name = provider + std::strlen(provider) + 1;
      probe.arguments = name + std::strlen(name) + 1;
      if (std::strcmp(provider, "libaxl") == 0) probes.emplace(name, probe);
      at = content + ((note->n_descsz + 3) & ~3u);
    }
  }
  return probes;
}

size_t CountArguments(const std::string& arguments) {
  size_t count = arguments.empty() ? 0 : 1;
  for (const char c : arguments) count += c == ' ';
  return count;
}

// Simulates an attached tracer.
struct Raised {
  explicit Raised(volatile unsigned short& semaphore) : semaphore_(semaphore) {
    semaphore_ = static_cast<unsigned short>(semaphore_ + 1);
  }
  ~Raised() { semaphore_ = static_cast<unsigned short>(semaphore_ - 1); }
  volatile unsigned short& semaphore_;
};

}  // namespace

TEST_CASE("probes: the library has each once, with its arguments and a semaphore") {
  const auto probes = ReadProbes("build/lib/libaxl.so");
  const std::map<std::string, size_t> expected = {
      {"api_begin", 4}, {"api_end", 3},    {"range_push", 2}, {"range_pop", 1},  {"mark", 1},
      {"op_name", 2},   {"ring_ready", 3}, {"ring_wake", 0},  {"ring_wanted", 0}};
  INFO("of build/lib/libaxl.so, seen from the top folder");
  REQUIRE(probes.size() == expected.size());
  for (const auto& [name, probe] : probes) {
    INFO(name);
    REQUIRE(expected.count(name) == 1);
    REQUIRE(CountArguments(probe.arguments) == expected.at(name));
    REQUIRE(probe.semaphore != 0);
  }
}

void Announce(uint32_t tag) {
  axl_desc command = {};
  command.tag = tag;
  AnnounceOps({&command, 1});
}

TEST_CASE("op names are announced once to a tracer, and again to the next one") {
  const uint32_t tag = OpNames().Intern("probes_test.op");
  NameTable::Name* const name = OpNames().Find(tag);
  Announce(tag);
  REQUIRE(name->announced == 0);
  uint64_t first;
  {
    Raised tracer(libaxl_op_name_semaphore);
    Announce(tag);
    first = name->announced;
    REQUIRE(first != 0);
    Raised second(libaxl_op_name_semaphore);
    Announce(tag);
    REQUIRE(name->announced > first);
    first = name->announced;
  }
  Announce(tag);  // there is no tracer
  REQUIRE(name->announced == first);
  Raised third(libaxl_op_name_semaphore);
  Announce(tag);
  REQUIRE(name->announced > first);
  Announce(0);  // no such tag
  Announce(UINT32_MAX);
}

TEST_CASE("ranges and marks work with and without a tracer, pops in excess are ignored") {
  axlRangePop();
  for (int traced = 0; traced < 2; ++traced) {
    const Raised a(libaxl_range_push_semaphore), b(libaxl_range_pop_semaphore),
        c(libaxl_mark_semaphore);
    axlRangePush("outer");
    axlRangePush(nullptr);
    axlMark("here");
    axlRangePop();
    axlRangePop();
    axlRangePop();
  }
  CHECK(axlPeekAtLastError() == axlSuccess);
  axlRangePush("untraced");
  axlRangePop();
}

namespace {

// In a child, however it was forked: the parent's device is refused, and ids have another client.
int InChild(axlStream_t stream, uint64_t parents_id) {
  uint64_t id = 0;
  void* q;
  bool good = axlMalloc(&q, 16) == axlErrorForked;
  // Uses only a handle, without looking for the device.
  good = good && axlStreamSynchronize(stream) == axlErrorForked;
  good = good && axlDeviceReset() == axlErrorForked;
  axlGetCorrelation(&id);
  return good && id >> 32 != 0 && id >> 32 != parents_id >> 32 && static_cast<uint32_t>(id) == 3
             ? 0
             : 1;
}

}  // namespace

TEST_CASE("a child has ids of its own and may not use the parent's device") {
  Fixture f;
  void* p;
  axlStream_t stream;
  AXL_OK(axlMalloc(&p, 16));
  AXL_OK(axlStreamCreate(&stream));
  AXL_OK(axlMemsetD32Async(p, 0, 4, stream));
  uint64_t id = 0;
  AXL_OK(axlGetCorrelation(&id));
  // The second way runs no atfork handlers. This is a loop, since the child would also report a
  // SECTION.
  for (const bool by_clone : {false, true}) {
    const auto child =
        by_clone
            ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr))
            : fork();
    if (child == 0) _exit(InChild(stream, id));
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
  }
  AXL_OK(axlStreamSynchronize(stream));
  AXL_OK(axlFree(p));
}

TEST_CASE("devices join the incarnation's client, or give it theirs") {
  Fixture f({0, 1});
  FakeKernel& kernel = f.kernel;
  void* p;
  uint64_t first = 0, second = 0;
  SECTION("two devices, one client") {
    AXL_OK(axlMalloc(&p, 16));
    AXL_OK(axlGetCorrelation(&first));
    AXL_OK(axlSetDevice(1));
    AXL_OK(axlMalloc(&p, 16));
    AXL_OK(axlGetCorrelation(&second));
    CHECK(second >> 32 == first >> 32);
    CHECK(kernel.ioctls(AXL_IOCTL_JOIN) == 2);
  }
  SECTION("a driver that lets nobody join") {
    kernel.FailIoctl(AXL_IOCTL_JOIN, EPERM);
    AXL_OK(axlMalloc(&p, 16));
    AXL_OK(axlGetCorrelation(&first));
    AXL_OK(axlMemsetD32Async(p, 0, 4, nullptr));
    AXL_OK(axlGetCorrelation(&second));
    CHECK(second >> 32 != first >> 32);
    CHECK(kernel.jobs().back().correlation == second);
  }
}

TEST_CASE("a thread that is cancelled within a call ends there, and others go on") {
  std::atomic<bool> returned{false};
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    pthread_cancel(pthread_self());
    (void)ApiCall("axlMalloc", 0, NoStream{}, [](uint64_t) {
      pthread_testcancel();
      return axlSuccess;
    });
    *static_cast<std::atomic<bool>*>(argument) = true;
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, nullptr, run, &returned) == 0);
  void* result = nullptr;
  REQUIRE(pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
  CHECK_FALSE(returned);
}

TEST_CASE("the library has no place of its own where a thread is cancelled") {
  std::atomic<int> errors{0};
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    pthread_cancel(pthread_self());
    const int opened = LinuxKernel().Open(UINT32_MAX), closed = LinuxKernel().Close(-1);
    *static_cast<std::atomic<int>*>(argument) = opened + closed;
    pthread_testcancel();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, nullptr, run, &errors) == 0);
  void* result = nullptr;
  REQUIRE(pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
  CHECK(errors == -ENOENT - EBADF);
}

TEST_CASE("probes: the name of a call is in memory when its probe fires") {
  // A name across the border of two pages of files, as in a library that was just loaded, when
  // neither of them is in the process's page table.
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* pages =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(pages != MAP_FAILED);
  for (size_t i = 0; i < 2; ++i) {
    const int file = memfd_create("names", MFD_CLOEXEC);
    REQUIRE(ftruncate(file, static_cast<off_t>(page)) == 0);
    REQUIRE(mmap(pages + i * page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) !=
            MAP_FAILED);
    close(file);
  }
  char* const name = pages + page - 3;
  std::strcpy(name, "axlSomething");
  const auto present = [&](size_t i) {
    const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entry = 0;
    const auto at = static_cast<off_t>((reinterpret_cast<uintptr_t>(pages) / page + i) * 8);
    REQUIRE(pread(map, &entry, sizeof entry, at) == sizeof entry);
    close(map);
    return entry >> 63 != 0;
  };
  REQUIRE(madvise(pages, 2 * page, MADV_DONTNEED) == 0);
  REQUIRE_FALSE(present(0));
  REQUIRE_FALSE(present(1));
  FireApiBegin(name, 1, 0, 0);
  CHECK(present(0));
  CHECK(present(1));
  munmap(pages, 2 * page);
}
