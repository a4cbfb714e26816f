// SPDX-License-Identifier: Apache-2.0
//
// Orders between devices: what joins their clocks to one graph. Internal.
#ifndef LIBTRACE_MODEL_ORDERS_H_
#define LIBTRACE_MODEL_ORDERS_H_

#include "libtrace/model/model.h"

namespace acceltrace::model {

// Each submission of a thread that had waited for a job of another device since it last
// submitted to this one: that job was complete before this one's doorbell, whatever the
// clocks say. host is sorted by time; slack is left to be filled in.
DeviceOrders FindOrders(const HostEvents& host);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_ORDERS_H_
