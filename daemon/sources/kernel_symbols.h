// SPDX-License-Identifier: Apache-2.0
//
// Names of the running kernel's functions, from /proc/kallsyms.
#ifndef DAEMON_SOURCES_KERNEL_SYMBOLS_H_
#define DAEMON_SOURCES_KERNEL_SYMBOLS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

class KernelSymbols {
 public:
  // Errors: cannot be read; the kernel hides addresses.
  static Result<KernelSymbols> Read(const std::string& path = "/proc/kallsyms");

  // The function that an address lies in; empty if there is none.
  std::string_view FunctionAt(uint64_t address) const;
  // Where the scheduler's own functions lie; 0, 0 if that is not known.
  uint64_t sched_text_begin() const { return sched_text_begin_; }
  uint64_t sched_text_end() const { return sched_text_end_; }

 private:
  struct Symbol {
    uint64_t address;
    uint32_t name, length;  // in names_
  };
  std::vector<Symbol> symbols_;  // by address
  std::string names_;
  uint64_t sched_text_begin_ = 0, sched_text_end_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_KERNEL_SYMBOLS_H_
