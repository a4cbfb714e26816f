// SPDX-License-Identifier: Apache-2.0
//
// Converts device times to the host's clock. Internal.
#ifndef LIBTRACE_MODEL_LOAD_CONVERT_H_
#define LIBTRACE_MODEL_LOAD_CONVERT_H_

#include "libtrace/model/load/decode.h"
#include "libtrace/model/tables/host_jobs.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// Fits each device's clock (samples, what the device reported about its clock, the order of events)
// and converts every device time of the model and the decoder. Ticks of a clock with fewer than 64
// bits are extended over its wraps; the low bits stay as the device wrote them. found: FindOrders()
// of the host's events. part: as for LoadRows().
void ConvertTimes(const HostJobs& host_jobs, DeviceOrders found, bool part, Decoder* decoder,
                  Model* model);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_CONVERT_H_
