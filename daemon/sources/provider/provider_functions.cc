// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider/provider_functions.h"

#include <optional>
#include <set>

#include "libtrace/provider/functions.h"

namespace acceltrace::daemon {
namespace {

act_argument ToArgument(const std::optional<provider::Argument>& from) {
  if (!from) return {};
  return {from->place, from->times_place, from->times};
}

}  // namespace

Result<LibraryFunctions> FindFunctions(const provider::Provider& provider,
                                       const provider::Machine& machine) {
  LibraryFunctions found;
  provider::FunctionFinder finder(machine);
  std::set<std::string> without;  // libraries, each of which is reported once
  for (const provider::ApiFunction& function : provider.functions) {
    const provider::FoundFunction place = finder.Find(function);
    if (place.why.empty()) {
      found.functions.push_back({place.library,
                                 function.name,
                                 {ToArgument(function.bytes), ToArgument(function.stream)}});
    } else if (!place.all_lacks || without.insert(function.library).second) {
      found.lacks.push_back(place.why);
    }
  }
  if (found.functions.empty()) {
    return Status::Error("provider " + provider.name + " cannot be recorded: " +
                         (found.lacks.empty() ? "it has no [api]" : found.lacks.front()));
  }
  if (found.functions.size() > ACT_MAX_FUNCTIONS) {
    return Status::Error("provider " + provider.name + " names more than " +
                         std::to_string(ACT_MAX_FUNCTIONS) + " functions");
  }
  return found;
}

}  // namespace acceltrace::daemon
