// SPDX-License-Identifier: Apache-2.0
//
// The public functions on events.
#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/probes.h"
#include "libtrace/runtime/runtime.h"

namespace acceltrace::runtime {
namespace {

axlError_t CreateEvent(axlEvent_t* handle, unsigned flags) {
  if (!handle) return Fail(axlErrorInvalidValue, "axlEventCreate: event is NULL");
  if (flags & ~axlEventDisableTiming)
    return Fail(axlErrorInvalidValue, "axlEventCreate: unknown flags 0x%x", flags);
  *handle = Runtime::Get().events().Add(std::make_shared<Event>(!(flags & axlEventDisableTiming)));
  return *handle ? axlSuccess : Fail(axlErrorLimit, "too many events: destroy some");
}

// Asks the driver for the time even if the work is known to be done.
axlError_t CompletionTicks(const char* which, axlEvent_t handle, uint64_t correlation,
                           Event::Record* record, uint64_t* ticks) {
  std::shared_ptr<Event> event;
  if (axlError_t e = Runtime::Get().GetEvent(handle, &event)) return e;
  if (!event->timed())
    return Fail(axlErrorInvalidValue, "the %s event was created with axlEventDisableTiming", which);
  *record = event->record();
  if (!record->device) return Fail(axlErrorNotRecorded, "the %s event was never recorded", which);
  *ticks = event->ticks(record->sequence);
  if (*ticks) return axlSuccess;
  if (axlError_t e = record->device->sticky().Check()) return e;
  if (axlError_t e = record->context->Wait(record->queue, record->sequence, correlation, 0, ticks))
    return e;
  if (*ticks == 0)
    return Fail(axlErrorNotSupported,
                "the driver no longer knows when the %s event happened: synchronise with it "
                "earlier",
                which);
  event->SetTicks(record->sequence, *ticks);
  return axlSuccess;
}

}  // namespace
}  // namespace acceltrace::runtime

using acceltrace::runtime::ApiCall;
using acceltrace::runtime::CompletionTicks;
using acceltrace::runtime::Context;
using acceltrace::runtime::CreateEvent;
using acceltrace::runtime::Event;
using acceltrace::runtime::Fail;
using acceltrace::runtime::NoStream;
using acceltrace::runtime::Runtime;
using acceltrace::runtime::Stream;

namespace {

axlError_t WaitForEvent(axlEvent_t handle, uint64_t correlation, int64_t deadline_ns) {
  std::shared_ptr<Event> event;
  if (axlError_t e = Runtime::Get().GetEvent(handle, &event)) return e;
  const Event::Record record = event->record();
  if (!record.device || record.sequence == 0) return axlSuccess;
  if (axlError_t e = record.device->sticky().Check()) return e;
  if (record.context->KnownComplete(record.queue, record.sequence) &&
      (!event->timed() || event->ticks(record.sequence)))
    return axlSuccess;
  uint64_t ticks;
  if (axlError_t e =
          record.context->Wait(record.queue, record.sequence, correlation, deadline_ns, &ticks))
    return e;
  if (ticks) event->SetTicks(record.sequence, ticks);
  return axlSuccess;
}

}  // namespace

axlError_t axlEventCreate(axlEvent_t* event) {
  return ApiCall("axlEventCreate", 0, NoStream(),
                 [&](uint64_t) { return CreateEvent(event, axlEventDefault); });
}

axlError_t axlEventCreateWithFlags(axlEvent_t* event, unsigned flags) {
  return ApiCall("axlEventCreateWithFlags", 0, NoStream(),
                 [&](uint64_t) { return CreateEvent(event, flags); });
}

axlError_t axlEventDestroy(axlEvent_t event) {
  return ApiCall("axlEventDestroy", 0, NoStream(), [&](uint64_t) {
    if (Runtime::Get().events().Remove(event)) return axlSuccess;
    return Fail(axlErrorInvalidHandle, "%p is not an event (destroyed twice?)",
                static_cast<void*>(event));
  });
}

axlError_t axlEventRecord(axlEvent_t event, axlStream_t stream) {
  return ApiCall("axlEventRecord", 0, stream, [&](uint64_t correlation) {
    std::shared_ptr<Event> target;
    if (axlError_t e = Runtime::Get().GetEvent(event, &target)) return e;
    std::shared_ptr<Stream> source;
    if (axlError_t e = Runtime::Get().GetStream(stream, &source)) return e;
    return source->Record(*target, correlation);
  });
}

axlError_t axlEventSynchronize(axlEvent_t event) {
  return ApiCall("axlEventSynchronize", 0, NoStream(), [&](uint64_t correlation) {
    return WaitForEvent(event, correlation, Context::kForever);
  });
}

axlError_t axlEventQuery(axlEvent_t event) {
  return ApiCall("axlEventQuery", 0, NoStream(),
                 [&](uint64_t correlation) { return WaitForEvent(event, correlation, 0); });
}

axlError_t axlEventElapsedTime(float* milliseconds, axlEvent_t start, axlEvent_t end) {
  return ApiCall("axlEventElapsedTime", 0, NoStream(), [&](uint64_t correlation) {
    if (!milliseconds)
      return Fail(axlErrorInvalidValue, "axlEventElapsedTime: milliseconds is NULL");
    Event::Record from, to;
    uint64_t from_ticks, to_ticks;
    if (axlError_t e = CompletionTicks("start", start, correlation, &from, &from_ticks)) return e;
    if (axlError_t e = CompletionTicks("end", end, correlation, &to, &to_ticks)) return e;
    if (from.device != to.device)
      return Fail(axlErrorInvalidValue, "the events are of different devices (%d and %d)",
                  from.device->ordinal(), to.device->ordinal());
    // The clock wraps at 2^bits, so sign-extend the difference from there.
    const uint32_t unused_bits = 64 - from.device->info().clock_bits;
    const int64_t ticks =
        static_cast<int64_t>((to_ticks - from_ticks) << unused_bits) >> unused_bits;
    *milliseconds = static_cast<float>(static_cast<double>(ticks) * 1e3 /
                                       static_cast<double>(from.device->info().clock_hz));
    return axlSuccess;
  });
}
