// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider_functions.h"

#include <algorithm>
#include <map>
#include <optional>

namespace acceltrace::daemon {
namespace {

act_argument ToArgument(const std::optional<provider::Argument>& from) {
  if (!from) return {};
  return {from->place, from->times_place, from->times};
}

struct Library {
  std::string path;
  std::vector<std::string> functions;  // sorted
  std::string why;                     // there are none
};

Library ReadLibrary(const std::string& name, const provider::Machine& machine) {
  Library library;
  library.path = machine.FindLibrary(name);
  if (library.path.empty()) {
    library.why = "no " + name + " on this machine: install the driver's libraries";
    return library;
  }
  auto functions = provider::FunctionsOf(library.path);
  if (!functions.ok()) {
    library.why = functions.message();
    return library;
  }
  library.functions = std::move(functions).value();
  std::sort(library.functions.begin(), library.functions.end());
  return library;
}

}  // namespace

Result<LibraryFunctions> FindFunctions(const provider::Provider& provider,
                                       const provider::Machine& machine) {
  LibraryFunctions found;
  std::map<std::string, Library> libraries;
  for (const provider::ApiFunction& function : provider.functions) {
    const auto [entry, fresh] = libraries.try_emplace(function.library);
    Library& library = entry->second;
    if (fresh) {
      library = ReadLibrary(function.library, machine);
      if (!library.why.empty()) found.lacks.push_back(library.why);
    }
    if (!library.why.empty()) continue;
    if (!std::binary_search(library.functions.begin(), library.functions.end(), function.name)) {
      found.lacks.push_back("no " + function.name + " in " + library.path);
      continue;
    }
    found.functions.push_back(
        {library.path, function.name, {ToArgument(function.bytes), ToArgument(function.stream)}});
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
