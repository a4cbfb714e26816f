// SPDX-License-Identifier: Apache-2.0
//
// Demangles C++ names.
#ifndef LIBTRACE_SYMBOLS_DEMANGLE_H_
#define LIBTRACE_SYMBOLS_DEMANGLE_H_

#include <string>

namespace acceltrace::symbols {

// Returns the name itself if it is not mangled, or if demangling could make it excessively long:
// with a few back references, a hundred bytes expand to megabytes.
std::string Demangle(const std::string& name);

}  // namespace acceltrace::symbols

#endif  // LIBTRACE_SYMBOLS_DEMANGLE_H_
