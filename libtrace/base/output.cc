// SPDX-License-Identifier: Apache-2.0
#include "libtrace/base/output.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace acceltrace {
namespace {

constexpr int kMostLinks = 40;
constexpr int kClaims = 1000;  // attempts, while other processes create and remove files

// All outputs that have no name yet, for a signal handler. Only valid in the process that opened
// them, not in a forked one.
std::array<std::atomic<const char*>, 256> unplaced;
std::atomic<pid_t> unplaced_owner = 0;

void Note(const char* path) {
  unplaced_owner = getpid();
  for (auto& slot : unplaced) {
    const char* none = nullptr;
    if (slot.compare_exchange_strong(none, path)) return;
  }
}

void Unnote(const char* path) {
  for (auto& slot : unplaced) {
    const char* held = path;
    if (slot.compare_exchange_strong(held, nullptr)) return;
  }
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string RealPath(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  return real == nullptr ? "" : std::string(real.get());
}

FileId IdOf(const struct stat& about) { return {about.st_dev, about.st_ino}; }

// Returns the number if this names a descriptor of this process: /dev/stdout, /proc/self/fd/1.
int OwnDescriptor(const std::string& path) {
  const std::string folder = RealPath(FolderOf(path));
  if (folder.empty()) return -1;
  if (folder != RealPath("/proc/self/fd") && folder != RealPath("/proc/thread-self/fd")) return -1;
  int fd = -1;
  const char* begin = path.c_str() + path.rfind('/') + 1;
  const char* end = path.c_str() + path.size();
  return std::from_chars(begin, end, fd).ptr == end ? fd : -1;
}

// Returns true for a link that leads from a process's descriptors or its program to a file.
bool IsLinkOfKernel(const std::string& link) {
  struct statfs info {};
  return statfs(FolderOf(link).c_str(), &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

struct Way {
  std::string path;     // not a link
  int descriptor = -1;  // used instead if not -1
};

// Follows links one by one as open() does, and fails where open() would.
Result<Way> Follow(const std::string& name) {
  Way at{name};
  for (int i = 0; i < kMostLinks; ++i) {
    struct stat link {
    }, about{};
    if (lstat(at.path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return at;
    const bool leads = stat(at.path.c_str(), &about) == 0;
    if (!leads && errno != ENOENT) break;
    at.descriptor = OwnDescriptor(at.path);
    if (at.descriptor >= 0) return at;
    std::string text(PATH_MAX, '\0');
    const ssize_t length = readlink(at.path.c_str(), text.data(), text.size());
    if (length <= 0) break;
    text.resize(static_cast<size_t>(length));
    if (leads && IsLinkOfKernel(at.path)) {
      if (!S_ISREG(about.st_mode)) return at;
      if (RegularFile(text) != IdOf(about)) {
        return Status::Error("cannot write " + name + ": that file has no name any more");
      }
    }
    at.path = text[0] == '/' ? text : FolderOf(at.path) + "/" + text;
    errno = ELOOP;
  }
  return Status::Error("cannot write " + name + ": " + strerror(errno) +
                       ": follow the link to where it leads, and name that");
}

// The name contains a hash, because a long name with a suffix could exceed the limit of names.
std::string PartialName(const std::string& path) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : path.substr(path.rfind('/') + 1)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  char name[40];
  snprintf(name, sizeof name, "/.acceltrace-%016llx.part", static_cast<unsigned long long>(hash));
  return FolderOf(path) + name;
}

bool Lock(int fd, int how) { return flock(fd, how | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

// Returns true if the path still leads to this file.
bool IsAt(int fd, const std::string& path) {
  struct stat open {
  }, named{};
  return fstat(fd, &open) == 0 && lstat(path.c_str(), &named) == 0 && IdOf(open) == IdOf(named);
}

// Removes a file that a killed process has left. Returns false if its writer is still alive, or
// with *error set.
bool RemoveStale(const std::string& path, int* error) {
  const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  *error = fd < 0 && errno != ENOENT ? errno : 0;
  if (fd < 0) return *error == 0;
  const bool ours = Lock(fd, LOCK_EX);
  if (ours && IsAt(fd, path)) unlink(path.c_str());
  close(fd);
  return ours;
}

// Returns true if a recording is being written there.
bool IsBeingWritten(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  const bool locked = !Lock(fd, LOCK_SH);
  close(fd);
  return locked;
}

}  // namespace

mode_t RecordingMode() { return geteuid() == 0 ? 0600 : 0666; }

FileId RegularFile(int fd) {
  struct stat about {};
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? IdOf(about) : FileId();
}

FileId RegularFile(const std::string& path) {
  struct stat about {};
  if (path == "-") return RegularFile(STDIN_FILENO);
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) ? IdOf(about) : FileId();
}

Status Output::CannotCreate(int error) const {
  const std::string folder = FolderOf(path_);
  if (error == ENOENT && access(folder.c_str(), F_OK) != 0) {
    return Status::Error("cannot create " + name_ + ": no folder " + folder +
                         ": make it, or choose another place");
  }
  return Status::Error("cannot create " + name_ + ": " + strerror(error) +
                       ": choose another place");
}

Status Output::CheckOther(FileId file, const OutputOptions& options) const {
  if (file == FileId()) return {};
  for (const std::string& input : options.inputs) {
    if (RegularFile(input) != file) continue;
    return Status::Error("cannot write " + name_ + ": it is the same file as " +
                         (input == "-" ? "stdin" : input) + ", which is read: choose another name");
  }
  return {};
}

// Rejects what a rename would refuse in the end or must not replace.
Status Output::CheckReplaceable(const struct stat& about) const {
  if (faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) {
    return Status::Error("cannot write " + name_ + ": " + strerror(errno) +
                         ": choose another place");
  }
  constexpr const char* kStandard[] = {"stdin", "stdout", "stderr"};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (RegularFile(fd) != IdOf(about)) continue;
    return Status::Error("cannot write " + name_ + ": it is the same file as " + kStandard[fd] +
                         ", whose contents would be lost: choose another name");
  }
  struct statx more {};
  if (statx(AT_FDCWD, path_.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &more) == 0 &&
      (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {
    return Status::Error("cannot write " + name_ +
                         ": something is mounted there, so that it cannot be replaced: choose "
                         "another name");
  }
  struct stat folder {};
  if (stat(FolderOf(path_).c_str(), &folder) == 0 && (folder.st_mode & S_ISVTX) != 0 &&
      geteuid() != 0 && folder.st_uid != geteuid() && about.st_uid != geteuid()) {
    return Status::Error("cannot write " + name_ +
                         ": it is another user's, in a folder where that cannot be replaced: "
                         "choose another name");
  }
  return {};
}

// The lock is tied to the file and ends with the process that has it open. A killed process leaves
// only a file, which the next one removes.
Status Output::Claim(mode_t mode) {
  const Status busy = Status::Error("cannot write " + name_ +
                                    ": another acceltrace is writing it: choose another name, or "
                                    "wait until that has ended");
  partial_ = std::make_unique<std::string>(PartialName(path_));
  for (int i = 0; i < kClaims; ++i) {
    fd_ = open(partial_->c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd_ >= 0) {
      if (Lock(fd_, LOCK_EX) && IsAt(fd_, *partial_)) break;
      close(std::exchange(fd_, -1));  // another process has removed it as stale
      continue;
    }
    int error = errno;
    if (error != EEXIST) return partial_.reset(), CannotCreate(error);
    if (RemoveStale(*partial_, &error)) continue;
    if (error == 0) return partial_.reset(), busy;
    return Status::Error("cannot create " + name_ + ": " + *std::exchange(partial_, nullptr) +
                         " is in the way: " + strerror(error) + ": remove it");
  }
  if (fd_ < 0) return partial_.reset(), busy;
  kind_ = Kind::kFile;
  Note(partial_->c_str());
  return IsBeingWritten(path_) ? busy : Status();
}

Status Output::OpenDescriptor(const OutputOptions& options) {
  const int flags = fcntl(descriptor_, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    return Status::Error("cannot write " + name_ + ": it is not open for writing");
  }
  kind_ = Kind::kStream;
  fd_ = fcntl(descriptor_, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (fd_ < 0) return CannotCreate(errno);
  const FileId file = RegularFile(fd_);
  if (!options.alone || file == FileId()) return CheckOther(file, options);
  struct stat about {};
  if (fstat(fd_, &about) != 0 || about.st_size != 0) {
    return Status::Error("cannot write " + name_ +
                         ": that file has something in it already, and a trace needs one of its "
                         "own: choose another one");
  }
  if (!Lock(fd_, LOCK_EX)) {
    return Status::Error("cannot write " + name_ +
                         ": another recording is writing that file: choose another one");
  }
  return CheckOther(file, options);
}

Status Output::Open(const OutputOptions& options) {
  if (name_.empty()) return Status::Error("the name of the file to write is empty: give one");
  if (name_ == "-") name_ = "/dev/stdout", descriptor_ = STDOUT_FILENO;
  if (descriptor_ < 0) {
    const Result<Way> way = Follow(name_);
    if (!way.ok()) return way.status();
    path_ = way->path, descriptor_ = way->descriptor;
  }
  if (descriptor_ >= 0) return OpenDescriptor(options);
  struct stat about {};
  const bool there = stat(path_.c_str(), &about) == 0;
  if (!there && errno != ENOENT) return CannotCreate(errno);
  if (there ? S_ISDIR(about.st_mode) : path_.back() == '/') {
    return Status::Error("cannot write " + name_ + ": that is a folder: name a file in it");
  }
  if (there && !S_ISREG(about.st_mode)) {
    kind_ = Kind::kStream;
    fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return fd_ >= 0 ? Status() : CannotCreate(errno);
  }
  Status status;
  if (there) status = CheckOther(IdOf(about), options);
  if (there && status.ok()) status = CheckReplaceable(about);
  if (status.ok()) status = Claim(options.mode);
  if (!there || !status.ok()) return status;
  // A file is accessible to the same users as the one that it replaces.
  if (about.st_uid != geteuid() || about.st_gid != getegid()) {
    (void)!fchown(fd_, about.st_uid, about.st_gid);
  }
  (void)fchmod(fd_, about.st_mode & 0777);
  return {};
}

Status Output::OpenReserved(const OutputOptions& options) {
  kind_ = Kind::kReserved;
  const Result<Way> way = Follow(name_);
  if (!way.ok()) return way.status();
  path_ = way->path;
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, options.mode);
  created_ = fd_ >= 0;
  if (!created_ && errno != EEXIST) return CannotCreate(errno);
  if (!created_) fd_ = open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd_ < 0) return CannotCreate(errno);
  const FileId file = RegularFile(fd_);
  if (file == FileId()) {
    return Status::Error("cannot write " + name_ + ": it is no file: choose another name");
  }
  if (!Lock(fd_, LOCK_EX)) {
    return Status::Error("cannot write " + name_ +
                         ": another recording is writing it: choose another name");
  }
  return CheckOther(file, options);
}

Result<Output> Output::Create(const std::string& path, const OutputOptions& options) {
  Output output;
  output.name_ = path;
  const Status status = output.Open(options);
  if (!status.ok()) return status;
  return output;
}

Result<Output> Output::Reserve(const std::string& path, const OutputOptions& options) {
  Output output;
  output.name_ = path;
  const Status status = output.OpenReserved(options);
  if (!status.ok()) return status;
  return output;
}

Output& Output::operator=(Output&& other) noexcept {
  if (this == &other) return *this;
  Forget();
  kind_ = std::exchange(other.kind_, Kind::kNone);
  fd_ = std::exchange(other.fd_, -1);
  descriptor_ = std::exchange(other.descriptor_, -1);
  created_ = other.created_;
  name_ = std::move(other.name_), path_ = std::move(other.path_);
  partial_ = std::move(other.partial_);
  return *this;
}

Output::~Output() { Forget(); }

void Output::Forget() {
  if (kind_ == Kind::kFile && partial_ != nullptr) {
    Unnote(partial_->c_str());
    unlink(partial_->c_str());
  }
  struct stat about {};
  if (kind_ == Kind::kReserved && created_ && stat(path_.c_str(), &about) == 0 &&
      about.st_size == 0) {
    unlink(path_.c_str());
  }
  kind_ = Kind::kNone;
  partial_.reset();
  (void)Close();
}

Status Output::Place() {
  if (kind_ != Kind::kFile || partial_ == nullptr) return {};
  if (rename(partial_->c_str(), path_.c_str()) != 0) {
    return Status::Error("cannot write " + name_ + ": " + strerror(errno) +
                         ": choose another place");
  }
  Unnote(partial_->c_str());
  partial_.reset();
  return {};
}

std::string Output::Leave() {
  std::string where = partial_ != nullptr ? *partial_ : path_;
  if (partial_ != nullptr) Unnote(partial_->c_str());
  partial_.reset();
  created_ = false;
  return where;
}

Status Output::Close() {
  if (fd_ < 0 || close(std::exchange(fd_, -1)) == 0) return {};
  return Status::Error("cannot write " + name_ + ": " + strerror(errno));
}

void Output::RemoveAll() {
  if (unplaced_owner != getpid()) return;
  for (auto& slot : unplaced) {
    if (const char* path = slot.load()) unlink(path);
  }
}

}  // namespace acceltrace
