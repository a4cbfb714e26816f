// SPDX-License-Identifier: Apache-2.0
#include "libtrace/symbols/elf_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace acceltrace::symbols {
namespace {

constexpr size_t kMaxSegments = 1024;
constexpr uint64_t kMaxNoteBytes = 64 << 10;
constexpr size_t kMaxNotes = 64;  // limits the note sections that are read
constexpr uint64_t kMaxSymbols = 4 << 20;
constexpr uint64_t kMaxNamesBytes = 256 << 20;
constexpr size_t kMaxName = 1024;
constexpr size_t kMaxBuildId = 64;
constexpr size_t kLookBack = 64;  // how many functions may begin within another one

template <typename T>
T Load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

bool Get(const FileBytes& file, uint64_t offset, uint64_t bytes, std::string* to) {
  if (offset > file.size || bytes > file.size - offset) return false;
  to->resize(bytes);
  return bytes == 0 || file.read(offset, bytes, to->data());
}

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<uint8_t>(c) >> 4];
    text += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return text;
}

}  // namespace

Result<ElfSymbols> ElfSymbols::Read(const FileBytes& file, const Wanted& wanted) {
  std::string header;
  if (!Get(file, 0, sizeof(Elf64_Ehdr), &header) ||
      std::memcmp(header.data(), ELFMAG, SELFMAG) != 0) {
    return Status::Error("not an ELF file");
  }
  if (header[EI_CLASS] != ELFCLASS64 || header[EI_DATA] != ELFDATA2LSB) {
    return Status::Error("not a 64-bit little-endian ELF file");
  }
  ElfSymbols symbols;
  if (Status status = symbols.ReadSegments(file, header.data()); !status.ok()) return status;
  symbols.ReadSections(file, header.data(), wanted);
  std::sort(symbols.symbols_.begin(), symbols.symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::tie(a.address, a.rank, a.name) < std::tie(b.address, b.rank, b.name);
  });
  const auto last =
      std::unique(symbols.symbols_.begin(), symbols.symbols_.end(),
                  [](const Symbol& a, const Symbol& b) { return a.address == b.address; });
  symbols.symbols_.erase(last, symbols.symbols_.end());
  return symbols;
}

Status ElfSymbols::ReadSegments(const FileBytes& file, const char* header) {
  const auto elf = Load<Elf64_Ehdr>(header);
  std::string table;
  if (elf.e_phnum == 0) return {};
  if (elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phnum > kMaxSegments ||
      !Get(file, elf.e_phoff, uint64_t{elf.e_phnum} * sizeof(Elf64_Phdr), &table)) {
    return Status::Error("an ELF file with damaged program headers");
  }
  for (size_t i = 0; i < elf.e_phnum; ++i) {
    const auto segment = Load<Elf64_Phdr>(table.data() + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD) {
      segments_.push_back({segment.p_offset, segment.p_filesz, segment.p_vaddr});
    } else if (segment.p_type == PT_NOTE) {
      ReadNotes(file, segment.p_offset, segment.p_filesz);
    }
  }
  return {};
}

void ElfSymbols::ReadNotes(const FileBytes& file, uint64_t offset, uint64_t bytes) {
  std::string notes;
  if (!build_id_.empty() || bytes > kMaxNoteBytes || !Get(file, offset, bytes, &notes)) return;
  const auto up = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  for (size_t at = 0; notes.size() - at >= sizeof(Elf64_Nhdr);) {
    const auto note = Load<Elf64_Nhdr>(notes.data() + at);
    at += sizeof(note);
    const uint64_t name = at, content = name + up(note.n_namesz);
    if (content + note.n_descsz > notes.size()) return;
    const bool gnu = note.n_namesz == 4 && std::memcmp(notes.data() + name, "GNU", 4) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= kMaxBuildId) {
      build_id_ = Hex(std::string_view(notes).substr(content, note.n_descsz));
      return;
    }
    at = std::min<uint64_t>(content + up(note.n_descsz), notes.size());
  }
}

void ElfSymbols::ReadSections(const FileBytes& file, const char* header, const Wanted& wanted) {
  const auto elf = Load<Elf64_Ehdr>(header);
  std::string table;
  if (elf.e_shnum == 0 || elf.e_shentsize != sizeof(Elf64_Shdr) ||
      !Get(file, elf.e_shoff, uint64_t{elf.e_shnum} * sizeof(Elf64_Shdr), &table)) {
    return;
  }
  std::vector<Section> sections;
  size_t notes = 0;
  for (size_t i = 0; i < elf.e_shnum; ++i) {
    const auto section = Load<Elf64_Shdr>(table.data() + i * sizeof(Elf64_Shdr));
    sections.push_back(
        {section.sh_type, section.sh_link, section.sh_offset, section.sh_size, section.sh_entsize});
    if (section.sh_type == SHT_NOTE && ++notes <= kMaxNotes) {
      ReadNotes(file, section.sh_offset, section.sh_size);
    }
  }
  if (wanted && !wanted(build_id_)) return;
  // One of the two tables suffices: what is in .dynsym is in .symtab as well.
  for (const uint32_t type : {uint32_t{SHT_SYMTAB}, uint32_t{SHT_DYNSYM}}) {
    for (const Section& section : sections) {
      if (!symbols_.empty() || section.type != type || section.link >= sections.size()) continue;
      ReadSymbols(file, section, sections[section.link]);
    }
  }
}

void ElfSymbols::ReadSymbols(const FileBytes& file, const Section& table, const Section& names) {
  std::string rows;
  if (names.type != SHT_STRTAB || table.entry_bytes != sizeof(Elf64_Sym) ||
      table.bytes / sizeof(Elf64_Sym) > kMaxSymbols || names.bytes > kMaxNamesBytes ||
      !Get(file, table.offset, table.bytes, &rows) ||
      !Get(file, names.offset, names.bytes, &names_)) {
    names_.clear();
    return;
  }
  for (size_t at = 0; rows.size() - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
    const auto symbol = Load<Elf64_Sym>(rows.data() + at);
    const unsigned type = ELF64_ST_TYPE(symbol.st_info), bind = ELF64_ST_BIND(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
        symbol.st_name >= names_.size()) {
      continue;
    }
    const uint32_t rank = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2;
    symbols_.push_back({symbol.st_value, symbol.st_size, symbol.st_name, rank});
  }
}

std::optional<uint64_t> ElfSymbols::AddressOf(uint64_t file_offset) const {
  for (const Segment& segment : segments_) {
    if (file_offset < segment.offset || file_offset - segment.offset >= segment.bytes) continue;
    return segment.address + (file_offset - segment.offset);
  }
  return std::nullopt;
}

std::string ElfSymbols::FunctionAt(uint64_t address) const {
  auto at = std::upper_bound(
      symbols_.begin(), symbols_.end(), address,
      [](uint64_t wanted, const Symbol& symbol) { return wanted < symbol.address; });
  for (size_t i = 0; i < kLookBack && at != symbols_.begin(); ++i) {
    --at;
    const uint64_t into = address - at->address;
    // Hand-written assembly may have symbols without a size; such a function extends to the next
    // one.
    if (into >= at->bytes && (at->bytes != 0 || i != 0)) continue;
    const char* name = names_.data() + at->name;
    const size_t most = std::min(kMaxName, names_.size() - at->name);
    return std::string(name, strnlen(name, most));
  }
  return "";
}

}  // namespace acceltrace::symbols
