// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: a queue's memory, its rings, and starting it. axl_submit.c produces and axl_complete.c
 * consumes.
 */
#include <linux/slab.h>

#include "axl_lifetime.h"
#include "axl_memory.h"
#include "axl_trace_object.h"

#define AXL_SQ_BYTES (AXL_SQ_ENTRIES * sizeof(struct axl_desc))
#define AXL_CQ_BYTES (AXL_CQ_ENTRIES * sizeof(struct axl_cqe))

struct axl_queue *axl_queue_create(struct axl_ctx *ctx)
{
	struct axl_queue *q;

	q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	if (!q)
		return NULL;
	q->ctx = ctx;
	mutex_init(&q->submit);
	init_waitqueue_head(&q->wait);
	INIT_LIST_HEAD(&q->fences);
	q->jobs = kvcalloc(AXL_SQ_ENTRIES, sizeof(*q->jobs), GFP_KERNEL_ACCOUNT);
	if (!q->jobs ||
	    axl_block_alloc(ctx->axl, ctx->share, &q->sq_block, AXL_SQ_BYTES) ||
	    axl_block_alloc(ctx->axl, ctx->share, &q->cq_block, AXL_CQ_BYTES)) {
		axl_queue_free_rings(q);
		axl_queue_destroy(q);
		return NULL;
	}
	q->sq = q->sq_block.at;
	q->cq = q->cq_block.at;
	return q;
}

/* Only while the device is bound to the driver; waiters may still hold the queue itself. */
void axl_queue_free_rings(struct axl_queue *q)
{
	mutex_lock(&q->submit);
	q->dead = true;
	q->sq = NULL;
	q->cq = NULL;
	axl_block_free(&q->sq_block);
	axl_block_free(&q->cq_block);
	mutex_unlock(&q->submit);
}

void axl_queue_destroy(struct axl_queue *q)
{
	kvfree(q->jobs);
	kfree(q);
}

/* axl->lock held, hwq assigned. */
void axl_queue_start(struct axl_queue *q)
{
	struct axl_hwq *hwq = q->hwq;
	struct axl_device *axl = hwq->axl;
	u32 id = hwq->id;

	spin_lock_irq(&hwq->lock);
	hwq->q = q;
	spin_unlock_irq(&hwq->lock);

	axl_write32(axl, AXL_REG_Q_CTRL(id), 0);
	axl_write64(axl, AXL_REG_Q_SQ_BASE(id), q->sq_block.dma);
	axl_write64(axl, AXL_REG_Q_CQ_BASE(id), q->cq_block.dma);
	axl_write32(axl, AXL_REG_Q_SQ_LOG2(id), AXL_SQ_LOG2);
	axl_write32(axl, AXL_REG_Q_CQ_LOG2(id), AXL_CQ_LOG2);
	axl_write32(axl, AXL_REG_Q_CONTEXT(id), q->ctx->hw);
	axl_write32(axl, AXL_REG_Q_CTRL(id), AXL_Q_ENABLE | AXL_Q_IRQ_ENABLE);
	trace_axl_queue(axl->index, q->ctx->hw, id, AXL_SQ_ENTRIES, 1);
}
