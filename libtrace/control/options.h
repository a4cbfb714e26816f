// SPDX-License-Identifier: Apache-2.0
//
// Converts a request for a recording from and to options of a command line.
#ifndef LIBTRACE_CONTROL_OPTIONS_H_
#define LIBTRACE_CONTROL_OPTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/proto/control.pb.h"

namespace acceltrace::control {

// An option of kind kValues may be given several times, and all its values are used.
enum class OptionKind { kUnknown, kFlag, kValue, kValues };
OptionKind KindOf(std::string_view option);

// Sets a known option. `value` is not used for a flag. Only values that should be numbers and are
// not are errors here; Check() finds all others.
Status SetOption(std::string_view option, std::string_view value, proto::RecordRequest* request);

// Returns the words of a command line with the same meaning; the command is last, after --.
std::vector<std::string> Words(const proto::RecordRequest& request);

}  // namespace acceltrace::control

#endif  // LIBTRACE_CONTROL_OPTIONS_H_
