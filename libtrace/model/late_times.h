// SPDX-License-Identifier: Apache-2.0
//
// Device times that are placed on the host's clock when somebody asks for one. Internal.
//
// The laws of a trace compare most device times with others of the same count, by their ticks: to
// place them all took longer than the comparisons, and most of the memory. Only of clocks whose
// ticks alone say when, so that any time of any row can be placed later, and is the same then.
#ifndef LIBTRACE_MODEL_LATE_TIMES_H_
#define LIBTRACE_MODEL_LATE_TIMES_H_

#include <cstdint>
#include <vector>

#include "libtrace/model/decode.h"
#include "libtrace/model/model.h"

namespace acceltrace::model {

// All times of commands, which are checked for long stalls. False: nothing was done, since the
// clock of one of them needs to know more.
bool LeaveCommandsLate(const Decoder& decoder, Model* model);
// Of jobs those that are compared with no time of the host: fetched, first start, last end.
bool LeaveJobsLate(const Model& model, DeviceJobs* jobs);

// Not on the host's clock so far.
inline bool IsLate(const DeviceTimes& times) { return times.size() > times.host.size(); }
// `source` in the order of `rows`, kNoRow: no time; it stays late.
void MoveLate(const std::vector<uint32_t>& rows, DeviceTimes* source, DeviceTimes* to);
// Those of commands that are late, of instants with these fields of proto::CommandBatch: at once,
// as somebody is about to ask for all of them.
void PlaceLate(const std::vector<uint32_t>& fields, Model* model);
// Once tables are as they stay. The times refer to the model.
void AttachLate(Model* model);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LATE_TIMES_H_
