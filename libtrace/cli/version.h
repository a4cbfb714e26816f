// SPDX-License-Identifier: Apache-2.0
#ifndef LIBTRACE_CLI_VERSION_H_
#define LIBTRACE_CLI_VERSION_H_

namespace acceltrace::cli {
inline constexpr char kVersion[] = "0.1.0";
}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_VERSION_H_
