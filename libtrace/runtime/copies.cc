// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/copies.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <cstdint>

#include "libtrace/runtime/probes.h"

namespace acceltrace::runtime {
namespace {

// Far above what tracers add, and what they may take off on the wrong copy does not use it up.
constexpr uint16_t kMark = 1 << 14;

using Semaphore = volatile unsigned short;
Semaphore* const kSemaphores[] = {
    &libaxl_api_begin_semaphore,  &libaxl_api_end_semaphore,   &libaxl_op_name_semaphore,
    &libaxl_range_push_semaphore, &libaxl_range_pop_semaphore, &libaxl_mark_semaphore,
    &libaxl_ring_ready_semaphore, &libaxl_ring_wake_semaphore, &libaxl_ring_wanted_semaphore};

// Those of a copy of this file that lies `apart` bytes above this one.
void Mark(uintptr_t apart) {
  for (Semaphore* own : kSemaphores) {
    auto* const its = reinterpret_cast<Semaphore*>(reinterpret_cast<uintptr_t>(own) + apart);
    __atomic_fetch_or(its, kMark, __ATOMIC_RELAXED);
  }
}

#if __GLIBC_PREREQ(2, 35)
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
  struct stat own_file, file;
  if (dladdr1(kSemaphores, &about, reinterpret_cast<void**>(&own), RTLD_DL_LINKMAP) == 0 ||
      own == nullptr || stat(own->l_name, &own_file) != 0) {
    return;
  }
  bool others = false;
  for (auto* space = FirstNamespace(); space != nullptr; space = NextNamespace(space)) {
    for (const link_map* each = space->base.r_map; each != nullptr; each = each->l_next) {
      if (each->l_addr == own->l_addr || stat(each->l_name, &file) != 0 ||
          file.st_dev != own_file.st_dev || file.st_ino != own_file.st_ino) {
        continue;
      }
      Mark(each->l_addr - own->l_addr);
      others = true;
    }
  }
  if (others) Mark(0);
#endif
}

}  // namespace acceltrace::runtime
