// SPDX-License-Identifier: Apache-2.0
//
// The USDT probes that a file declares. The file may be
// anybody's: nothing in it is believed.
#ifndef DAEMON_SOURCES_API_ELF_PROBES_H_
#define DAEMON_SOURCES_API_ELF_PROBES_H_

#include <set>
#include <string>

namespace acceltrace::daemon {

// Names of `provider`'s probes; none if it is no ELF file, or a damaged one.
std::set<std::string> ElfProbes(const std::string& file, const std::string& provider);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_ELF_PROBES_H_
