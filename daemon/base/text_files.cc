// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/text_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "daemon/base/unique_fd.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxText = 1 << 20;

}  // namespace

std::string ReadText(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file.valid()) return text;
  std::array<char, 16384> part;
  for (ssize_t bytes;
       text.size() < kMaxText && (bytes = read(file.get(), part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<size_t>(bytes));
  }
  return text;
}

std::string FirstLine(const std::string& path) {
  const std::string text = ReadText(path);
  return text.substr(0, text.find('\n'));
}

}  // namespace acceltrace::daemon
