// SPDX-License-Identifier: Apache-2.0
#include "libtrace/symbols/frame_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "libtrace/base/utf8.h"
#include "libtrace/symbols/demangle.h"

namespace acceltrace::symbols {
namespace {

constexpr size_t kMaxObjects = 1024;  // limit for a trace; frames in further files have no names
constexpr size_t kMaxFileName = 255;  // the kernel's limit
constexpr size_t kMinBuildId = 4, kMaxBuildId = 128;  // in digits

struct Descriptor {
  explicit Descriptor(const std::string& path)
      : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  const int fd;
};

bool ReadAt(int fd, uint64_t offset, size_t bytes, char* to) {
  while (bytes > 0) {
    const ssize_t got = pread(fd, to, bytes, static_cast<off_t>(offset));
    if (got <= 0) return false;
    offset += static_cast<uint64_t>(got);
    to += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

// The build id becomes part of a path, so it must have nothing but digits.
bool IsBuildId(const std::string& text) {
  return text.size() >= kMinBuildId && text.size() <= kMaxBuildId &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// The kernel pads short build ids with zeros.
std::string WithoutZeros(const std::string& build_id) {
  return build_id.substr(0, build_id.find_last_not_of('0') + 1);
}

}  // namespace

// Opens regular files only: it must not block on a pipe or read a device.
std::unique_ptr<ElfSymbols> FrameNames::Open(const std::string& path, const std::string& build_id) {
  struct stat status = {};
  if (path.empty() || path[0] != '/' || path.find('\0') != std::string::npos ||
      stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return nullptr;
  }
  const Descriptor file(path);
  if (file.fd < 0 || fstat(file.fd, &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  FileBytes bytes;
  bytes.size = static_cast<uint64_t>(status.st_size);
  bytes.read = [&](uint64_t offset, size_t count, char* to) {
    if (count > left_bytes_) return false;
    left_bytes_ -= count;
    return ReadAt(file.fd, offset, count, to);
  };
  // If either side has no build id, only the path tells which file it was.
  const auto is_it = [&](const std::string& found) {
    return WithoutZeros(found) == WithoutZeros(build_id);
  };
  auto symbols = ElfSymbols::Read(bytes, is_it);
  if (!symbols.ok() || !is_it(symbols->build_id())) return nullptr;
  return std::make_unique<ElfSymbols>(std::move(symbols).value());
}

const FrameNames::Object& FrameNames::Find(const std::string& object, const std::string& build_id) {
  static const auto* const none = new Object;
  const auto known = objects_.find({object, build_id});
  if (known != objects_.end()) return known->second;
  if (objects_.size() >= kMaxObjects) return *none;
  Object& found = objects_[{object, build_id}];
  found.program = Open(object, build_id);
  if (found.program != nullptr && IsBuildId(build_id)) {
    found.debug = Open(
        debug_folder_ + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug",
        build_id);
  }
  return found;
}

std::string FrameNames::Name(const std::string& object, const std::string& build_id,
                             uint64_t offset, bool returns) {
  if (object.empty() && build_id.empty()) return fmt::format("{:#x}", offset);
  const Object& found = Find(object, build_id);
  const uint64_t place = returns && offset > 0 ? offset - 1 : offset;
  // The file with the debug symbols may place sections at other offsets, so the address comes from
  // the program.
  const auto address = found.program == nullptr ? std::nullopt : found.program->AddressOf(place);
  if (address) {
    for (const auto* symbols : {found.debug.get(), found.program.get()}) {
      const std::string name = symbols == nullptr ? "" : symbols->FunctionAt(*address);
      if (!name.empty() && IsUtf8(name)) return Demangle(name);
    }
  }
  std::string file = object.substr(object.rfind('/') + 1);
  if (object.empty() && IsBuildId(build_id)) file = "build-id:" + build_id.substr(0, 16);
  if (file.empty() || file.size() > kMaxFileName) file = "?";
  return fmt::format("{}+{:#x}", file, offset);
}

}  // namespace acceltrace::symbols
