/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the structures of trace rings. */
#ifndef _AXL_RING_TYPES_H
#define _AXL_RING_TYPES_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "axl_mem_types.h"
#include "uapi/axl.h"

struct axl_device;

/* A hardware trace ring, written by the device. */
struct axl_trace_ring {
	struct axl_device *axl;
	u32 id;
	bool running;			/* the device may write to it */
	wait_queue_head_t wait;
	u32 log2_records;
	u32 watermark;
	struct axl_trace_open setup;	/* to arm it again after a device reset */
	struct axl_trace_header *header;	/* NULL = free, under axl->lock */
	struct axl_mem mem;
};

/* The driver's own ring, see axl_driver_ring.c. */
struct axl_driver_ring {
	spinlock_t lock;		/* taken with a queue's held */
	union axl_host_record *records;	/* NULL = closed */
	u32 mask;
	u64 produced;
	u64 lost;
	u32 watermark;
	struct axl_trace_header *header;	/* NULL = free, under axl->lock */
	struct pid_namespace *ns;	/* in which its reader sees processes, NULL = the first */
	wait_queue_head_t wait;
	struct axl_mem mem;
};

/* The driver's own reader of the device-wide trace ring, see axl_cmd_trace.c. */
struct axl_cmd_trace {
	struct mutex lock;		/* of starting and stopping it */
	bool on;			/* the rest: axl->lock */
	u64 read;			/* free-running */
	u64 lost;			/* of them reported */
	struct delayed_work work;
};

#endif /* _AXL_RING_TYPES_H */
