// SPDX-License-Identifier: Apache-2.0
//
// C++ names as they were written.
#ifndef LIBTRACE_SYMBOLS_DEMANGLE_H_
#define LIBTRACE_SYMBOLS_DEMANGLE_H_

#include <string>

namespace acceltrace::symbols {

// The name itself where it is no mangled one, or one that could become very long: a few references
// back to itself make megabytes of a hundred bytes.
std::string Demangle(const std::string& name);

}  // namespace acceltrace::symbols

#endif  // LIBTRACE_SYMBOLS_DEMANGLE_H_
