// SPDX-License-Identifier: Apache-2.0
#include "libtrace/provider/functions.h"

#include <algorithm>
#include <utility>

namespace acceltrace::provider {

FunctionFinder::Library FunctionFinder::Read(const std::string& name) const {
  Library library;
  library.path = name == kKernel ? name : machine_.FindLibrary(name);
  if (library.path.empty()) {
    library.why = "no " + name + " on this machine: install the driver's libraries";
    return library;
  }
  auto names = name == kKernel ? machine_.SystemCalls() : FunctionsOf(library.path);
  if (names.ok()) {
    library.names = std::move(names).value();
  } else {
    library.why = names.message();
  }
  return library;
}

FoundFunction FunctionFinder::Find(const ApiFunction& function) {
  const auto [entry, fresh] = libraries_.try_emplace(function.library);
  Library& library = entry->second;
  if (fresh) library = Read(function.library);
  if (!library.why.empty()) return {library.path, library.why, true};
  if (std::binary_search(library.names.begin(), library.names.end(), function.name)) {
    return {library.path, "", false};
  }
  return {library.path,
          function.library == kKernel ? "no system call " + function.name + " in this kernel"
                                      : "no " + function.name + " in " + library.path,
          false};
}

}  // namespace acceltrace::provider
