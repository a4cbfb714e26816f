// SPDX-License-Identifier: Apache-2.0
#define _SDT_HAS_SEMAPHORES 1
#include "libtrace/runtime/probes.h"

#include <sys/sdt.h>

#include "libtrace/runtime/copies.h"

// The probed instruction is a one-byte nop, which every kernel emulates; the endbr64 at a
// function's entry would have to be single-stepped. If the tracer supports it, newer kernels
// replace the five-byte nop after it by a jump. There must be no commas, since the macro passes
// through sdt.h's argument lists.
#if defined(__x86_64__)
#undef _SDT_NOP
#define _SDT_NOP \
  nop;           \
  .byte 0x0f;    \
  .byte 0x1f;    \
  .byte 0x44;    \
  .byte 0x00;    \
  .byte 0x00
#endif

// The order matters: each call tests the first four with one load, and each range tests ring_ready
// and the three after it.
#define AXL_SEMAPHORE(probe) \
  ".globl libaxl_" #probe    \
  "_semaphore\n"             \
  ".hidden libaxl_" #probe   \
  "_semaphore\n"             \
  ".type libaxl_" #probe     \
  "_semaphore, @object\n"    \
  ".size libaxl_" #probe     \
  "_semaphore, 2\n"          \
  "libaxl_" #probe "_semaphore: .2byte 0\n"
#define AXL_SEMAPHORES(name) \
  ".globl libaxl_" #name     \
  "_semaphores\n"            \
  ".hidden libaxl_" #name    \
  "_semaphores\n"            \
  ".type libaxl_" #name      \
  "_semaphores, @object\n"   \
  ".size libaxl_" #name      \
  "_semaphores, 8\n"         \
  "libaxl_" #name "_semaphores:\n"

__asm__(
    ".pushsection .probes, \"aw\", @progbits\n"
    ".balign 16\n"  // so that neither load crosses a cache line
    AXL_SEMAPHORES(call) AXL_SEMAPHORE(api_begin) AXL_SEMAPHORE(api_end) AXL_SEMAPHORE(op_name)
        AXL_SEMAPHORES(range) AXL_SEMAPHORE(ring_ready) AXL_SEMAPHORE(range_push)
            AXL_SEMAPHORE(range_pop) AXL_SEMAPHORE(mark) AXL_SEMAPHORE(ring_wake)
                AXL_SEMAPHORE(ring_wanted) ".popsection\n");

namespace acceltrace::runtime {
namespace {

__attribute__((noinline)) void FireRingReady(uint64_t address, uint64_t bytes, uint32_t version) {
  STAP_PROBE3(libaxl, ring_ready, address, bytes, version);
}

__attribute__((noinline)) void FireRingWake() { STAP_PROBE(libaxl, ring_wake); }

__attribute__((noinline)) void FireRingWanted() { STAP_PROBE(libaxl, ring_wanted); }

bool RingsWanted() { return libaxl_ring_ready_semaphore != 0; }

const ring::Host kRingHost = {.names = kApiNames,
                              .num_names = kNumApiNames,
                              .wanted = RingsWanted,
                              .ready = FireRingReady,
                              .wake = FireRingWake,
                              .ask = FireRingWanted};

// Called when the library is loaded, so that a program that is traced from its start has its ring
// before its first call.
__attribute__((constructor)) void BeginRings() {
  MarkCopies();
  ring::SetHost(&kRingHost);
  ring::Prepare();
}

__attribute__((destructor)) void EndRings() { ring::ForgetHost(); }

// A tracer reads the name where it cannot wait for a page fault. As nothing else reads the name, it
// must be brought into memory here.
void BringIn(const char* name) {
  const volatile char* at = name;
  while (*at != 0) ++at;
}

}  // namespace

__attribute__((noinline)) void FireApiBegin(const char* name, uint64_t correlation, uint64_t bytes,
                                            uint32_t stream) {
  BringIn(name);
  STAP_PROBE4(libaxl, api_begin, name, correlation, bytes, stream);
}

__attribute__((noinline)) void FireApiEnd(const char* name, uint64_t correlation, int32_t result) {
  STAP_PROBE3(libaxl, api_end, name, correlation, result);
}

__attribute__((noinline)) void FireRangePush(const char* name, uint32_t depth) {
  BringIn(name);
  STAP_PROBE2(libaxl, range_push, name, depth);
}

__attribute__((noinline)) void FireRangePop(uint32_t depth) {
  STAP_PROBE1(libaxl, range_pop, depth);
}

__attribute__((noinline)) void FireMark(const char* name) {
  BringIn(name);
  STAP_PROBE1(libaxl, mark, name);
}

__attribute__((noinline)) void FireOpName(uint32_t tag, const char* name) {
  STAP_PROBE2(libaxl, op_name, tag, name);
}

}  // namespace acceltrace::runtime
