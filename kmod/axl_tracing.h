/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the tracing layer: the device's rings and the driver's. See axl_dev.h. */
#ifndef _AXL_TRACING_H
#define _AXL_TRACING_H

#include "axl_dev.h"

/* The size of a ring's memory: its header, then the records. */
#define AXL_RING_LOG2_MIN	5
#define AXL_RING_LOG2_MAX	16
#define AXL_RING_BYTES(log2)	(AXL_TRACE_HEADER_BYTES + ((u64)AXL_TRACE_RECORD_BYTES << (log2)))

/* axl_trace_ring.c: hardware rings */
void axl_ring_init(struct axl_device *axl, u32 id);
int axl_ring_alloc(struct axl_device *axl, struct axl_share *share, u32 log2_records,
		   struct axl_mem *mem);
int axl_ring_take(struct axl_trace_ring *ring, const struct axl_trace_open *setup,
		  const struct axl_mem *mem);
struct axl_mem axl_ring_drop(struct axl_trace_ring *ring);
void axl_ring_arm(struct axl_trace_ring *ring);
void axl_ring_stop(struct axl_trace_ring *ring);
bool axl_ring_readable(struct axl_trace_ring *ring);

/* axl_driver_ring.c; axl_driver_ring.h has the functions that write records */
void axl_driver_ring_init(struct axl_device *axl);
bool axl_driver_ring_readable(struct axl_driver_ring *ring);

/* axl_cmd_trace.c */
void axl_cmd_trace_init(struct axl_device *axl);
int axl_cmd_trace_set(struct axl_device *axl, bool on);
void axl_cmd_trace_stop(struct axl_device *axl);
void axl_cmd_trace_drain(struct axl_device *axl);

#endif /* _AXL_TRACING_H */
