// SPDX-License-Identifier: Apache-2.0
//
// Identifies this program to the driver by a client number, which the driver assigns and with which
// the ids of all calls begin. A forked child and another program of the same process have other
// numbers, and so do two copies of the library in one process. Internal.
#ifndef LIBTRACE_RUNTIME_INCARNATION_H_
#define LIBTRACE_RUNTIME_INCARNATION_H_

#include <cstdint>

namespace acceltrace::runtime {

// The prefix of a client number if there is no driver to assign one. The rest is the process id as
// seen by the process.
inline constexpr uint32_t kNoDriversClient = 0x80000000;

// Returns (client << 32) | a count of this incarnation's calls, which becomes the thread's last id.
// The first call asks the driver, which takes system calls. The file that is opened for it stays
// open, so that devices can join it.
uint64_t NextCorrelation();
uint64_t LastCorrelation();

// Returns the upper half of these ids.
uint32_t ThisClient();

// Differs between a process and its children, however they were forked; never 0.
uint32_t IncarnationToken();

// Sets the devices' own number for later calls, if they could not join this incarnation's client.
// With 0, the next call asks again.
void SetClient(uint32_t client);

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_INCARNATION_H_
