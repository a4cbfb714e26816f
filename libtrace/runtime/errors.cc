// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/errors.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace acceltrace::runtime {
namespace {

struct ThreadErrors {
  axlError_t last = axlSuccess;
  char detail[512] = "";
};
thread_local ThreadErrors thread_errors;

struct Text {
  axlError_t error;
  const char* name;
  const char* meaning;
};

#define AXL_ERROR_TEXT(name, meaning) \
  { name, #name, meaning }
constexpr Text kTexts[] = {
    AXL_ERROR_TEXT(axlSuccess, "no error"),
    AXL_ERROR_TEXT(axlErrorInvalidValue, "an argument is out of range; see axlGetErrorDetail"),
    AXL_ERROR_TEXT(axlErrorInvalidHandle,
                   "no such stream, event or graph: create it first, and do not use it after "
                   "destroying it"),
    AXL_ERROR_TEXT(axlErrorInvalidDevicePointer,
                   "the device pointer and length do not lie inside one live allocation of the "
                   "stream's device"),
    AXL_ERROR_TEXT(axlErrorInvalidHostPointer,
                   "the host memory must come from axlHostAlloc or axlHostRegister here"),
    AXL_ERROR_TEXT(axlErrorInvalidDevice, "no device of that number; see axlGetDeviceCount"),
    AXL_ERROR_TEXT(axlErrorNoDevice,
                   "no accelerator found: check lspci for 1234:acc1 and load the driver "
                   "(modprobe axl)"),
    AXL_ERROR_TEXT(axlErrorPermission,
                   "this user may not open the device: check owner and mode of /dev/axlN"),
    AXL_ERROR_TEXT(axlErrorVersionMismatch,
                   "driver and library do not fit together: install both from one release"),
    AXL_ERROR_TEXT(axlErrorOutOfDeviceMemory, "out of device memory or scratchpad: free some"),
    AXL_ERROR_TEXT(axlErrorOutOfHostMemory, "out of host memory"),
    AXL_ERROR_TEXT(axlErrorLimit,
                   "no free context, queue or stream: destroy streams or end other processes"),
    AXL_ERROR_TEXT(axlErrorNotReady, "the work is still running"),
    AXL_ERROR_TEXT(axlErrorBusy, "in use by work that has not finished: synchronise first"),
    AXL_ERROR_TEXT(axlErrorBatchState, "not allowed in this state of the stream's batch"),
    AXL_ERROR_TEXT(axlErrorNotRecorded, "the event was never recorded: call axlEventRecord"),
    AXL_ERROR_TEXT(axlErrorNotSupported, "the device or its driver cannot do this"),
    AXL_ERROR_TEXT(axlErrorLaunchFailure,
                   "a job failed on the device: see axlGetErrorDetail, then axlDeviceReset"),
    AXL_ERROR_TEXT(axlErrorTimeout,
                   "a job hung and the driver gave it up: see axlGetErrorDetail, then "
                   "axlDeviceReset"),
    AXL_ERROR_TEXT(axlErrorDeviceLost,
                   "the device was removed or reset: axlDeviceReset, then try again"),
    AXL_ERROR_TEXT(axlErrorForked,
                   "the device was opened before fork: use it in the parent, or first touch it in "
                   "the child"),
    AXL_ERROR_TEXT(axlErrorUnknown, "unexpected error of the driver; see axlGetErrorDetail"),
};
#undef AXL_ERROR_TEXT

const Text* Find(axlError_t error) {
  for (const Text& text : kTexts) {
    if (text.error == error) return &text;
  }
  return nullptr;
}

}  // namespace

axlError_t Fail(axlError_t error, const char* format, ...) {
  // Use a separate buffer, since an argument may point into the old sentence.
  char detail[sizeof thread_errors.detail];
  va_list args;
  va_start(args, format);
  std::vsnprintf(detail, sizeof detail, format, args);
  va_end(args);
  std::memcpy(thread_errors.detail, detail, sizeof detail);
  return error;
}

axlError_t FailErrno(int error_number, const char* what) {
  switch (error_number) {
    case EINVAL:
    case EFAULT:
    case ENOENT:
      return Fail(axlErrorInvalidValue, "cannot %s: the driver refused an argument (%s)", what,
                  std::strerror(error_number));
    case E2BIG:
    case ENOTTY:
      return Fail(axlErrorVersionMismatch,
                  "cannot %s: the driver is older than this library (%s); install both from one "
                  "release",
                  what, std::strerror(error_number));
    case EPERM:
    case EACCES:
      return Fail(axlErrorPermission, "cannot %s: permission denied; run with more rights", what);
    case EBUSY:
      return Fail(axlErrorBusy,
                  "cannot %s: in use by work that has not finished; synchronise first", what);
    case ENOSPC:
      return Fail(axlErrorLimit, "cannot %s: the device has none left; free some first", what);
    case EDQUOT:
      return Fail(axlErrorLimit,
                  "cannot %s: this user has his part of the device (the driver's user_percent); "
                  "free some first",
                  what);
    case ENOMEM:
      return Fail(axlErrorOutOfHostMemory,
                  "cannot %s: out of host memory, or of what this user may have of it", what);
    case ETIMEDOUT:
      return Fail(axlErrorTimeout, "cannot %s: the deadline passed", what);
    case EAGAIN:
      return Fail(axlErrorNotReady, "cannot %s now: the submission ring is full", what);
    case EIO:
      return Fail(axlErrorLaunchFailure,
                  "cannot %s: an earlier job of this context failed; call axlDeviceReset", what);
    case ENODEV:
    case ENXIO:
      return Fail(axlErrorDeviceLost,
                  "cannot %s: the device is gone; call axlDeviceReset once it "
                  "is back",
                  what);
    default:
      return Fail(axlErrorUnknown, "cannot %s: %s (errno %d)", what, std::strerror(error_number),
                  error_number);
  }
}

axlError_t FailForked() {
  return Fail(axlErrorForked,
              "the device was opened before fork(): use it in the parent only, or open it first in "
              "the child");
}

const char* Detail() { return thread_errors.detail; }
void SetLastError(axlError_t error) { thread_errors.last = error; }

}  // namespace acceltrace::runtime

using acceltrace::runtime::thread_errors;

const char* axlGetErrorName(axlError_t error) {
  const auto* text = acceltrace::runtime::Find(error);
  return text ? text->name : "axlError?";
}

const char* axlGetErrorString(axlError_t error) {
  const auto* text = acceltrace::runtime::Find(error);
  return text ? text->meaning : "not an error number of libaxl";
}

const char* axlGetErrorDetail(void) { return thread_errors.detail; }

axlError_t axlPeekAtLastError(void) { return thread_errors.last; }

axlError_t axlGetLastError(void) {
  const axlError_t last = thread_errors.last;
  thread_errors.last = axlSuccess;
  return last;
}

axlError_t axlGetVersion(int* version) {
  if (!version) return acceltrace::runtime::Fail(axlErrorInvalidValue, "version is NULL");
  *version = AXL_VERSION;
  return axlSuccess;
}
