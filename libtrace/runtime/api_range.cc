// SPDX-License-Identifier: Apache-2.0
//
// The public functions for tracers.
#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/probes.h"

namespace ring = acceltrace::ring;
using namespace acceltrace::runtime;  // NOLINT: a file of three public functions

namespace {

thread_local uint32_t range_depth = 0;

// Replaces an empty name by a constant: a tracer that finds no text reads it again later, when the
// caller may have reused its buffer. Nothing is copied and no lock is taken, since this may be a
// signal handler.
const char* Given(const char* name) {
  if (name == nullptr) return "(null)";
  return *name != '\0' ? name : "";
}

bool RingWanted() { return libaxl_ring_ready_semaphore != 0; }

}  // namespace

// Names are not even read without a tracer. The depth changes while the Turn is held: a signal
// handler's ranges come before or after the event and have matching depths.
void axlRangePush(const char* name) {
  if (!Traced(libaxl_range_semaphores)) {
    ++range_depth;
    return;
  }
  const bool to_ring = RingWanted();
  // Read before taking the Turn, which must be released: if this is not readable text, a handler
  // may jump out of here.
  const std::string_view text = to_ring ? std::string_view(Given(name)) : std::string_view();
  uint32_t depth;
  {
    const ring::Turn turn;
    depth = range_depth++;
    if (to_ring) ring::WriteText(turn, ring::Kind::kRangePush, depth, text);
  }
  if (Traced(libaxl_range_push_semaphore)) FireRangePush(Given(name), depth);
}

void axlRangePop(void) {
  if (range_depth == 0) return;  // there are more pops than pushes
  if (!Traced(libaxl_range_semaphores)) {
    --range_depth;
    return;
  }
  uint32_t depth;
  {
    const ring::Turn turn;
    depth = --range_depth;
    if (RingWanted()) ring::WriteRangePop(turn, depth);
  }
  if (Traced(libaxl_range_pop_semaphore)) FireRangePop(depth);
}

void axlMark(const char* name) {
  if (!Traced(libaxl_range_semaphores)) return;
  if (RingWanted()) ring::WriteText(ring::Kind::kMark, 0, Given(name));
  if (Traced(libaxl_mark_semaphore)) FireMark(Given(name));
}

axlError_t axlGetCorrelation(uint64_t* correlation) {
  if (!correlation) return Fail(axlErrorInvalidValue, "axlGetCorrelation: correlation is NULL");
  *correlation = LastCorrelation();
  return axlSuccess;
}
