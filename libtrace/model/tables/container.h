// SPDX-License-Identifier: Apache-2.0
//
// Identifies containers by the names that runtimes give to their control groups.
#ifndef LIBTRACE_MODEL_TABLES_CONTAINER_H_
#define LIBTRACE_MODEL_TABLES_CONTAINER_H_

#include <string>
#include <string_view>

namespace acceltrace::model {

// Returns the id of the innermost container of a control group's path, or the container's name if
// the runtime has no ids (LXC, systemd-nspawn). Empty for groups outside of containers, including
// those of a runtime's own processes. The result is as untrusted as the path.
std::string ContainerOf(std::string_view group);

// Returns the form for tables: the first 12 digits of an id, or a whole name.
std::string ShortContainer(std::string_view container);

// Returns true if a request for a container may mean this one: by its complete name or id, or by at
// least the first 4 digits of its id.
bool MayMean(std::string_view asked, std::string_view container);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_CONTAINER_H_
