// SPDX-License-Identifier: Apache-2.0
//
// A file that the destructor deletes.
#ifndef TESTS_GOLDEN_TEMPORARY_FILE_H_
#define TESTS_GOLDEN_TEMPORARY_FILE_H_

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace acceltrace::test {

class TemporaryFile {
 public:
  // The path is empty if the file cannot be written.
  explicit TemporaryFile(const std::string& bytes) {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr ? folder : "/tmp") + "/trace-" + std::string(6, 'X');
    const int fd = mkstemp(path_.data());
    if (fd < 0) {
      path_.clear();
      return;
    }
    const bool whole = write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    close(fd);
    if (whole) return;
    std::remove(path_.c_str());
    path_.clear();
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace acceltrace::test

#endif  // TESTS_GOLDEN_TEMPORARY_FILE_H_
