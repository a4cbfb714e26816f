// SPDX-License-Identifier: Apache-2.0
//
// The traced process's side of the rings of format.h.
//
// Writing an event takes no lock, no system call and no allocation. Signal handlers may write
// events as well; an event that interrupts the writing of another one is counted as lost. writer.cc
// has the slow paths: no ring yet, a full ring, the end of the writable slots, no usable TSC. A
// thread's private state is in memory that the kernel wipes in a forked child, whichever way it was
// forked, so that a child starts afresh.
#ifndef LIBTRACE_RING_WRITER_H_
#define LIBTRACE_RING_WRITER_H_

#include <cstdint>
#include <string_view>

#include "libtrace/ring/format.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace acceltrace::ring {

// What the writing library provides.
struct Host {
  const char* const* names;  // names of the functions, by number
  uint32_t num_names;
  bool (*wanted)();  // returns whether any tracer wants rings
  // Announces a new segment to the tracer. If address is 0, there is none and `bytes` is an errno
  // value.
  void (*ready)(uint64_t address, uint64_t bytes, uint32_t version);
  void (*wake)();                         // asks the tracer to read
  uint32_t threads = 32, slot_bits = 16;  // per segment
  // How long to wait for the tracer to take the first segment, which usually takes some
  // microseconds. On a busy machine it is better to wait than to be recorded without API calls.
  int64_t patience_ns = 100'000'000;
  // Fires the probe at which the tracer answers (ask.h). If null, the tracer records every process
  // that has rings.
  void (*ask)() = nullptr;
};

// Must be called before the first event. host must live as long as the process.
void SetHost(const Host* host);

// Must be called before the library is unloaded; threads that end later then do nothing here.
void ForgetHost();

// Sets up the calling thread's ring in advance, so that the first event is fast. Does nothing
// unless a tracer wants rings.
void Prepare();

// Returns the number of tracers that have read this process's rings so far. If it changes, the
// present tracer does not know what was announced to an earlier one.
uint32_t ReaderGeneration();

// A thread's view of its ring. The slots from `pos` to `stop` can be written without looking at the
// reader's position again. All fields are zero if there is no ring.
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
// Never null. The initial-exec model works because the library is either loaded at program start or
// small enough for the loader's reserve of static TLS.
extern thread_local constinit Writer* current_writer __attribute__((tls_model("initial-exec")));
// Set while the thread writes an event: a signal handler's event cannot be written then.
extern thread_local constinit volatile bool writing __attribute__((tls_model("initial-exec")));
#pragma GCC visibility pop

// Counts the lost event of a signal handler that interrupted the writing of another one.
__attribute__((cold, noinline)) void DropInHandler();

