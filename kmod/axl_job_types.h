/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the structures of work: jobs, queues, contexts. */
#ifndef _AXL_JOB_TYPES_H
#define _AXL_JOB_TYPES_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "axl_mem_types.h"
#include "axl_stamp.h"
#include "uapi/axl.h"

#define AXL_SQ_LOG2		11
#define AXL_SQ_ENTRIES		BIT(AXL_SQ_LOG2)
#define AXL_CQ_LOG2		11
#define AXL_CQ_ENTRIES		BIT(AXL_CQ_LOG2)
#define AXL_CTX_NONE		0xffffffffu	/* in tracepoints */

struct axl_ctx;
struct axl_device;
struct axl_hwq;

struct axl_job {
	u64 seq;
	u64 correlation;
	u64 device_ticks;		/* from its completion entry */
	unsigned long since;		/* jiffies of its submission */
	u32 job;
	u32 sq_end;			/* free-running index after its last entry */
	bool noted;			/* tracing was on as it was submitted */
	/*
	 * Set only when noted, for axl_job and the driver's ring: stamps, and the time of one of
	 * them.
	 */
	u64 submit;
	u64 doorbell;
	u64 submit_end;
	u64 doorbell_ns;
	u64 copy_bytes;
	u16 num_cmds;
	u16 cpu;
	u32 pid;
	u32 tid;
	u32 ring_pid;			/* as the reader of the driver's ring sees them */
	u32 ring_tid;
};

/* A context's queue. It lives until the context's last reference is dropped. */
struct axl_queue {
	struct axl_ctx *ctx;
	struct axl_hwq *hwq;
	struct mutex submit;		/* one submission at a time */
	wait_queue_head_t wait;		/* for completions and for ring space */
	/* The rest is under hwq->lock; sequences may be read without it. */
	u64 submitted;
	u64 completed;
	u64 failed;			/* first sequence that went wrong, 0 = none */
	u64 guilty;			/* the job at fault; the others were canceled */
	u32 guilty_status;
	u32 guilty_index;
	unsigned long progress;		/* jiffies of the last completion */
	bool dead;			/* takes no more work */
	bool bad;			/* its completion ring made no sense */
	u32 sq_tail;			/* free-running */
	u32 sq_head;
	u32 cq_head;
	struct axl_desc *sq;
	struct axl_cqe *cq;
	struct axl_block sq_block;
	struct axl_block cq_block;
	struct axl_job *jobs;		/* AXL_SQ_ENTRIES, by sequence */
	struct list_head fences;	/* unsignalled, in order of sequence */
};

/* A hardware queue. It always exists, so interrupt handlers can rely on it. */
struct axl_hwq {
	struct axl_device *axl;
	u32 id;
	spinlock_t lock;		/* q and its rings */
	struct axl_queue *q;		/* NULL = free; axl->lock to change */
	u64 seq_base;			/* jobs of former owners: last_use goes on from here */
	struct axl_anchor anchor;	/* for the times of jobs */
	/* Valid while the handler runs, for traced jobs: */
	u64 irq_stamp;			/* when it was entered, 0 = not in the handler */
	u32 irq_ready;			/* completions that it found and has yet to take */
};

/* A hardware context with its queues. */
struct axl_ctx {
	struct kref ref;
	struct axl_device *axl;
	struct axl_share *share;
	u32 handle;
	u32 hw;				/* hardware context */
	u32 num_queues;
	u32 error;			/* enum axl_status that killed it, under axl->lock */
	bool dead;
	struct axl_queue *queues[AXL_MAX_QUEUES];
};

#endif /* _AXL_JOB_TYPES_H */
