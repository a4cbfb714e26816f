/* SPDX-License-Identifier: GPL-2.0 */
/*
 * axl.ko: tracepoints of system "axl", collected from one header for each subject.
 * A file that emits events includes the header of its subject; this one is for axl_trace.c.
 *
 * Names, field names, order and types are an ABI (docs/driver.md), both for
 * tracefs and for BPF programs, whose arguments have the same order: scalars
 * only, no kernel pointers. Raw values are stored; names appear on printing.
 *
 * dev is N of /dev/axlN, ctx the hardware context, queue the hardware queue,
 * job the driver's job number, seq the sequence within the queue, correlation
 * the caller's id. 0xffffffff stands for "none".
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM axl

#if !defined(_AXL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _AXL_TRACE_H

#include "axl_trace_job.h"
#include "axl_trace_irq.h"
#include "axl_trace_object.h"
#include "axl_trace_device.h"
#include "axl_trace_cmd.h"

#endif /* _AXL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE axl_trace
#include <trace/define_trace.h>
