// SPDX-License-Identifier: Apache-2.0
//
// Names of ops, ranges and marks. Each text is copied once, so that the pointer in a probe stays
// valid and is the same for equal texts. Names are numbered: axl_desc.tag has an op's number.
// Internal.
#ifndef LIBTRACE_RUNTIME_NAMES_H_
#define LIBTRACE_RUNTIME_NAMES_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kmod/uapi/axl.h"

namespace acceltrace::runtime {

class NameTable {
 public:
  static constexpr size_t kMaxNames = 65536;
  static constexpr size_t kMaxNameBytes = 127;  // longer ones are cut

  struct Name {
    std::string text;
    std::atomic<uint64_t> announced{0};  // epoch of the last announcement to a tracer
  };

  // Numbers begin after `base`.
  explicit NameTable(uint32_t base = 0) : base_(base) {}

  // Returns base + 1, 2, 3 ... in order of first use, or kOverflow's number once the table is full.
  uint32_t Intern(std::string_view text);
  // Returns nullptr for a number that was never assigned.
  Name* Find(uint32_t number);

 private:
  uint32_t Add(std::string_view text);

  const uint32_t base_;
  std::shared_mutex mutex_;
  std::deque<Name> names_;  // never moved, never removed
  std::unordered_map<std::string_view, uint32_t> numbers_;
  uint32_t overflow_ = 0;
};

// If a process runs one program after another, or has two copies of the library, their ops get
// different numbers: a trace identifies an op by its process and number.
NameTable& OpNames();

// Same as OpNames().Intern(name), but fast for a name that this thread has used before.
uint32_t OpTag(const char* name);

// Fires op_name for the number of each command's op unless the tracer knows it. Repeats it for each
// further tracer, and once a second, since a tracer may come and go unnoticed while the process
// makes no calls. Costs a load without a tracer.
void AnnounceOps(std::span<const axl_desc> commands);

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_NAMES_H_
