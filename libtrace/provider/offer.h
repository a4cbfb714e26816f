// SPDX-License-Identifier: Apache-2.0
//
// Lists the providers, and what each of them can record on a machine.
#ifndef LIBTRACE_PROVIDER_OFFER_H_
#define LIBTRACE_PROVIDER_OFFER_H_

#include <string>
#include <vector>

#include "libtrace/provider/machine.h"
#include "libtrace/provider/provider.h"

namespace acceltrace::provider {

// Returns the folders with *.provider files. If two providers have the same name, the one in the
// later folder wins. `own` includes the user's own folder.
std::vector<std::string> ProviderFolders(bool own);

struct Catalogue {
  std::vector<Provider> providers;  // sorted by name
  std::vector<std::string> errors;  // one line for each file that is not a provider
};
Catalogue LoadProviders(const std::vector<std::string>& folders);

// A role, a function, a counter or the clock. `why` says why it is not available, and is empty if
// it is.
struct Evidence {
  std::string kind, what, why;
  size_t line = 0;
};

struct Offer {
  std::vector<const PciDevice*> devices;
  std::vector<Evidence> evidence;
  std::string why;  // why nothing can be recorded; empty if something can
};

Offer Examine(const Provider& provider, const Machine& machine);

// The tracepoint for a role in this kernel, and the places of its fields. If there is none, the
// pointer is null and `why` is the reason for the first candidate.
struct ChosenTracepoint {
  const Tracepoint* tracepoint = nullptr;
  Placed placed;
  std::string why;
};
ChosenTracepoint Choose(const Provider& provider, Role role, const Machine& machine);

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_OFFER_H_
