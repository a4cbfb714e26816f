// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/copies.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>

#include "libtrace/runtime/probes.h"

namespace acceltrace::runtime {
namespace {

// Far above what tracers add, so that tracers that decrement the wrong copy cannot use it up.
constexpr uint16_t kMark = 1 << 14;

using Semaphore = volatile unsigned short;
Semaphore* const kSemaphores[] = {
    &libaxl_api_begin_semaphore,  &libaxl_api_end_semaphore,   &libaxl_op_name_semaphore,
    &libaxl_range_push_semaphore, &libaxl_range_pop_semaphore, &libaxl_mark_semaphore,
    &libaxl_ring_ready_semaphore, &libaxl_ring_wake_semaphore, &libaxl_ring_wanted_semaphore};

// Sets the semaphores of a copy of this file that is mapped `apart` bytes above this one.
void Mark(uintptr_t apart) {
  for (Semaphore* own : kSemaphores) {
    auto* const its = reinterpret_cast<Semaphore*>(reinterpret_cast<uintptr_t>(own) + apart);
    __atomic_fetch_or(its, kMark, __ATOMIC_RELAXED);
  }
}

#if __GLIBC_PREREQ(2, 35)
// Returns true if the layouts are identical down to the last table, whatever files their paths
// refer to by now. A semaphore is then at the same offset in both copies.
bool IsSameBuild(const link_map& a, const link_map& b) {
  for (size_t i = 0;; ++i) {
    const ElfW(Dyn)& x = a.l_ld[i], &y = b.l_ld[i];
    if (x.d_tag != y.d_tag) return false;
    if (x.d_tag == DT_NULL) return true;
    // Addresses are relocated in place, but numbers are not.
    const ElfW(Addr) of_x = x.d_un.d_ptr, of_y = y.d_un.d_ptr;
    if (of_x != of_y && of_x - a.l_addr != of_y - b.l_addr) return false;
  }
}

const r_debug_extended* FirstNamespace() {
  return reinterpret_cast<const r_debug_extended*>(&_r_debug);
}
const r_debug_extended* NextNamespace(const r_debug_extended* space) {
  return space->base.r_version >= 2 ? space->r_next : nullptr;
}
#endif

}  // namespace

void MarkCopies() {
#if __GLIBC_PREREQ(2, 35)
  if (NextNamespace(FirstNamespace()) == nullptr) return;
  Dl_info about;
  link_map* own = nullptr;
  if (dladdr1(kSemaphores, &about, reinterpret_cast<void**>(&own), RTLD_DL_LINKMAP) == 0 ||
      own == nullptr) {
    return;
  }
  bool others = false;
  for (auto* space = FirstNamespace(); space != nullptr; space = NextNamespace(space)) {
    for (const link_map* each = space->base.r_map; each != nullptr; each = each->l_next) {
      if (each->l_addr == own->l_addr || !IsSameBuild(*each, *own)) continue;
      Mark(each->l_addr - own->l_addr);
      others = true;
    }
  }
  if (others) Mark(0);
#endif
}

}  // namespace acceltrace::runtime
