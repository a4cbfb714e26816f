// SPDX-License-Identifier: Apache-2.0
//
// The traced process's side of the rings of format.h.
//
// Writing an event takes no lock, no system call and no allocation. What is not
// the usual case (no ring yet, ring full, end of a stretch, no usable TSC) is in
// writer.cc. A thread's private state lies in memory that the kernel wipes in a
// forked child, however it was forked: the child then starts afresh.
#ifndef LIBTRACE_RING_WRITER_H_
#define LIBTRACE_RING_WRITER_H_

#include <cstdint>
#include <string_view>

#include "libtrace/ring/format.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace acceltrace::ring {

// What the library that writes has to provide.
struct Host {
  const char* const* names;  // of the functions, by number
  uint32_t num_names;
  bool (*wanted)();                         // whether a tracer wants rings at all
  void (*ready)(int fd, uint32_t version);  // announce a new segment to it
  void (*wake)();                           // ask it to read
  uint32_t threads = 32, slot_bits = 14;    // of a segment
  int64_t patience_ns = 20'000'000;         // for its answer to the first segment
};

// Before the first event. host must live as long as the process.
void SetHost(const Host* host);

// Before the library is unloaded: threads that end later do nothing here.
void ForgetHost();

// Sets up the calling thread's ring, so that its first event need not. Does nothing
// unless a tracer wants rings.
void Prepare();

// Counts the tracers that have read this process's rings: another number means that
// what was announced to the last one is not known to the present one.
uint32_t ReaderGeneration();

// One thread's ring, as it sees it. `pos` to `stop` is what can be written without
// another look at the reader. All zero = no ring.
struct Writer {
  Slot* pos;
  Slot* stop;
  uint64_t to_head;  // head = (address of pos + to_head) / sizeof(Slot), see Publish
  std::atomic<uint64_t>* head;
  ThreadRing* ring;
  Slot* slots;
  uint64_t mask;
  uint64_t woken_tail;
};
static_assert(sizeof(Writer) == 64);

#pragma GCC visibility push(hidden)
// Never null. The library is loaded at start, or fits into the surplus that the
// loader keeps for such variables.
extern thread_local constinit Writer* current_writer __attribute__((tls_model("initial-exec")));
#pragma GCC visibility pop

__attribute__((cold, noinline)) void WriteSlowly(Kind kind, uint16_t name, uint32_t arg,
                                                 uint64_t correlation, uint64_t bytes);
__attribute__((cold, noinline)) bool WriteTextSlowly(Kind kind, uint32_t arg,
                                                     std::string_view text);

inline uint64_t Stamp() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;  // never: such writers have no stretch to write to
#endif
}

inline void Publish(Writer* writer, Slot* next) {
  writer->pos = next;
  writer->head->store((reinterpret_cast<uintptr_t>(next) + writer->to_head) / sizeof(Slot),
                      std::memory_order_release);
}

__attribute__((always_inline)) inline void WriteCall(Kind kind, uint16_t name, uint32_t arg,
                                                     uint64_t correlation, uint64_t bytes) {
  Writer* const writer = current_writer;
  Slot* const slot = writer->pos;
  if (__builtin_expect(slot == writer->stop, 0)) {
    WriteSlowly(kind, name, arg, correlation, bytes);
    return;
  }
  slot->stamp = Stamp();
  // One store of four fields.
  const uint64_t head = uint64_t{arg} << 32 | uint32_t{name} << 16 | static_cast<uint8_t>(kind);
  __builtin_memcpy(&slot->kind, &head, sizeof(head));
  slot->call.correlation = correlation;
  slot->call.bytes = bytes;
  Publish(writer, slot + 1);
}

inline void WriteBegin(uint16_t name, uint64_t correlation, uint64_t bytes, uint32_t stream) {
  WriteCall(Kind::kApiBegin, name, stream, correlation, bytes);
}
inline void WriteEnd(uint16_t name, uint64_t correlation, int32_t result) {
  WriteCall(Kind::kApiEnd, name, static_cast<uint32_t>(result), correlation, 0);
}
inline void WriteRangePop(uint32_t depth) { WriteCall(Kind::kRangePop, 0, depth, 0, 0); }

// A range, a mark or an op's name; at most kMaxTextBytes count. false: the ring was
// full, or there is none.
bool WriteText(Kind kind, uint32_t arg, std::string_view text);

}  // namespace acceltrace::ring

#endif  // LIBTRACE_RING_WRITER_H_
