// SPDX-License-Identifier: Apache-2.0
//
// Finds the functions that providers name as API calls.
#ifndef LIBTRACE_PROVIDER_FUNCTIONS_H_
#define LIBTRACE_PROVIDER_FUNCTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "libtrace/provider/machine.h"

namespace acceltrace::provider {

struct FoundFunction {
  std::string library;     // its path, or kKernel for a system call
  std::string why;         // why the function is not available; empty if it is
  bool all_lacks = false;  // `why` applies to every function of the library
};

// Reads each library only once. The machine must outlive the finder.
class FunctionFinder {
 public:
  explicit FunctionFinder(const Machine& machine) : machine_(machine) {}
  FoundFunction Find(const ApiFunction& function);

 private:
  struct Library {
    std::string path, why;
    std::vector<std::string> names;  // sorted
  };
  Library Read(const std::string& name) const;

  const Machine& machine_;
  std::map<std::string, Library> libraries_;
};

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_FUNCTIONS_H_
