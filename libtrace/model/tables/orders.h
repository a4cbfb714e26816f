// SPDX-License-Identifier: Apache-2.0
//
// Orders between devices, which connect their clocks. Internal.
#ifndef LIBTRACE_MODEL_TABLES_ORDERS_H_
#define LIBTRACE_MODEL_TABLES_ORDERS_H_

#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// Finds each submission by a thread that had waited for a job of another device since its last
// submission to this one: that job was complete before this one's doorbell, whatever the clocks
// show. host must be sorted by time; slack is not filled in.
DeviceOrders FindOrders(const HostEvents& host);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_ORDERS_H_
