// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: contexts, each a hardware context with queues and semaphores of its
 * own.
 */
#include <linux/capability.h>
#include <linux/slab.h>

#include "axl_lifetime.h"
#include "axl_memory.h"
#include "axl_recovery.h"
#include "axl_trace_object.h"
#include "axl_tracing.h"

#define AXL_PRIORITY_MAX	3
#define AXL_PRIORITY_FREE	1	/* above this needs CAP_SYS_NICE */

static void axl_ctx_last_put(struct kref *ref)
{
	struct axl_ctx *ctx = container_of(ref, struct axl_ctx, ref);
	u32 i;

	for (i = 0; i < ctx->num_queues; i++)
		if (ctx->queues[i])
			axl_queue_destroy(ctx->queues[i]);
	kfree(ctx);
}

void axl_ctx_put(struct axl_ctx *ctx)
{
	kref_put(&ctx->ref, axl_ctx_last_put);
}

struct axl_ctx *axl_ctx_get(struct axl_file *file, u32 handle)
{
	struct axl_ctx *ctx = NULL;

	down_read(&file->lock);
	if (handle && handle <= AXL_MAX_CONTEXTS)
		ctx = file->ctxs[handle - 1];
	if (ctx)
		kref_get(&ctx->ref);
	up_read(&file->lock);
	return ctx;
}

/* The queues become visible to interrupts. axl->lock held. */
static int axl_ctx_bind(struct axl_ctx *ctx, u32 priority)
{
	struct axl_device *axl = ctx->axl;
	u32 found = 0, i;

	lockdep_assert_held(&axl->lock);
	if (!axl_accessible(axl))
		return axl_gone_error(axl);
	for (i = 0; i < axl->num_contexts && axl->ctxs[i]; i++)
		;
	if (i == axl->num_contexts)
		return -ENOSPC;
	ctx->hw = i;
	for (i = 0; i < axl->num_queues && found < ctx->num_queues; i++)
		if (!axl->hwq[i].q)
			ctx->queues[found++]->hwq = &axl->hwq[i];
	if (found < ctx->num_queues)
		return -ENOSPC;

	axl_write32(axl, AXL_REG_CTX_CTRL(ctx->hw), AXL_CTX_RESET);
	/*
	 * A former owner's work may still run in this context: reset the whole device, never reuse
	 * it.
	 */
	if (axl_wait_clear32(axl, AXL_REG_CTX_CTRL(ctx->hw), AXL_CTX_RESET, 10 * 1000))
		axl_device_reset(axl);
	if (!axl_accessible(axl))
		return axl_gone_error(axl);
	axl->ctxs[ctx->hw] = ctx;
	axl_write32(axl, AXL_REG_CTX_PRIORITY(ctx->hw), priority);
	axl_write32(axl, AXL_REG_CTX_CTRL(ctx->hw), AXL_CTX_ENABLE);
	for (i = 0; i < ctx->num_queues; i++)
		axl_queue_start(ctx->queues[i]);
	trace_axl_ctx(axl->index, ctx->hw, 1);
	return 0;
}

/*
 * Takes a context off the device: running jobs are canceled and their waiters wake. Drops the
 * caller's reference. Takes queue->submit, so file->lock must not be held.
 */
void axl_ctx_release(struct axl_ctx *ctx)
{
	struct axl_device *axl = ctx->axl;
	u32 i;

	mutex_lock(&axl->lock);
	axl_ctx_kill(ctx, AXL_ST_CANCELED, 0, 0);
	if (1 + ctx->hw < AXL_MAX_TRACE_RINGS)
		axl_ring_stop(&axl->rings[1 + ctx->hw]);
	for (i = 0; i < ctx->num_queues; i++) {
		struct axl_queue *q = ctx->queues[i];

		spin_lock_irq(&q->hwq->lock);
		q->hwq->seq_base += q->submitted;
		q->hwq->q = NULL;
		spin_unlock_irq(&q->hwq->lock);
		trace_axl_queue(axl->index, ctx->hw, q->hwq->id, AXL_SQ_ENTRIES, 0);
	}
	axl->ctxs[ctx->hw] = NULL;
	clear_bit(ctx->hw, &axl->ctx_errors);
	trace_axl_ctx(axl->index, ctx->hw, 0);
	mutex_unlock(&axl->lock);
	for (i = 0; i < ctx->num_queues; i++)
		axl_queue_free_rings(ctx->queues[i]);
	mutex_lock(&axl->lock);
	axl_share_give_ctx(ctx->share, ctx->num_queues);
	mutex_unlock(&axl->lock);
	axl_ctx_put(ctx);
}

int axl_ioctl_ctx_create(struct axl_ucmd *ucmd)
{
	struct axl_file *file = ucmd->file;
	struct axl_device *axl = file->axl;
	struct axl_ctx_create *cmd = ucmd->cmd;
	struct axl_ctx *ctx;
	u32 slot, i;
	int err;

	if (cmd->flags || cmd->reserved || !cmd->num_queues ||
	    cmd->num_queues > axl->num_queues || cmd->priority > AXL_PRIORITY_MAX)
		return -EINVAL;
	if (cmd->priority > AXL_PRIORITY_FREE && !capable(CAP_SYS_NICE))
		return -EPERM;

	/* Charged first, so that the quota is never exceeded, not even for a moment. */
	mutex_lock(&axl->lock);
	err = axl_share_take_ctx(file->share, cmd->num_queues);
	mutex_unlock(&axl->lock);
	if (err)
		return err;
	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx) {
		err = -ENOMEM;
		goto give;
	}
	kref_init(&ctx->ref);
	ctx->axl = axl;
	ctx->share = file->share;
	ctx->num_queues = cmd->num_queues;
	for (i = 0; i < ctx->num_queues; i++) {
		ctx->queues[i] = axl_queue_create(ctx);
		if (!ctx->queues[i]) {
			err = -ENOMEM;
			goto put;
		}
	}

	down_write(&file->lock);
	for (slot = 0; slot < AXL_MAX_CONTEXTS && file->ctxs[slot]; slot++)
		;
	if (slot == AXL_MAX_CONTEXTS) {
		err = -ENOSPC;
	} else {
		mutex_lock(&axl->lock);
		err = axl_ctx_bind(ctx, cmd->priority);
		mutex_unlock(&axl->lock);
	}
	if (!err) {
		ctx->handle = slot + 1;
		file->ctxs[slot] = ctx;
		cmd->ctx = ctx->handle;
		cmd->num_sems = AXL_SEMS_PER_CONTEXT;
		cmd->hw_context = ctx->hw;
	}
	up_write(&file->lock);
	if (!err)
		return 0;
put:
	for (i = 0; i < ctx->num_queues; i++)
		if (ctx->queues[i])
			axl_queue_free_rings(ctx->queues[i]);
	axl_ctx_put(ctx);
give:
	mutex_lock(&axl->lock);
	axl_share_give_ctx(file->share, cmd->num_queues);
	mutex_unlock(&axl->lock);
	return err;
}

int axl_ioctl_ctx_destroy(struct axl_ucmd *ucmd)
{
	struct axl_file *file = ucmd->file;
	struct axl_ctx_destroy *cmd = ucmd->cmd;
	struct axl_ctx *ctx = NULL;

	down_write(&file->lock);
	if (cmd->ctx && cmd->ctx <= AXL_MAX_CONTEXTS) {
		ctx = file->ctxs[cmd->ctx - 1];
		file->ctxs[cmd->ctx - 1] = NULL;
	}
	up_write(&file->lock);
	if (!ctx)
		return -ENOENT;
	axl_ctx_release(ctx);
	return 0;
}
