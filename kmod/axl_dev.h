/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _AXL_DEV_H
#define _AXL_DEV_H

/*
 * axl.ko: read this page first, then struct axl_device below it.
 *
 * Layers, from the top. Each has one header, which declares what its files
 * offer; a file includes the header of its own layer and those of layers below
 * it. So calls and includes go down; a call up does not compile without an
 * include that shows it.
 *
 *   entry       axl_entry.h       what the kernel calls: probe (axl_drv), file
 *                                 operations (axl_cdev, axl_info), interrupts
 *                                 (axl_irq), bus errors and suspend (axl_pm)
 *   tools       axl_tools.h       what monitors read: axl_counters, axl_clock,
 *                                 axl_pmu, axl_ptp, axl_sysfs, axl_debugfs
 *   submission  axl_submission.h  axl_submit, axl_fetch and axl_validate (the
 *                                 commands), axl_wait
 *   lifetime    axl_lifetime.h    objects of a file: axl_ctx, axl_queue,
 *                                 axl_buf, axl_trace_open, axl_driver_ring_open
 *   recovery    axl_recovery.h    axl_reset: failed contexts, hangs, resets
 *   completion  axl_completion.h  axl_complete, axl_fence
 *   tracing     axl_tracing.h     axl_trace_ring, axl_driver_ring, axl_cmd_trace
 *   memory      axl_memory.h      axl_mem (pages), axl_quota, axl_space and
 *                                 axl_clear (device memory)
 *   device      axl_dev.h         axl_hw (registers), axl_state (lost, failed)
 *   below all                     axl_*_types.h (structures), axl_stamp, axl_trace*.h
 *                                 (tracepoints), compat.h, uapi/
 *
 * Completion and register access report failures to recovery by the work item axl->recover, which
 * axl_ctx_error() and axl_set_gone() of the device layer queue. Wait queues wake sleepers in the
 * layers above.
 *
 * Ownership:
 *   axl_device      referenced by the PCI binding and by each open file
 *   axl_file        an open file; owns its contexts and buffers, and at most one
 *                   trace ring; on unplug these are released, the file remains
 *   axl_share       the open files of one user on one device
 *   axl_ctx         referenced by its file's table, and by calls that sleep on it
 *   axl_queue       its context; the rings go when the context leaves the device
 *   axl_hwq, axl_trace_ring, axl_driver_ring
 *                   parts of the device, lent to a context's queue or to a file
 *   axl_buf         its file's table; freed once no job in flight uses it
 *   axl_pages       referenced by their axl_mem and by each mapping
 *   axl_fence       referenced by its descriptor, and by its queue until signalled
 *
 * Locks, outermost first, and what they cover:
 *   axl->files_lock     axl->files, axl->shares; held over a file's teardown
 *   queue->submit       order of submissions to one queue, contents of its
 *                       submission ring; life of both rings' memory
 *   file->lock          a file's tables: contexts, buffers, its trace ring. The
 *                       fast path of axl_ioctl_submit() holds it for reading and then
 *                       only trylocks queue->submit
 *   axl->cmd_trace.lock whether the driver reads the device-wide ring itself
 *   axl->lock           ownership of contexts, queues, rings and ranges of device
 *                       memory; contexts' death; quotas; resets
 *   hwq->lock           hwq->q, its indexes, sequences, jobs and fences; taken in
 *                       interrupt context
 * and innermost: driver_ring.lock (its indexes; hwq->lock may be held),
 * axl->snapshot_lock (counter latch, PTM registers, clock), axl_users_lock
 * (axl_quota.c), axl_pmus_lock (axl_pmu.c).
 * axl->srcu only protects the device's presence: see axl_enter(). No user page is faulted in under
 * any of these locks, nor inside axl_enter(): axl_fetch(), which copies under locks, reads with
 * page faults disabled.
 */
#include <linux/atomic.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/io.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>

#include "axl_job_types.h"
#include "axl_mem_types.h"
#include "axl_ring_types.h"
#include "uapi/axl.h"
#include "uapi/axl_counters.h"
#include "uapi/axl_stats.h"
#include "compat.h"

struct axl_pmu;

struct axl_device {
	struct device dev;		/* its release frees this struct */
	struct cdev cdev;
	struct pci_dev *pdev;		/* referenced; valid even after unplug */
	void __iomem *regs;
	u32 index;

	struct srcu_struct srcu;	/* see axl_enter() */
	bool closed;			/* no new calls: unplug or loss has begun */
	bool gone;			/* no access to hardware any more; implies closed */
	bool lost_sent;			/* the uevent, once for each loss */
	bool removed;			/* unplug or unbind: closed for good */
	bool offline;			/* no access for now: suspended, or in a bus reset */

