// SPDX-License-Identifier: Apache-2.0
//
// The public functions on streams.
#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/probes.h"
#include "libtrace/runtime/runtime.h"

using acceltrace::runtime::ApiCall;
using acceltrace::runtime::Device;
using acceltrace::runtime::Event;
using acceltrace::runtime::Fail;
using acceltrace::runtime::NoStream;
using acceltrace::runtime::Runtime;
using acceltrace::runtime::Stream;

namespace {

axlError_t CreateStream(axlStream_t* handle, int priority) {
  if (!handle) return Fail(axlErrorInvalidValue, "axlStreamCreate: stream is NULL");
  if (priority < 0 || priority >= static_cast<int>(Device::kPriorities))
    return Fail(axlErrorInvalidValue, "priority %d: give 0 (low) to %u", priority,
                Device::kPriorities - 1);
  Runtime& runtime = Runtime::Get();
  std::shared_ptr<Device> device;
  if (axlError_t e = runtime.GetCurrentDevice(&device)) return e;
  std::shared_ptr<Stream> stream;
  if (axlError_t e = Stream::Create(std::move(device), static_cast<uint32_t>(priority),
                                    Stream::NextId(), &stream))
    return e;
  *handle = runtime.streams().Add(std::move(stream));
  return *handle ? axlSuccess : Fail(axlErrorLimit, "too many streams: destroy some");
}

}  // namespace

axlError_t axlStreamCreate(axlStream_t* stream) {
  return ApiCall("axlStreamCreate", 0, NoStream(), [&](uint64_t) {
    return CreateStream(stream, static_cast<int>(Device::kDefaultPriority));
  });
}

axlError_t axlStreamCreateWithPriority(axlStream_t* stream, int priority) {
  return ApiCall("axlStreamCreateWithPriority", 0, NoStream(),
                 [&](uint64_t) { return CreateStream(stream, priority); });
}

axlError_t axlStreamGetPriority(axlStream_t stream, int* priority) {
  return ApiCall("axlStreamGetPriority", 0, stream, [&](uint64_t) {
    if (!priority) return Fail(axlErrorInvalidValue, "axlStreamGetPriority: priority is NULL");
    std::shared_ptr<Stream> found;
    if (axlError_t e = Runtime::Get().GetStream(stream, &found)) return e;
    *priority = static_cast<int>(found->context().priority());
    return axlSuccess;
  });
}

axlError_t axlStreamDestroy(axlStream_t stream) {
  return ApiCall("axlStreamDestroy", 0, stream, [&](uint64_t) {
    if (stream && Runtime::Get().streams().Remove(stream)) return axlSuccess;
    return Fail(axlErrorInvalidHandle, "%p is not a stream (destroyed twice?)",
                static_cast<void*>(stream));
  });
}

axlError_t axlStreamSynchronize(axlStream_t stream) {
  return ApiCall("axlStreamSynchronize", 0, stream, [&](uint64_t correlation) {
    std::shared_ptr<Stream> found;
    if (axlError_t e = Runtime::Get().GetStream(stream, &found)) return e;
    return found->Synchronize(correlation);
  });
}

axlError_t axlStreamQuery(axlStream_t stream) {
  return ApiCall("axlStreamQuery", 0, stream, [&](uint64_t correlation) {
    std::shared_ptr<Stream> found;
    if (axlError_t e = Runtime::Get().GetStream(stream, &found)) return e;
    return found->Query(correlation);
  });
}

axlError_t axlStreamWaitEvent(axlStream_t stream, axlEvent_t event) {
  return ApiCall("axlStreamWaitEvent", 0, stream, [&](uint64_t correlation) {
    std::shared_ptr<Stream> found;
    if (axlError_t e = Runtime::Get().GetStream(stream, &found)) return e;
    std::shared_ptr<Event> awaited;
    if (axlError_t e = Runtime::Get().GetEvent(event, &awaited)) return e;
    return found->WaitEvent(awaited->record(), correlation);
  });
}

axlError_t axlBatchBegin(axlStream_t stream) {
  return ApiCall("axlBatchBegin", 0, stream, [&](uint64_t) {
    std::shared_ptr<Stream> found;
    if (axlError_t e = Runtime::Get().GetStream(stream, &found)) return e;
    return found->BatchBegin();
  });
}

axlError_t axlBatchEnd(axlStream_t stream) {
  return ApiCall("axlBatchEnd", 0, stream, [&](uint64_t correlation) {
    std::shared_ptr<Stream> found;
    if (axlError_t e = Runtime::Get().GetStream(stream, &found)) return e;
    return found->BatchEnd(correlation);
  });
}
