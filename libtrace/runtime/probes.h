// SPDX-License-Identifier: Apache-2.0
//
// USDT probes of libaxl (provider `libaxl`). Internal.
// The list of probes and arguments is an ABI: docs/libaxl.md.
//
// Each probe has one site, in a function of its own behind an inline test of its
// semaphore: a tracer patches one place only. The semaphores lie side by side, so
// that what is idle costs one load and a branch, of the probes and of the rings
// (libtrace/ring) together.
#ifndef LIBTRACE_RUNTIME_PROBES_H_
#define LIBTRACE_RUNTIME_PROBES_H_

#include <cxxabi.h>

#include <cstdint>
#include <new>

#include "libtrace/ring/writer.h"
#include "libtrace/runtime/api_names.h"
#include "libtrace/runtime/axl.h"
#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/incarnation.h"

// Raised by the kernel for each tracer of a probe.
#pragma GCC visibility push(hidden)
extern "C" {
extern volatile unsigned short libaxl_api_begin_semaphore;
extern volatile unsigned short libaxl_api_end_semaphore;
extern volatile unsigned short libaxl_range_push_semaphore;
extern volatile unsigned short libaxl_range_pop_semaphore;
extern volatile unsigned short libaxl_mark_semaphore;
extern volatile unsigned short libaxl_op_name_semaphore;
extern volatile unsigned short libaxl_ring_ready_semaphore;  // a tracer wants rings
extern volatile unsigned short libaxl_ring_wake_semaphore;
extern volatile unsigned short libaxl_ring_wanted_semaphore;
// Four of them at once: of API calls (and op names), and of ranges and marks. Both hold
// ring_ready.
typedef uint64_t __attribute__((aligned(2), may_alias)) libaxl_semaphores;
extern volatile libaxl_semaphores libaxl_call_semaphores;
extern volatile libaxl_semaphores libaxl_range_semaphores;
}
#pragma GCC visibility pop

namespace acceltrace::runtime {

void FireApiBegin(const char* name, uint64_t correlation, uint64_t bytes, uint32_t stream);
void FireApiEnd(const char* name, uint64_t correlation, int32_t result);
void FireRangePush(const char* name, uint32_t depth);
void FireRangePop(uint32_t depth);
void FireMark(const char* name);
void FireOpName(uint32_t tag, const char* name);

inline bool Traced(const volatile libaxl_semaphores& semaphores) {
  return __builtin_expect(semaphores != 0, 0);
}
inline bool Traced(const volatile unsigned short& semaphore) {
  return __builtin_expect(semaphore != 0, 0);
}

// What the probes call a stream; 0 = none. A handle is never given twice, so that what it meant
// the last time still holds: a thread remembers the streams that it used. The null stream it
// remembers until it chooses another device.
struct KnownStream {
  uintptr_t stream = UINTPTR_MAX;  // no stream's
  uint32_t number = 0;
};
inline constexpr size_t kKnownStreams = 8;  // streams used in turn have successive indices
#pragma GCC visibility push(hidden)
extern thread_local constinit KnownStream known_streams[kKnownStreams]
    __attribute__((tls_model("initial-exec")));
#pragma GCC visibility pop

inline KnownStream& PlaceOf(axlStream_t stream) {
  return known_streams[reinterpret_cast<uintptr_t>(stream) % kKnownStreams];
}
// In runtime.cc.
__attribute__((noinline)) uint32_t FindStreamNumber(axlStream_t stream);
inline uint32_t StreamNumber(axlStream_t stream) {
  const KnownStream& known = PlaceOf(stream);
  if (__builtin_expect(known.stream == reinterpret_cast<uintptr_t>(stream), 1)) return known.number;
  return FindStreamNumber(stream);
}
struct NoStream {};
inline uint32_t StreamNumber(NoStream) { return 0; }

// To whoever traces: the ring first, because a tracer that cannot take one attaches to
// the probes before it answers.
template <typename Stream>
__attribute__((always_inline)) inline void TraceBegin(ApiName name, uint64_t correlation,
                                                      uint64_t bytes, Stream stream) {
  if (__builtin_expect(libaxl_ring_ready_semaphore != 0, 1)) {
    ring::WriteBegin(name.number, correlation, bytes, StreamNumber(stream));
  }
  if (Traced(libaxl_api_begin_semaphore)) {
    FireApiBegin(name.text, correlation, bytes, StreamNumber(stream));
  }
}

inline void TraceEnd(ApiName name, uint64_t correlation, int32_t result) {
  if (__builtin_expect(libaxl_ring_ready_semaphore != 0, 1)) {
    ring::WriteEnd(name.number, correlation, result);
  }
  if (Traced(libaxl_api_end_semaphore)) FireApiEnd(name.text, correlation, result);
}

// Runs the body of a public function: probes at entry and exit, last error, and
// no exception past the C interface. stream: axlStream_t or NoStream. `body` takes
// the correlation id.
template <typename Stream, typename Body>
axlError_t ApiCall(ApiName name, uint64_t bytes, Stream stream, Body&& body) {
  const uint64_t correlation = NextCorrelation();
  if (Traced(libaxl_call_semaphores)) TraceBegin(name, correlation, bytes, stream);
  axlError_t result;
  try {
    result = body(correlation);
  } catch (const abi::__forced_unwind&) {  // the thread is cancelled: it ends here
    if (Traced(libaxl_call_semaphores)) TraceEnd(name, correlation, axlErrorUnknown);
    throw;
  } catch (const std::bad_alloc&) {
    result = Fail(axlErrorOutOfHostMemory, "%s: out of host memory", name.text);
  } catch (...) {
    result = Fail(axlErrorUnknown, "%s: internal error", name.text);
  }
  if (result != axlSuccess && result != axlErrorNotReady) SetLastError(result);
  if (Traced(libaxl_call_semaphores)) TraceEnd(name, correlation, result);
  return result;
}

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_PROBES_H_
