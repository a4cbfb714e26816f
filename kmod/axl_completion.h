/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the completion layer: how jobs end. See axl_dev.h. */
#ifndef _AXL_COMPLETION_H
#define _AXL_COMPLETION_H

#include "axl_dev.h"

struct axl_fence;

/* How a completed sequence ended; hwq->lock held. */
static inline u32 axl_seq_status(const struct axl_queue *q, u64 seq, u32 *index)
{
	*index = 0;
	if (!q->failed || seq < q->failed)
		return AXL_ST_OK;
	if (seq != q->guilty)
		return AXL_ST_CANCELED;
	*index = q->guilty_index;
	return q->guilty_status;
}

/* Whether the entry with this free-running index has been written. */
static inline bool axl_cqe_ready(const struct axl_queue *q, u32 at)
{
	u16 phase = ~(at >> AXL_CQ_LOG2) & 1;

	return READ_ONCE(q->cq[at & (AXL_CQ_ENTRIES - 1)].phase) == phase;
}

/* Number of entries ready to be taken; hwq->lock held. Runs in each interrupt of a traced queue. */
static __always_inline unsigned int axl_queue_peek(const struct axl_queue *q)
{
	unsigned int ready = 0;

	while (!q->dead && ready < AXL_CQ_ENTRIES && axl_cqe_ready(q, q->cq_head + ready))
		ready++;
	return ready;
}

/* axl_complete.c */
unsigned int axl_queue_reap(struct axl_queue *q);
void axl_queue_fail(struct axl_queue *q, u32 status, u32 guilty, u32 index);
u32 axl_queue_trace_jobs(struct axl_queue *q);

/* axl_fence.c */
struct axl_fence *axl_fence_create(struct axl_ucmd *ucmd);
void axl_fence_add(struct axl_queue *q, struct axl_fence *fence, u64 seq);
void axl_fences_signal(struct axl_queue *q);

#endif /* _AXL_COMPLETION_H */
