// SPDX-License-Identifier: Apache-2.0
//
// Names of places in programs' code, from the programs' files on this machine.
//
// Which files are opened is said by a trace, which may be anybody's: only regular files are, and
// what is read of them is shown only if they have the build id that the trace names.
#ifndef LIBTRACE_SYMBOLS_FRAME_NAMES_H_
#define LIBTRACE_SYMBOLS_FRAME_NAMES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "libtrace/symbols/elf_symbols.h"

namespace acceltrace::symbols {

inline constexpr char kDebugFolder[] = "/usr/lib/debug";
// Read of all files that a trace names; frames of the others have no names.
inline constexpr uint64_t kMaxBytes = 1 << 30;

class FrameNames {
 public:
  explicit FrameNames(std::string debug_folder = kDebugFolder, uint64_t most_bytes = kMaxBytes)
      : debug_folder_(std::move(debug_folder)), left_bytes_(most_bytes) {}

  // object: path of the file; build_id: in hexadecimal digits; either may be empty. returns: the
  // place is where a call returns to, so that the call lies before it.
  // "namespace::function(int)"; where that is not known "program+0x1234", "0x7f0012345678".
  std::string Name(const std::string& object, const std::string& build_id, uint64_t offset,
                   bool returns);

 private:
  // Of the program itself, and of the file with what was stripped from it.
  struct Object {
    std::unique_ptr<ElfSymbols> program, debug;
  };
  const Object& Find(const std::string& object, const std::string& build_id);
  std::unique_ptr<ElfSymbols> Open(const std::string& path, const std::string& build_id);

  std::string debug_folder_;
  uint64_t left_bytes_;
  std::map<std::pair<std::string, std::string>, Object> objects_;
};

}  // namespace acceltrace::symbols

#endif  // LIBTRACE_SYMBOLS_FRAME_NAMES_H_
