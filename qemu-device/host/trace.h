/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's trace events of the device, generated from trace-events. The trace
 * unit is trace.c.
 */
#ifndef HW_MISC_AXL_TRACE_H
#define HW_MISC_AXL_TRACE_H

#include "trace/trace-hw_misc_axl.h"

#endif