// Marks the thread as writing, for one event and what belongs to it.
class Turn {
 public:
  Turn() : mine_(!writing) {
    if (__builtin_expect(!mine_, 0)) return;
    writing = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Turn() {
    if (__builtin_expect(!mine_, 0)) return;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    writing = false;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool mine() const { return mine_; }

 private:
  bool mine_;
};

__attribute__((cold, noinline)) void WriteSlowly(Kind kind, uint16_t name, uint32_t arg,
                                                 uint64_t correlation, uint64_t bytes);
__attribute__((cold, noinline)) bool WriteTextSlowly(Kind kind, uint32_t arg,
                                                     std::string_view text);
// Takes texts of any length; the caller must hold the Turn.
__attribute__((noinline)) bool WriteLongText(Kind kind, uint32_t arg, std::string_view text);

inline uint64_t Stamp() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;  // unreachable: without a TSC a writer has no slots before `stop`
#endif
}

inline void Publish(Writer* writer, Slot* next) {
  writer->pos = next;
  writer->head->store((reinterpret_cast<uintptr_t>(next) + writer->to_head) / sizeof(Slot),
                      std::memory_order_release);
}

// For events of a single slot. For a text, name is its length.
__attribute__((always_inline)) inline void Head(Slot* slot, Kind kind, uint16_t name,
                                                uint32_t arg) {
  slot->stamp = Stamp();
  // Combines four fields into a single store.
  const uint64_t head = uint64_t{arg} << 32 | uint32_t{name} << 16 | static_cast<uint8_t>(kind);
  __builtin_memcpy(&slot->kind, &head, sizeof(head));
}

__attribute__((always_inline)) inline void WriteCall(const Turn& turn, Kind kind, uint16_t name,
                                                     uint32_t arg, uint64_t correlation,
                                                     uint64_t bytes) {
  if (__builtin_expect(!turn.mine(), 0)) {
    DropInHandler();
    return;
  }
  Writer* const writer = current_writer;
  Slot* const slot = writer->pos;
  if (__builtin_expect(slot == writer->stop, 0)) {
    WriteSlowly(kind, name, arg, correlation, bytes);
    return;
  }
  Head(slot, kind, name, arg);
  slot->call.correlation = correlation;
  slot->call.bytes = bytes;
  Publish(writer, slot + 1);
}

__attribute__((always_inline)) inline void WriteCall(Kind kind, uint16_t name, uint32_t arg,
                                                     uint64_t correlation, uint64_t bytes) {
  const Turn turn;
  WriteCall(turn, kind, name, arg, correlation, bytes);
}

inline void WriteBegin(uint16_t name, uint64_t correlation, uint64_t bytes, uint32_t stream) {
  WriteCall(Kind::kApiBegin, name, stream, correlation, bytes);
}
inline void WriteEnd(uint16_t name, uint64_t correlation, int32_t result) {
  WriteCall(Kind::kApiEnd, name, static_cast<uint32_t>(result), correlation, 0);
}
inline void WriteRangePop(const Turn& turn, uint32_t depth) {
  WriteCall(turn, Kind::kRangePop, 0, depth, 0, 0);
}

// Copies at most 16 bytes, as two blocks at the beginning and the end that may overlap.
__attribute__((always_inline)) inline void CopyShortText(std::string_view text, char* to) {
  const char* const from = text.data();
  const size_t size = text.size();
  const auto ends = [&](auto first, auto last) {
    __builtin_memcpy(&first, from, sizeof(first));
    __builtin_memcpy(&last, from + size - sizeof(last), sizeof(last));
    __builtin_memcpy(to, &first, sizeof(first));
    __builtin_memcpy(to + size - sizeof(last), &last, sizeof(last));
  };
  if (size >= sizeof(uint64_t)) {
    ends(uint64_t{}, uint64_t{});
  } else if (size >= sizeof(uint32_t)) {
    ends(uint32_t{}, uint32_t{});
  } else if (size > 1) {
    ends(uint8_t{}, uint16_t{});
  } else if (size == 1) {
    *to = *from;
  }
}

// Writes a range, a mark or an op's name, of which at most kMaxTextBytes are kept. Returns false if
// the ring was full or there is none.
__attribute__((always_inline)) inline bool WriteText(const Turn& turn, Kind kind, uint32_t arg,
                                                     std::string_view text) {
  if (__builtin_expect(!turn.mine(), 0)) {
    DropInHandler();
    return false;
  }
  Writer* const writer = current_writer;
  Slot* const slot = writer->pos;
  if (__builtin_expect(text.size() > sizeof(Slot::text) || slot == writer->stop, 0)) {
    return WriteLongText(kind, arg, text);
  }
  Head(slot, kind, static_cast<uint16_t>(text.size()), arg);
  CopyShortText(text, slot->text);
  Publish(writer, slot + 1);
  return true;
}
__attribute__((always_inline)) inline bool WriteText(Kind kind, uint32_t arg,
                                                     std::string_view text) {
  const Turn turn;
  return WriteText(turn, kind, arg, text);
}

}  // namespace acceltrace::ring

#endif  // LIBTRACE_RING_WRITER_H_
