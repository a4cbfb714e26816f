// SPDX-License-Identifier: Apache-2.0
//
// The version of acceltrace as a whole: programs, traces, package.
#ifndef LIBTRACE_BASE_VERSION_H_
#define LIBTRACE_BASE_VERSION_H_

namespace acceltrace {
inline constexpr char kVersion[] = "0.1.0";
}  // namespace acceltrace

#endif  // LIBTRACE_BASE_VERSION_H_
