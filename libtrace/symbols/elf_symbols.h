// SPDX-License-Identifier: Apache-2.0
//
// Finds the function at an offset of an ELF file.
//
// The file is untrusted: its contents are checked against its size and against the limits here
// before they are used and before memory is allocated for them. Only 64-bit little-endian files are
// read.
#ifndef LIBTRACE_SYMBOLS_ELF_SYMBOLS_H_
#define LIBTRACE_SYMBOLS_ELF_SYMBOLS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libtrace/base/result.h"

namespace acceltrace::symbols {

// Access to the bytes of a file. `read` is only called for ranges within `size`; it reads exactly
// as many bytes as requested, or returns false.
struct FileBytes {
  uint64_t size = 0;
  std::function<bool(uint64_t offset, size_t bytes, char* to)> read;
};

class ElfSymbols {
 public:
  // If `wanted` returns false for the file's build id, no symbols are read. Returns an error for
  // anything but a supported ELF file.
  using Wanted = std::function<bool(const std::string& build_id)>;
  static Result<ElfSymbols> Read(const FileBytes& file, const Wanted& wanted = nullptr);

  // In hexadecimal digits; empty if the file has no build id.
  const std::string& build_id() const { return build_id_; }
  size_t functions() const { return symbols_.size(); }

  // Returns the address at which the byte at this offset is loaded, or nullopt if it is not loaded.
  std::optional<uint64_t> AddressOf(uint64_t file_offset) const;
  // Returns the function's name as the file spells it, or an empty string if none is known.
  std::string FunctionAt(uint64_t address) const;

 private:
  struct Segment {
    uint64_t offset, bytes, address;
  };
  struct Symbol {
    uint64_t address, bytes;
    uint32_t name;  // offset in names_
    uint32_t rank;  // among several names of an address, the one with the lowest rank is used
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
