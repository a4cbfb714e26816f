// SPDX-License-Identifier: Apache-2.0
//
// Creates the sources of this folder.
#ifndef DAEMON_SOURCES_BPF_BPF_SOURCES_H_
#define DAEMON_SOURCES_BPF_BPF_SOURCES_H_

#include <memory>
#include <vector>

#include "daemon/sources/bpf/tracer.h"
#include "daemon/sources/bpf/tracked_processes.h"
#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

// Returns the sources required by the tracer's options, which must be started, drained and stopped
// in this order. The cost of events has been measured and reported. `tracked` and the handler must
// outlive them.
std::vector<std::unique_ptr<Source>> MakeBpfSources(const std::shared_ptr<Tracer>& tracer,
                                                    TrackedProcesses* tracked,
                                                    EventHandler* handler);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_BPF_SOURCES_H_
