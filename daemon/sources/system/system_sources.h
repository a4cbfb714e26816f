// SPDX-License-Identifier: Apache-2.0
//
// The sources of `--sources`: data of the host's kernel beyond the accelerators.
#ifndef DAEMON_SOURCES_SYSTEM_SYSTEM_SOURCES_H_
#define DAEMON_SOURCES_SYSTEM_SYSTEM_SOURCES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/sources/common/source.h"
#include "daemon/sources/system/sampled_source.h"
#include "libtrace/control/recording.h"

namespace acceltrace::daemon {

using control::SystemSource;
using enum control::SystemSource;

struct SystemOptions {
  uint32_t wanted = 0;  // SystemSource
  bool system_wide = false;
  std::optional<uint32_t> owner;              // the user of the recording, unless it is for all
  int tracked_fd = -1;                        // the BPF map of recorded processes
  std::function<uint64_t()> tracked_changes;  // of that map, for CgroupSource
  std::function<int64_t(uint32_t pid)> since_ns;
  // Reads counters that providers name; unset if they name none.
  SampledSource::Read provider_counters;
  // The accelerators' numbers in the stream and PCI addresses.
  std::vector<std::pair<uint32_t, std::string>> devices;
};

// Starts the available sources. Others are reported as probes that are not attached, with the
// reason.
std::vector<std::unique_ptr<Source>> StartSystemSources(const SystemOptions& options,
                                                        EventHandler* handler);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SYSTEM_SYSTEM_SOURCES_H_
