// SPDX-License-Identifier: Apache-2.0
//
// Programs that are hard to distinguish, for the tests of the owner of calls, jobs and commands.
//
//   axl-identity-app WHAT [ARGUMENT...]
//
//   work                     a little of everything
//   exec PROGRAM...          works, then executes that program
//   threadexec PROGRAM...    the same, but from a thread other than the first
//   fork|_Fork|clone [first] a child works, then its parent; first: the parent before it as well
//   leader                   its first thread ends, another one continues
//   wait FILE                has the device open, and continues when the file exists
//   copies [FILE]            works by two copies of the library; with FILE: waits as `wait` does
//   spoof COUNT ID...        COUNT jobs for each ID by raw ioctls, with ids that begin with it
//
// It appends a line to the file $AXL_IDENTITY for each piece of work: its calls, its commands, and
// the op's name.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "kmod/uapi/axl.h"
#include "libtrace/runtime/axl.h"

namespace {

constexpr int kOps = 3;

void Check(axlError_t error, const char* what) {
  if (error == axlSuccess) return;
  std::fprintf(stderr, "%d: %s: %s\n", getpid(), what, axlGetErrorDetail());
  _exit(3);
}

void Note(int calls, int commands, const char* op) {
  const char* const path = std::getenv("AXL_IDENTITY");
  if (path == nullptr) return;
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  char line[96];
  const int length = std::snprintf(line, sizeof(line), "%d %d %s\n", calls, commands, op);
  if (fd < 0 || write(fd, line, static_cast<size_t>(length)) != length) _exit(4);
  close(fd);
}

// The functions of a copy of libaxl; the first is the one that this program is linked with.
struct Library {
  decltype(&axlMalloc) malloc = axlMalloc;
  decltype(&axlLaunchVector) launch = axlLaunchVector;
  decltype(&axlDeviceSynchronize) synchronize = axlDeviceSynchronize;
  decltype(&axlFree) free = axlFree;
};

// Loads a copy of the same file.
Library AnotherCopy() {
  Dl_info about = {};
  dladdr(reinterpret_cast<void*>(&axlMalloc), &about);
  void* const copy = dlmopen(LM_ID_NEWLM, about.dli_fname, RTLD_NOW);
  Library library;
  const auto take = [&](const char* name, auto* function) {
    *function =
        reinterpret_cast<decltype(+*function)>(copy != nullptr ? dlsym(copy, name) : nullptr);
    if (*function == nullptr) std::fprintf(stderr, "%s: %s\n", name, dlerror()), _exit(13);
  };
  take("axlMalloc", &library.malloc), take("axlLaunchVector", &library.launch);
  take("axlDeviceSynchronize", &library.synchronize), take("axlFree", &library.free);
  return library;
}

void Work(const char* op, const Library& library = {}) {
  void* x = nullptr;
  Check(library.malloc(&x, 4096), "axlMalloc");
  axlVector vector = {};
  vector.src0 = vector.dst = x;
  vector.rows = 1;
  vector.cols = 1024;
  vector.alpha = 2;
  for (int i = 0; i < kOps; ++i) {
    Check(library.launch(op, axlVecScale, &vector, nullptr), "axlLaunchVector");
  }
  Check(library.synchronize(), "axlDeviceSynchronize");
  Check(library.free(x), "axlFree");
  Note(kOps + 3, kOps, op);
}

[[noreturn]] void Become(char** argv) {
  execv(argv[0], argv);
  std::perror(argv[0]);
  _exit(5);
}

extern "C" pid_t _Fork(void) __attribute__((weak));

pid_t Fork(std::string_view how) {
  if (how == "fork") return fork();
  if (how == "_Fork" && _Fork != nullptr) return _Fork();
  return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

int Forks(const char* how, bool first) {
  if (first) Work("parent before");
  const pid_t child = Fork(how);
  if (child == 0) {
    void* x = nullptr;
    // Objects opened by its parent are refused, which makes no call with a job.
    if (first) _exit(axlMalloc(&x, 4096) == axlErrorForked ? (Note(1, 0, "refused"), 0) : 6);
    Work("child");
    _exit(0);
  }
  Work("parent");
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 7;
}

int ThreadExec(char** argv) {
  static std::atomic<bool> stop{false};
  Work("first thread");
  std::thread beside([] {
    while (!stop) sched_yield();
  });
  std::thread([argv] {
    Work("before exec");
    Become(argv);
  }).join();
  stop = true;
  beside.join();
  return 8;
}

void* WorkAndEnd(void*) {
  Work("another thread");
  std::exit(0);
}

void* EndLeader(void* other) {
  pthread_join(*static_cast<pthread_t*>(other), nullptr);
  usleep(20'000);
  return WorkAndEnd(nullptr);
}

int Leader() {
  static pthread_t self = pthread_self(), other;
  if (pthread_create(&other, nullptr, EndLeader, &self) != 0) return 9;
  pthread_exit(nullptr);
}

void WaitFor(const char* path) {
  std::puts("open");
  std::fflush(stdout);
  while (access(path, F_OK) != 0) usleep(10'000);
}

int Wait(const char* path) {
  Work("before");
  WaitFor(path);
  Work("after");
  return 0;
}

int Copies(const char* path) {
  const Library other = AnotherCopy();
  Work("first copy"), Work("second copy", other);
  if (path == nullptr) return 0;
  WaitFor(path);
  Work("second copy after", other), Work("first copy after");
  return 0;
}

int Spoof(int count, char** named) {
  const int fd = open("/dev/axl0", O_RDWR | O_CLOEXEC);
  axl_ctx_create ctx = {};
  ctx.size = sizeof(ctx);
  ctx.num_queues = 1;
  if (fd < 0 || ioctl(fd, AXL_IOCTL_CTX_CREATE, &ctx) != 0) return 10;
  const auto job = [&](uint64_t correlation) {
    axl_desc nop = {};
    nop.engine = AXL_ENGINE_VECTOR;
    nop.wait_sem[0] = nop.wait_sem[1] = nop.signal_sem = AXL_SEM_NONE;
    nop.tag = static_cast<uint32_t>(correlation);
    axl_submit submit = {};
    submit.size = sizeof(submit);
    submit.ctx = ctx.ctx;
    submit.cmds = reinterpret_cast<uintptr_t>(&nop);
    submit.num_cmds = 1;
    submit.cmd_bytes = sizeof(nop);
    submit.correlation = correlation;
    if (ioctl(fd, AXL_IOCTL_SUBMIT, &submit) != 0) return 11;
    axl_wait wait = {};
    wait.size = sizeof(wait);
    wait.ctx = ctx.ctx;
    wait.sequence = submit.sequence;
    wait.deadline_ns = -1;
    wait.correlation = correlation;
    return ioctl(fd, AXL_IOCTL_WAIT, &wait) == 0 ? 0 : 12;
  };
  for (; *named != nullptr; ++named) {
    const uint64_t upper = std::strtoull(*named, nullptr, 10) << 32;
    for (int i = 1; i <= count; ++i) {
      if (const int failed = job(upper | static_cast<uint32_t>(i)); failed != 0) return failed;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "work") return Work("work"), 0;
  if (what == "exec" && argc > 2) {
    Work("before exec");
    Become(argv + 2);
  }
  if (what == "threadexec" && argc > 2) return ThreadExec(argv + 2);
  if (what == "fork" || what == "_Fork" || what == "clone") return Forks(argv[1], argc > 2);
  if (what == "leader") return Leader();
  if (what == "wait" && argc > 2) return Wait(argv[2]);
  if (what == "copies") return Copies(argv[2]);
  if (what == "spoof" && argc > 3) {
    return Spoof(std::atoi(argv[2]), argv + 3);
  }
  std::fprintf(stderr, "axl-identity-app: see its first lines\n");
  return 2;
}
