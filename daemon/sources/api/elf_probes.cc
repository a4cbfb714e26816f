// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api/elf_probes.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "daemon/base/unique_fd.h"

namespace acceltrace::daemon {
namespace {

constexpr char kSection[] = ".note.stapsdt";
constexpr size_t kMaxSections = 4096;
constexpr size_t kMaxNotes = 1 << 20;
constexpr size_t kMaxNames = 4096;

bool ReadAt(int fd, uint64_t offset, void* into, size_t bytes) {
  return offset <= INT64_MAX &&
         pread(fd, into, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

// Returns the bytes of the probes' notes.
std::string Notes(int fd) {
  Elf64_Ehdr header;
  if (!ReadAt(fd, 0, &header, sizeof(header)) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMaxSections ||
      header.e_shstrndx >= header.e_shnum) {
    return "";
  }
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!ReadAt(fd, header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) return "";
  const Elf64_Shdr& names = sections[header.e_shstrndx];
  for (const Elf64_Shdr& section : sections) {
    char name[sizeof(kSection)];
    if (section.sh_type != SHT_NOTE || section.sh_size > kMaxNotes ||
        !ReadAt(fd, names.sh_offset + section.sh_name, name, sizeof(name)) ||
        std::memcmp(name, kSection, sizeof(name)) != 0) {
      continue;
    }
    std::string notes(section.sh_size, 0);
    return ReadAt(fd, section.sh_offset, notes.data(), notes.size()) ? notes : "";
  }
  return "";
}

constexpr size_t Aligned(uint32_t bytes) { return (size_t{bytes} + 3) & ~size_t{3}; }

}  // namespace

std::set<std::string> ElfProbes(const std::string& file, const std::string& provider) {
  std::set<std::string> found;
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status = {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return found;
  const std::string notes = Notes(fd.get());
  std::string_view rest = notes;
  while (rest.size() >= sizeof(Elf64_Nhdr) && found.size() < kMaxNames) {
    Elf64_Nhdr note;
    std::memcpy(&note, rest.data(), sizeof(note));
    const size_t before = sizeof(note) + Aligned(note.n_namesz);
    const size_t whole = before + Aligned(note.n_descsz);
    if (whole > rest.size()) break;
    // Three addresses, followed by the provider, the probe and its arguments as C strings.
    const std::string_view text =
        rest.substr(before, note.n_descsz).substr(std::min<size_t>(24, note.n_descsz));
    const size_t end = text.find('\0');
    if (end != std::string_view::npos && text.substr(0, end) == provider) {
      const std::string_view name = text.substr(end + 1);
      found.emplace(name.substr(0, name.find('\0')));
    }
    rest.remove_prefix(whole);
  }
  return found;
}

}  // namespace acceltrace::daemon
