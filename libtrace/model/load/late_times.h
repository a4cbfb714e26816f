// SPDX-License-Identifier: Apache-2.0
//
// Device times that are only converted to the host's clock when they are read. Internal.
//
// The laws of a trace compare most device times with others of the same count, by their ticks. To
// convert them all took longer than the comparisons, and most of the memory. This is only done for
// clocks whose ticks alone determine the time, so that any row can be converted later with the same
// result.
#ifndef LIBTRACE_MODEL_LOAD_LATE_TIMES_H_
#define LIBTRACE_MODEL_LOAD_LATE_TIMES_H_

#include <cstdint>
#include <vector>

#include "libtrace/model/load/decode.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// Handles all times of commands, and counts long stalls. Returns false and does nothing if the
// clock of one of them needs more information.
bool LeaveCommandsLate(const Decoder& decoder, Model* model);
// Handles the times of jobs that are not compared with host times: fetched, first start, last end.
bool LeaveJobsLate(const Model& model, DeviceJobs* jobs);

// Returns true if the times are not converted yet.
inline bool IsLate(const DeviceTimes& times) { return times.size() > times.host.size(); }
// Moves `source` in the order of `rows`, where kNoRow means no time. It stays unconverted.
void MoveLate(const std::vector<uint32_t>& rows, DeviceTimes* source, DeviceTimes* to);
// Converts those times of commands at once that belong to instants with these fields of
// proto::CommandBatch, because all of them are about to be read.
void PlaceLate(const std::vector<uint32_t>& fields, Model* model);
// Must be called when tables are final. The times refer to the model.
void AttachLate(Model* model);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_LATE_TIMES_H_
