// SPDX-License-Identifier: Apache-2.0
//
// USDT probes of libaxl (provider `libaxl`) and the correlation ids they carry.
// Room: libtrace/runtime, internal. The list of probes and arguments is an ABI:
// docs/libaxl.md.
//
// Each probe has one site, in a function of its own behind an inline test of its
// semaphore: an idle probe costs a load and a branch, and a tracer patches one
// place only.
#ifndef LIBTRACE_RUNTIME_PROBES_H_
#define LIBTRACE_RUNTIME_PROBES_H_

#include <cstdint>
#include <new>

#include "libtrace/runtime/axl.h"
#include "libtrace/runtime/errors.h"

// Raised by the kernel for each tracer of a probe.
#pragma GCC visibility push(hidden)
extern "C" {
extern volatile unsigned short libaxl_api_begin_semaphore;
extern volatile unsigned short libaxl_api_end_semaphore;
extern volatile unsigned short libaxl_range_push_semaphore;
extern volatile unsigned short libaxl_range_pop_semaphore;
extern volatile unsigned short libaxl_mark_semaphore;
extern volatile unsigned short libaxl_op_name_semaphore;
}
#pragma GCC visibility pop

namespace acceltrace::runtime {

void FireApiBegin(const char* name, uint64_t correlation, uint64_t bytes, uint32_t stream);
void FireApiEnd(const char* name, uint64_t correlation, int32_t result);
void FireRangePush(const char* name, uint32_t depth);
void FireRangePop(uint32_t depth);
void FireMark(const char* name);
void FireOpName(uint32_t tag, const char* name);

inline bool Traced(const volatile unsigned short& semaphore) {
  return __builtin_expect(semaphore != 0, 0);
}

// (pid << 32) | a count of this process's calls. Becomes the thread's last one.
uint64_t NextCorrelation();
uint64_t LastCorrelation();
// Of this process, also right after fork().
uint32_t ProcessId();

// What the probes call a stream; 0 = none. In runtime.cc.
uint32_t StreamNumber(axlStream_t stream);
struct NoStream {};
inline uint32_t StreamNumber(NoStream) { return 0; }

// Runs the body of a public function: probes at entry and exit, last error, and
// no exception past the C interface. stream: axlStream_t or NoStream. `body` takes
// the correlation id.
template <typename Stream, typename Body>
axlError_t ApiCall(const char* name, uint64_t bytes, Stream stream, Body&& body) {
  const uint64_t correlation = NextCorrelation();
  if (Traced(libaxl_api_begin_semaphore))
    FireApiBegin(name, correlation, bytes, StreamNumber(stream));
  axlError_t result;
  try {
    result = body(correlation);
  } catch (const std::bad_alloc&) {
    result = Fail(axlErrorOutOfHostMemory, "%s: out of host memory", name);
  } catch (...) {
    result = Fail(axlErrorUnknown, "%s: internal error", name);
  }
  if (result != axlSuccess && result != axlErrorNotReady) SetLastError(result);
  if (Traced(libaxl_api_end_semaphore)) FireApiEnd(name, correlation, result);
  return result;
}

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_PROBES_H_
