// SPDX-License-Identifier: Apache-2.0
//
// Reads the dynamic symbols of a library. The file is untrusted, so each offset is checked.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "libtrace/provider/machine.h"

namespace acceltrace::provider {
namespace {

constexpr size_t kMaxElfSections = 4096, kMaxSymbols = 1 << 20;
constexpr size_t kMaxStringBytes = 64 << 20;

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(path, std::ios::binary) {}

  // Reads at most `limit` bytes, and fewer at the end of the file.
  std::string Read(uint64_t offset, uint64_t bytes, size_t limit) {
    std::string text(std::min<uint64_t>(bytes, limit), '\0');
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset & (~0ull >> 1)));
    file_.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(std::max<std::streamsize>(file_.gcount(), 0)));
    return text;
  }

  template <typename T>
  static std::vector<T> Rows(const std::string& bytes) {
    std::vector<T> rows(bytes.size() / sizeof(T));
    if (!rows.empty()) std::memcpy(rows.data(), bytes.data(), rows.size() * sizeof(T));
    return rows;
  }

 private:
  std::ifstream file_;
};

}  // namespace

Result<std::vector<std::string>> FunctionsOf(const std::string& library) {
  ElfFile file(library);
  const auto headers = ElfFile::Rows<Elf64_Ehdr>(file.Read(0, sizeof(Elf64_Ehdr), 64));
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      headers[0].e_ident[EI_CLASS] != ELFCLASS64 || headers[0].e_shentsize != sizeof(Elf64_Shdr)) {
    return Status::Error(library + " is no 64-bit ELF library");
  }
  const size_t count = std::min<size_t>(headers[0].e_shnum, kMaxElfSections);
  const auto sections = ElfFile::Rows<Elf64_Shdr>(file.Read(
      headers[0].e_shoff, count * sizeof(Elf64_Shdr), kMaxElfSections * sizeof(Elf64_Shdr)));
  std::vector<std::string> names;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    const std::string text = file.Read(strings.sh_offset, strings.sh_size, kMaxStringBytes);
    for (const Elf64_Sym& symbol : ElfFile::Rows<Elf64_Sym>(
             file.Read(section.sh_offset, section.sh_size, kMaxSymbols * sizeof(Elf64_Sym)))) {
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      const bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
      if (!function || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= text.size()) continue;
      names.emplace_back(text.c_str() + symbol.st_name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace acceltrace::provider
