// SPDX-License-Identifier: Apache-2.0
//
// Finds library functions and system calls that a provider declares as API calls
// (docs/providers.md).
#ifndef DAEMON_SOURCES_PROVIDER_PROVIDER_FUNCTIONS_H_
#define DAEMON_SOURCES_PROVIDER_PROVIDER_FUNCTIONS_H_

#include <string>
#include <vector>

#include "daemon/bpf/records.h"
#include "libtrace/base/result.h"
#include "libtrace/provider/machine.h"
#include "libtrace/provider/provider.h"

namespace acceltrace::daemon {

// A pair of attachments: at the entry and at the return.
struct LibraryFunction {
  std::string library;  // a path, or provider::kKernel
  std::string name;
  act_function config = {};
};

struct LibraryFunctions {
  std::vector<LibraryFunction> functions;
  std::vector<std::string> lacks;  // what the provider names and this machine lacks
};

// Fails if none of its functions is on this machine.
Result<LibraryFunctions> FindFunctions(const provider::Provider& provider,
                                       const provider::Machine& machine);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_PROVIDER_PROVIDER_FUNCTIONS_H_
