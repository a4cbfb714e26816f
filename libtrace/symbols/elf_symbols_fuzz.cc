// SPDX-License-Identifier: Apache-2.0
//
// Reads any bytes as an ELF file: without a crash, and with no more memory than the limits allow.
#include <cstring>
#include <string>

#include "libtrace/symbols/demangle.h"
#include "libtrace/symbols/elf_symbols.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace acceltrace::symbols;
  FileBytes file;
  file.size = bytes;
  file.read = [data, bytes](uint64_t offset, size_t count, char* to) {
    if (offset > bytes || count > bytes - offset) __builtin_trap();
    std::memcpy(to, data + offset, count);
    return true;
  };
  const auto symbols = ElfSymbols::Read(file);
  if (!symbols.ok()) return 0;
  if (symbols->build_id().size() > 128) __builtin_trap();
  for (uint64_t offset = 0; offset < bytes; offset += 61) {
    const auto address = symbols->AddressOf(offset);
    if (address) (void)Demangle(symbols->FunctionAt(*address));
    (void)symbols->FunctionAt(offset);
  }
  return 0;
}
