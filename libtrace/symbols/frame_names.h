// SPDX-License-Identifier: Apache-2.0
//
// Names places in programs' code, using the program files on this machine.
//
// The trace says which files to open, and a trace is untrusted: only regular files are opened, and
// their contents are shown only if they have the build id that the trace names.
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
// Limits what is read from all files of a trace together. Frames in files beyond that have no
// names.
inline constexpr uint64_t kMaxBytes = 1 << 30;

class FrameNames {
 public:
  explicit FrameNames(std::string debug_folder = kDebugFolder, uint64_t most_bytes = kMaxBytes)
      : debug_folder_(std::move(debug_folder)), left_bytes_(most_bytes) {}

  // Returns "namespace::function(int)" or, if the function is not known, "program+0x1234" or
  // "0x7f0012345678".
  //
  // object is the path of the file and build_id has hexadecimal digits; either may be empty. If
  // `returns` is true, the offset is a return address, and the call is the instruction before it.
  std::string Name(const std::string& object, const std::string& build_id, uint64_t offset,
                   bool returns);

 private:
  // The symbols of the program itself, and of the separate file with its debug symbols.
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
