// SPDX-License-Identifier: Apache-2.0
//
// The public functions for tracers.
#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/names.h"
#include "libtrace/runtime/probes.h"

namespace ring = acceltrace::ring;
using namespace acceltrace::runtime;  // NOLINT: a file of three public functions

namespace {

thread_local uint32_t range_depth = 0;

// The same pointer for the same text, as long as the process lives.
const char* Stable(const char* name) {
  try {
    NameTable& names = RangeNames();
    return names.Find(names.Intern(name ? name : "(null)"))->text.c_str();
  } catch (...) {
    return "(out of memory)";
  }
}

std::string_view Given(const char* name) { return name ? name : "(null)"; }

bool RingWanted() { return libaxl_ring_ready_semaphore != 0; }

}  // namespace

// Names are not even looked at while nobody traces.
void axlRangePush(const char* name) {
  const uint32_t depth = range_depth++;
  if (!Traced(libaxl_range_semaphores)) return;
  if (RingWanted()) ring::WriteText(ring::Kind::kRangePush, depth, Given(name));
  if (Traced(libaxl_range_push_semaphore)) FireRangePush(Stable(name), depth);
}

void axlRangePop(void) {
  if (range_depth == 0) return;  // one pop too many
  --range_depth;
  if (!Traced(libaxl_range_semaphores)) return;
  if (RingWanted()) ring::WriteRangePop(range_depth);
  if (Traced(libaxl_range_pop_semaphore)) FireRangePop(range_depth);
}

void axlMark(const char* name) {
  if (!Traced(libaxl_range_semaphores)) return;
  if (RingWanted()) ring::WriteText(ring::Kind::kMark, 0, Given(name));
  if (Traced(libaxl_mark_semaphore)) FireMark(Stable(name));
}

axlError_t axlGetCorrelation(uint64_t* correlation) {
  if (!correlation) return Fail(axlErrorInvalidValue, "axlGetCorrelation: correlation is NULL");
  *correlation = LastCorrelation();
  return axlSuccess;
}
