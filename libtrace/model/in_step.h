// SPDX-License-Identifier: Apache-2.0
//
// Whether the order of a device's records says more of its jobs than their own events. Internal.
#ifndef LIBTRACE_MODEL_IN_STEP_H_
#define LIBTRACE_MODEL_IN_STEP_H_

#include <cstdint>
#include <functional>

#include "libtrace/model/decode.h"
#include "libtrace/model/model.h"

namespace acceltrace::model {

// When the host knew that a job was complete, kNoTime: not seen.
struct CompletionTimes {
  std::function<int64_t(size_t row)> of_job;    // of DeviceJobs
  std::function<int64_t(uint32_t job)> of_any;  // by its number
};

// Of most traces it says no more: each command whose record comes behind that of a job was complete
// for the host no earlier than this job. Of one device whose tables are in the order of their
// records. *any_lost: whether numbers of records are missing.
bool IsInStep(const Model& model, const Decoder& decoder, const CompletionTimes& times,
              bool* any_lost);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_IN_STEP_H_
