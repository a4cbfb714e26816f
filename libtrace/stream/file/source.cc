// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/file/source.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "libtrace/stream/file/descriptor.h"

namespace acceltrace::stream {

namespace {

constexpr size_t kFirstBytes = size_t{1} << 20;  // initial size of the buffer
// Reads this much more than requested: much after small packets, to read many at once, and little
// after large ones, because it is moved before the next read.
constexpr size_t kLarge = size_t{64} << 10;
constexpr size_t kBehindSmall = kLarge, kBehindLarge = size_t{4} << 10;

class FileDescriptor {
 public:
  FileDescriptor(int fd, bool owned) : fd_(fd), owned_(owned) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), owned_(other.owned_) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (owned_ && fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
  bool owned_;
};

class MemorySource : public Source {
 public:
  explicit MemorySource(std::string_view bytes) : all_(bytes), bytes_(bytes) {}
  std::string_view Peek(size_t) override { return bytes_; }
  void Consume(size_t count) override { bytes_.remove_prefix(count); }
  std::string error() const override { return {}; }
  bool CanRewind() const override { return true; }
  void Rewind() override { bytes_ = all_; }

 private:
  const std::string_view all_;
  std::string_view bytes_;
};

class FdSource : public Source {
 public:
  explicit FdSource(FileDescriptor fd) : fd_(std::move(fd)) {
    struct stat info {};
    if (fstat(fd_.get(), &info) == 0 && S_ISREG(info.st_mode)) {
      first_ = lseek(fd_.get(), 0, SEEK_CUR);
    }
  }

  std::string_view Peek(size_t want) override {
    while (end_ - begin_ < want && !ended_) Fill(want);
    return {bytes_.get() + begin_, end_ - begin_};
  }
  void Consume(size_t count) override { begin_ += count; }
  std::string error() const override { return error_; }
  bool CanRewind() const override { return first_ >= 0; }
  void Rewind() override {
    begin_ = end_ = 0;
    ended_ = lseek(fd_.get(), first_, SEEK_SET) != first_;
    error_ = ended_ ? std::string("read error: ") + std::strerror(errno) : "";
  }

 private:
  void Fill(size_t want) {
    const size_t most = want + (want < kLarge ? kBehindSmall : kBehindLarge);
    if (begin_ > 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, end_ - begin_);
      end_ -= begin_, begin_ = 0;
    }
    // The buffer grows as data arrives: a wrong length does not cost its memory.
    if (end_ == size_) {
      const size_t size = std::max(kFirstBytes, std::min(2 * size_, most));
      auto bytes = std::make_unique_for_overwrite<char[]>(size);
      std::copy_n(bytes_.get(), end_, bytes.get());
      bytes_ = std::move(bytes), size_ = size;
    }
    const ssize_t got = read(fd_.get(), bytes_.get() + end_, std::min(size_, most) - end_);
    if (got > 0) {
      end_ += static_cast<size_t>(got);
    } else if (got == 0) {
      ended_ = true;
    } else if (errno != EINTR) {
      error_ = std::string("read error: ") + std::strerror(errno);
      ended_ = true;
    }
  }

  FileDescriptor fd_;
  off_t first_ = -1;  // for files: where the stream begins
  size_t size_ = 0;   // of the buffer
  std::unique_ptr<char[]> bytes_;
  size_t begin_ = 0, end_ = 0;  // range of unconsumed bytes in the buffer
  bool ended_ = false;
  std::string error_;
};

Status CannotOpen(const std::string& path, int error) {
  return Status::Error("cannot open " + path + ": " + std::strerror(error));
}

}  // namespace

void OpenStandardDescriptors(int more_flags) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    (void)!open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | more_flags);
  }
}

int ConnectSocket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return -ENAMETOOLONG;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  const int error = errno;
  close(fd);
  return -error;
}

std::unique_ptr<Source> MakeMemorySource(std::string_view bytes) {
  return std::make_unique<MemorySource>(bytes);
}

std::unique_ptr<Source> MakeDescriptorSource(int fd) {
  return std::make_unique<FdSource>(FileDescriptor(fd, false));
}

Result<std::unique_ptr<Source>> OpenSource(const std::string& path) {
  if (path == "-") {
    return std::unique_ptr<Source>(std::make_unique<FdSource>(FileDescriptor(STDIN_FILENO, false)));
  }
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return CannotOpen(path, errno);
  if (S_ISDIR(info.st_mode)) return CannotOpen(path, EISDIR);
  if (S_ISSOCK(info.st_mode)) {
    const int connected = ConnectSocket(path);
    if (connected < 0) return CannotOpen(path, -connected);
    return std::unique_ptr<Source>(std::make_unique<FdSource>(FileDescriptor(connected, true)));
  }
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC), true);
  if (fd.get() < 0) return CannotOpen(path, errno);
  return std::unique_ptr<Source>(std::make_unique<FdSource>(std::move(fd)));
}

}  // namespace acceltrace::stream
