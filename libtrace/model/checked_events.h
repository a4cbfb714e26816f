// SPDX-License-Identifier: Apache-2.0
//
// The host events that laws still ask for once the jobs have theirs. Internal.
#ifndef LIBTRACE_MODEL_CHECKED_EVENTS_H_
#define LIBTRACE_MODEL_CHECKED_EVENTS_H_

#include "libtrace/model/tables.h"

namespace acceltrace::model {

// Of events in order of time, after CollectHostJobs(): leaves those of calls and of contexts, and
// all that share their time with another, which may be the same event twice. Where each is alone
// only what laws ask of it is left: when, of which kind, job and call it was.
void KeepChecked(HostEvents* host);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_CHECKED_EVENTS_H_
