// SPDX-License-Identifier: Apache-2.0
//
// USDT probes of libaxl (provider `libaxl`). Internal. The list of probes and arguments is an ABI:
// docs/libaxl.md.
//
// Each probe has a single site, in its own function behind an inline test of its semaphore, so that
// a tracer patches only one place. The semaphores are adjacent, so that without a tracer, the
// probes and the rings (libtrace/ring) together cost one load and a branch.
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

// The kernel increments these for each tracer of a probe.
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
// Four semaphores at a time: those of API calls (and op names), and those of ranges and marks. Both
// include ring_ready.
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

// The number of a stream in probes; 0 = none. A handle is never assigned twice, so numbers stay
// valid, and a thread caches those of the streams that it used. It caches the null stream until it
// selects another device.
struct KnownStream {
  uintptr_t stream = UINTPTR_MAX;  // not the value of any stream
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
// Implemented in runtime.cc.
__attribute__((noinline)) uint32_t FindStreamNumber(axlStream_t stream);
inline uint32_t StreamNumber(axlStream_t stream) {
  const KnownStream& known = PlaceOf(stream);
  if (__builtin_expect(known.stream == reinterpret_cast<uintptr_t>(stream), 1)) return known.number;
  return FindStreamNumber(stream);
}
struct NoStream {};
inline uint32_t StreamNumber(NoStream) { return 0; }

// Notifies tracers. The ring comes first, because a tracer that cannot use one attaches to the
// probes before it answers.
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

// Runs the body of a public function, with probes at entry and exit and the last error, and without
// exceptions across the C interface. `stream` is axlStream_t or NoStream. `body` receives the
// correlation id.
template <typename Stream, typename Body>
axlError_t ApiCall(ApiName name, uint64_t bytes, Stream stream, Body&& body) {
  const uint64_t correlation = NextCorrelation();
  if (Traced(libaxl_call_semaphores)) TraceBegin(name, correlation, bytes, stream);
  axlError_t result;
  try {
    result = body(correlation);
  } catch (const abi::__forced_unwind&) {  // the thread is cancelled and ends here
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
