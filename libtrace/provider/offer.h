// SPDX-License-Identifier: Apache-2.0
//
// Which providers there are, and what of each can be had on a machine.
#ifndef LIBTRACE_PROVIDER_OFFER_H_
#define LIBTRACE_PROVIDER_OFFER_H_

#include <string>
#include <vector>

#include "libtrace/provider/machine.h"
#include "libtrace/provider/provider.h"

namespace acceltrace::provider {

// Folders of *.provider files; of two providers of one name the later folder's counts. own: the
// user's own folder, too.
std::vector<std::string> ProviderFolders(bool own);

struct Catalogue {
  std::vector<Provider> providers;  // by name
  std::vector<std::string> errors;  // of files that are no providers, one line each
};
Catalogue LoadProviders(const std::vector<std::string>& folders);

// A role, a function, a counter or the clock; why is empty when it can be had.
struct Evidence {
  std::string kind, what, why;
  size_t line = 0;
};

struct Offer {
  std::vector<const PciDevice*> devices;
  std::vector<Evidence> evidence;
  std::string why;  // empty: there is something to record
};

Offer Examine(const Provider& provider, const Machine& machine);

// The tracepoint of a role that this kernel has, and its places; null with the reason of the
// first one that it has not.
struct ChosenTracepoint {
  const Tracepoint* tracepoint = nullptr;
  Placed placed;
  std::string why;
};
ChosenTracepoint Choose(const Provider& provider, Role role, const Machine& machine);

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_OFFER_H_
