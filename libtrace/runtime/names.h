// SPDX-License-Identifier: Apache-2.0
//
// Names of ops, ranges and marks: copied once, so that the pointer in a probe is
// the same for the same text and stays valid, and numbered: an op's number is
// what axl_desc.tag carries. Internal.
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

  // Numbers begin behind `base`.
  explicit NameTable(uint32_t base = 0) : base_(base) {}

  // base + 1, 2, 3 ... in order of first use; kOverflow's number once the table is full.
  uint32_t Intern(std::string_view text);
  // nullptr for a number that was never given.
  Name* Find(uint32_t number);

 private:
  uint32_t Add(std::string_view text);

  const uint32_t base_;
  std::shared_mutex mutex_;
  std::deque<Name> names_;  // never moved, never removed
  std::unordered_map<std::string_view, uint32_t> numbers_;
  uint32_t overflow_ = 0;
};

// Two programs that a process is in turn, and two copies of the library in one, number their ops
// apart: a trace knows an op by its process and number.
NameTable& OpNames();

// OpNames().Intern(name), quickly for a name that this thread used before.
uint32_t OpTag(const char* name);

// Fires op_name for the number of each command's op unless the tracer knows it: again when one
// more tracer attached, and once a second, since a tracer may come and go unseen while
// the process makes no calls. Costs a load while nobody traces.
void AnnounceOps(std::span<const axl_desc> commands);

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_NAMES_H_
