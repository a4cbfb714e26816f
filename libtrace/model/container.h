// SPDX-License-Identifier: Apache-2.0
//
// Which container a control group is of, by the names that runtimes give to groups.
#ifndef LIBTRACE_MODEL_CONTAINER_H_
#define LIBTRACE_MODEL_CONTAINER_H_

#include <string>
#include <string_view>

namespace acceltrace::model {

// Of a control group's path: the id, or the name where the runtime has none (LXC, systemd-nspawn),
// of the innermost container that it lies in. Empty: of no container, as are those of a runtime's
// own processes beside it. It is as little to be trusted as the path.
std::string ContainerOf(std::string_view group);

// As tables show it: of an id the first 12 digits, of a name all.
std::string ShortContainer(std::string_view container);

// Whether somebody who asks for a container may mean this one: by all of its name or id, or by
// at least 4 digits that its id begins with.
bool MayMean(std::string_view asked, std::string_view container);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_CONTAINER_H_
