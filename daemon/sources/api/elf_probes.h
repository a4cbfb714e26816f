// SPDX-License-Identifier: Apache-2.0
//
// Reads the USDT probes that a file declares. The file is not trusted.
#ifndef DAEMON_SOURCES_API_ELF_PROBES_H_
#define DAEMON_SOURCES_API_ELF_PROBES_H_

#include <set>
#include <string>

namespace acceltrace::daemon {

// Returns the names of `provider`'s probes; empty if the file is not an ELF file or is damaged.
std::set<std::string> ElfProbes(const std::string& file, const std::string& provider);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_ELF_PROBES_H_
