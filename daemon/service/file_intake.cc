// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/file_intake.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "daemon/base/host_info.h"
#include "daemon/base/privileges.h"
#include "libtrace/control/recording.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxSentFiles = 1 + control::kMaxFiles;  // accepted with one message
constexpr size_t kManyWaiting = 256;
constexpr int64_t kInterruptNs = 5'000'000;

// While it exists, interruptible system calls of its thread are interrupted at this interval.
class Interrupts {
 public:
  Interrupts() {
    static const bool handled = [] {
      struct sigaction action = {};
      action.sa_handler = [](int) {};  // without SA_RESTART
      return sigaction(SIGRTMIN, &action, nullptr) == 0;
    }();
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN;
    event._sigev_un._tid = static_cast<int>(syscall(SYS_gettid));
    made_ = handled && timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    const timespec each = {0, kInterruptNs};
    const itimerspec when = {each, each};
    if (made_) timer_settime(timer_, 0, &when, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts() {
    if (made_) timer_delete(timer_);
  }

 private:
  timer_t timer_ = {};
  bool made_ = false;
};

}  // namespace

// Writing to some of the kernel's own files has side effects, with the daemon's privileges. A file
// that is not regular, or that a program serves, could block the writing thread for ever.
std::string FileIntake::WhyNot(int fd, Kinds kinds) {
  constexpr std::array<uint32_t, 11> kWords = {
      PROC_SUPER_MAGIC, SYSFS_MAGIC,    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
      DEBUGFS_MAGIC,    TRACEFS_MAGIC,  BPF_FS_MAGIC,       SECURITYFS_MAGIC,
      SELINUX_MAGIC,    EFIVARFS_MAGIC, 0x62656570 /* configfs */};
  constexpr uint32_t kFuse = 0x65735546;
  if (kinds == Kinds::kAny) return "";
  struct statfs system;
  struct stat about;
  const bool known = fstatfs(fd, &system) == 0;
  const auto kind = static_cast<uint32_t>(system.f_type);
  if (known && kind == kFuse && kinds == Kinds::kRegularOfKernel) {
    return "the output is on a file system that a program serves (FUSE), which could keep the "
           "daemon waiting; record to another one";
  }
  if (!known || std::find(kWords.begin(), kWords.end(), kind) != kWords.end() ||
      fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    return "the output is not a regular file; use 'live' to read a stream";
  }
  return "";
}

FileIntake::Message FileIntake::Receive(int socket, Kinds kinds) {
  Message result;
  std::array<char, 16384> buffer;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxSentFiles * sizeof(int))];
  iovec part = {buffer.data(), buffer.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) {
    result.closed = errno != EAGAIN && errno != EINTR;
    return result;
  }
  result.closed = got == 0;
  result.bytes.assign(buffer.data(), static_cast<size_t>(got));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t files = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < files; ++i) {
      int file;
      memcpy(&file, CMSG_DATA(header) + i * sizeof(int), sizeof(file));
      result.files.emplace_back(file);
    }
  }
  for (const UniqueFd& file : result.files) {
    if (result.refusal.empty()) result.refusal = WhyNot(file.get(), kinds);
  }
  if (!result.refusal.empty()) result.files.clear();
  return result;
}

std::shared_ptr<FileIntake> FileIntake::Start(int socket, Kinds kinds,
                                              std::shared_ptr<UniqueFd> done) {
  auto intake = std::make_shared<FileIntake>();
  intake->since_ns_ = MonotonicNs();
  auto own = std::make_shared<UniqueFd>(fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (!own->valid()) return nullptr;
  try {
    std::thread([intake, own, kinds, done = std::move(done)] {
      DropAll();
      const Interrupts interrupts;
      Message message = Receive(own->get(), kinds);
      own->Reset();
      {
        const std::lock_guard<std::mutex> lock(intake->mutex_);
        intake->message_ = std::move(message);
        intake->over_ = true;
      }
      eventfd_write(done->get(), 1);
    }).detach();
  } catch (const std::system_error&) {
    return nullptr;
  }
  return intake;
}

std::optional<FileIntake::Message> FileIntake::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(message_, std::nullopt);
}

bool FileIntake::over() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return over_;
}

Closer::Closer() : thread_([this] { Run(); }) {}

Closer::~Closer() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Closer::Close(UniqueFd fd) {
  if (!fd.valid()) return;
  // Lets the peer see the end at once.
  shutdown(fd.get(), SHUT_RDWR);
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.push_back(std::move(fd));
  changed_.notify_one();
}

bool Closer::busy() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waiting_.size() >= kManyWaiting;
}

void Closer::Run() {
  DropAll();
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::deque<UniqueFd> some = std::exchange(waiting_, {});
    lock.unlock();
    {
      const Interrupts interrupts;
      some.clear();
    }
    lock.lock();
  }
}

}  // namespace acceltrace::daemon
