// SPDX-License-Identifier: Apache-2.0
//
// Errors of libaxl: the number is returned to the caller, and a sentence that says what was wrong
// and what to do stays with the thread until its next failure. Internal.
#ifndef LIBTRACE_RUNTIME_ERRORS_H_
#define LIBTRACE_RUNTIME_ERRORS_H_

#include "libtrace/runtime/axl.h"

namespace acceltrace::runtime {

// Stores the sentence for axlGetErrorDetail and returns `error`. Never throws.
axlError_t Fail(axlError_t error, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Calls Fail() for an ioctl that returned -errno. `what` is what was attempted ("allocate 4096
// bytes").
axlError_t FailErrno(int error_number, const char* what);

// The error for something that a parent opened and its child uses.
axlError_t FailForked();

// Returns the thread's sentence; sticky device errors keep it.
const char* Detail();
void SetLastError(axlError_t error);

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_ERRORS_H_
