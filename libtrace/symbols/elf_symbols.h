// SPDX-License-Identifier: Apache-2.0
//
// The functions of an ELF file: which one is at a place in the file.
//
// The file may be anything: what is said in it is checked against its size and the limits here
// before it is used or memory is taken for it. Only 64-bit little-endian files are read.
#ifndef LIBTRACE_SYMBOLS_ELF_SYMBOLS_H_
#define LIBTRACE_SYMBOLS_ELF_SYMBOLS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libtrace/stream/result.h"

namespace acceltrace::symbols {

// The bytes of a file. read: as many as asked for from an offset on, false where it cannot; it is
// called only for what lies within `size`.
struct FileBytes {
  uint64_t size = 0;
  std::function<bool(uint64_t offset, size_t bytes, char* to)> read;
};

class ElfSymbols {
 public:
  // wanted: of files with other build ids no symbols are read. Errors: it is no ELF file that can
  // be read here.
  using Wanted = std::function<bool(const std::string& build_id)>;
  static Result<ElfSymbols> Read(const FileBytes& file, const Wanted& wanted = nullptr);

  // In hexadecimal digits; empty: it has none.
  const std::string& build_id() const { return build_id_; }
  size_t functions() const { return symbols_.size(); }

  // Where the byte at this offset is when it is loaded; nullopt: nowhere.
  std::optional<uint64_t> AddressOf(uint64_t file_offset) const;
  // The name of the function there, as the file has it; empty: none is known.
  std::string FunctionAt(uint64_t address) const;

 private:
  struct Segment {
    uint64_t offset, bytes, address;
  };
  struct Symbol {
    uint64_t address, bytes;
    uint32_t name;  // place in names_
    uint32_t rank;  // of names for one address: the lowest one is taken
  };
  struct Section {
    uint32_t type, link;
    uint64_t offset, bytes, entry_bytes;
  };

  Status ReadSegments(const FileBytes& file, const char* header);
  void ReadNotes(const FileBytes& file, uint64_t offset, uint64_t bytes);
  void ReadSections(const FileBytes& file, const char* header, const Wanted& wanted);
  void ReadSymbols(const FileBytes& file, const Section& table, const Section& names);

  std::vector<Segment> segments_;
  std::vector<Symbol> symbols_;  // by address
  std::string names_, build_id_;
};

}  // namespace acceltrace::symbols

#endif  // LIBTRACE_SYMBOLS_ELF_SYMBOLS_H_
