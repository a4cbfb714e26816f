// SPDX-License-Identifier: Apache-2.0
//
// Which program this is, to the driver: a client number that it gave out, with which the ids of
// all calls begin. A forked child and another program of the same process are other ones; two
// copies of the library in one process, too. Internal.
#ifndef LIBTRACE_RUNTIME_INCARNATION_H_
#define LIBTRACE_RUNTIME_INCARNATION_H_

#include <cstdint>

namespace acceltrace::runtime {

// With these bits begins a client that no driver gave out, because there is none: the rest is the
// number of the process, as it sees it.
inline constexpr uint32_t kNoDriversClient = 0x80000000;

// (client << 32) | a count of this incarnation's calls; becomes the thread's last one. The first
// one asks the driver, which takes system calls: the file that is opened for it stays, so that
// devices can join it.
uint64_t NextCorrelation();
uint64_t LastCorrelation();

// The upper half of them.
uint32_t ThisClient();

// Differs between a process and its children, however they were forked; never 0.
uint32_t IncarnationToken();

// The devices' own number from now on: they could not join what this incarnation had. 0: the next
// call asks again.
void SetClient(uint32_t client);

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_INCARNATION_H_