	/* identity, read once */
	u32 hw_version;
	u32 features;
	u32 num_queues;
	u32 num_contexts;
	u32 num_rings;
	u32 num_counters;
	u32 clock_bits;
	u64 clock_hz;
	u64 scratch_bytes;

	struct mutex files_lock;	/* files, shares */
	struct list_head files;
	struct list_head shares;
	atomic64_t host_bytes;		/* of all shares */

	struct mutex lock;		/* ownership of hardware resources; resets */
	struct axl_ctx *ctxs[AXL_MAX_CONTEXTS];
	bool unclean;			/* free device memory may not be zero */
	struct axl_space dram;
	struct axl_space scratch;

	spinlock_t snapshot_lock;	/* counter latch, PTM registers, what is below */
	u64 counter_epoch;		/* resets, each of which zeroes the counters */
	u64 clock_last;			/* a narrow clock, extended to 64 bits */
	atomic_t next_job;
	struct axl_hwq hwq[AXL_MAX_QUEUES];
	struct axl_trace_ring rings[AXL_MAX_TRACE_RINGS];
	struct axl_driver_ring driver_ring;
	struct axl_cmd_trace cmd_trace;

	struct work_struct recover;	/* contexts in error, loss of the device */
	unsigned long ctx_errors;	/* hardware contexts that recover looks at */
	struct delayed_work watchdog;	/* runs while jobs are in flight */
	atomic_t watchdog_armed;
	atomic64_t stats[AXL_NUM_STATS];

	struct axl_pmu *pmu;
	struct ptp_clock_info ptp_info;
	struct ptp_clock *ptp;
	struct dentry *debugfs;
};

/* An open file. */
struct axl_file {
	struct axl_device *axl;
	struct axl_share *share;
	struct list_head link;		/* axl->files */
	struct pid *owner;		/* the process that opened it */
	u32 number;			/* no other file has had it */
	u32 client;			/* number, or that of a file it joined; see axl_client.c */
	struct rw_semaphore lock;
	bool torn;			/* the device let go of it */
	struct axl_ctx *ctxs[AXL_MAX_CONTEXTS];	/* handle - 1 */
	struct axl_buf **bufs;		/* by handle */
	u32 num_bufs;			/* size of that table */
	struct axl_trace_ring *ring;
	bool driver_ring;		/* has that instead */
};

/* One ioctl call: the copied-in struct and what to do when it returns. */
struct axl_ucmd {
	struct axl_file *file;
	void *cmd;
	struct file *fence;		/* installed at fence_fd once the struct is copied out */
	int fence_fd;
};

#define to_axl(d) container_of(d, struct axl_device, dev)

static inline void axl_count(struct axl_device *axl, enum axl_stat stat)
{
	atomic64_inc(&axl->stats[stat]);
}

/*
 * Brackets code that needs the device to stay. Unplug closes the device and waits for all callers
 * inside, so they must not wait for user memory.
 */
static inline int axl_enter(struct axl_device *axl, int *idx)
{
	*idx = srcu_read_lock(&axl->srcu);
	if (likely(!READ_ONCE(axl->closed)))
		return 0;
	srcu_read_unlock(&axl->srcu, *idx);
	return -ENODEV;
}

/* Whether a value just read from the device is valid. */
static inline bool axl_accessible(struct axl_device *axl)
{
	return !READ_ONCE(axl->gone) && !READ_ONCE(axl->offline);
}

static inline void axl_write32(struct axl_device *axl, u32 reg, u32 value)
{
	if (likely(axl_accessible(axl)))
		writel(value, axl->regs + reg);
}

static inline int axl_gone_error(struct axl_device *axl)
{
	return READ_ONCE(axl->closed) ? -ENODEV : -EIO;
}

static inline void axl_exit(struct axl_device *axl, int idx)
{
	srcu_read_unlock(&axl->srcu, idx);
}

/* axl_hw.c: register access that stops when the device is gone */
u32 axl_read32(struct axl_device *axl, u32 reg);
u64 axl_read64(struct axl_device *axl, u32 reg);
void axl_write64(struct axl_device *axl, u32 reg, u64 value);
int axl_wait_clear32(struct axl_device *axl, u32 reg, u32 bits, unsigned int timeout_us);
int axl_hw_start(struct axl_device *axl);
void axl_hw_stop(struct axl_device *axl);

/* axl_state.c */
void axl_set_gone(struct axl_device *axl);
void axl_ctx_error(struct axl_device *axl, u32 hw);
const char *axl_state_name(struct axl_device *axl);
void axl_uevent(struct axl_device *axl, const char *what);

#endif /* _AXL_DEV_H */
