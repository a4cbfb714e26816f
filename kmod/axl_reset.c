// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: recovery from errors and hangs.
 *
 * A context in error is reset alone; the others continue. If the device cannot do that, it is reset
 * as a whole and all contexts are lost. A watchdog finds hung work; it also checks completion rings
 * whose interrupt may have been lost.
 */
#include <linux/moduleparam.h>

#include "axl_completion.h"
#include "axl_recovery.h"
#include "axl_trace_device.h"
#include "axl_tracing.h"

static unsigned int job_timeout_ms = 10000;
module_param(job_timeout_ms, uint, 0644);
MODULE_PARM_DESC(job_timeout_ms,
		 "a queue without progress for this long is hung; 0 = never (default 10000)");

#define AXL_CTX_RESET_US (50 * 1000)

/*
 * Marks every context as lost. Jobs that the device completed before are reported as such, the rest
 * as canceled. axl->lock held; the device has been stopped.
 */
void axl_fail_all(struct axl_device *axl)
{
	u32 i, j;

	lockdep_assert_held(&axl->lock);
	for (i = 0; i < axl->num_contexts; i++) {
		struct axl_ctx *ctx = axl->ctxs[i];

		if (!ctx || ctx->dead)
			continue;
		ctx->dead = true;
		for (j = 0; j < ctx->num_queues; j++) {
			spin_lock_irq(&ctx->queues[j]->hwq->lock);
			axl_queue_reap(ctx->queues[j]);
			axl_queue_fail(ctx->queues[j], AXL_ST_CANCELED, 0, 0);
			spin_unlock_irq(&ctx->queues[j]->hwq->lock);
		}
	}
}

/* Restarts the trace rings in use after a reset stopped them. axl->lock held. */
void axl_rearm_rings(struct axl_device *axl)
{
	u32 i;

	lockdep_assert_held(&axl->lock);
	for (i = 0; i < axl->num_rings; i++)
		if (axl->rings[i].running)
			axl_ring_arm(&axl->rings[i]);
}

/* Resets the device; every context is lost. axl->lock held. */
void axl_device_reset(struct axl_device *axl)
{
	lockdep_assert_held(&axl->lock);
	axl_count(axl, AXL_STAT_DEVICE_RESETS);
	trace_axl_reset(axl->index, AXL_CTX_NONE);
	dev_warn(&axl->dev, "resetting the device\n");
	if (axl_hw_start(axl) && axl_accessible(axl)) {
		dev_err(&axl->dev, "the device does not come back from reset\n");
		axl_set_gone(axl);
	}
	axl_fail_all(axl);
	axl_rearm_rings(axl);
	axl_uevent(axl, "device_reset");
}

/*
 * Stops a context for good. Jobs that the device completed before are reported as such; the guilty
 * job gets status, the rest are canceled.
 */
void axl_ctx_kill(struct axl_ctx *ctx, u32 status, u32 job, u32 index)
{
	struct axl_device *axl = ctx->axl;
	u32 i;

	lockdep_assert_held(&axl->lock);
	if (ctx->dead)
		return;
	ctx->dead = true;
	for (i = 0; i < ctx->num_queues; i++)
		axl_write32(axl, AXL_REG_Q_CTRL(ctx->queues[i]->hwq->id), 0);
	axl_write32(axl, AXL_REG_CTX_CTRL(ctx->hw), AXL_CTX_RESET);
	if (status != AXL_ST_CANCELED) {
		axl_count(axl, AXL_STAT_CTX_RESETS);
		trace_axl_reset(axl->index, ctx->hw);
		axl_uevent(axl, "context_reset");
	}
	if (axl_wait_clear32(axl, AXL_REG_CTX_CTRL(ctx->hw), AXL_CTX_RESET, AXL_CTX_RESET_US) ||
	    axl_wait_clear32(axl, AXL_REG_CTX_STATUS(ctx->hw), AXL_CTX_BUSY, AXL_CTX_RESET_US))
		axl_device_reset(axl);
	for (i = 0; i < ctx->num_queues; i++) {
		struct axl_queue *q = ctx->queues[i];

		spin_lock_irq(&q->hwq->lock);
		axl_queue_reap(q);
		axl_queue_fail(q, status, job, index);
		spin_unlock_irq(&q->hwq->lock);
	}
	axl_write32(axl, AXL_REG_CTX_CTRL(ctx->hw), 0);
}

/* An error of a former owner may be reported late, so check the error of this context. */
static bool axl_ctx_failed(struct axl_ctx *ctx)
{
	bool failed = axl_read32(ctx->axl, AXL_REG_CTX_STATUS(ctx->hw)) & AXL_CTX_HALTED;
	u32 i;

	for (i = 0; i < ctx->num_queues && !failed; i++) {
		struct axl_queue *q = ctx->queues[i];

		spin_lock_irq(&q->hwq->lock);
		failed = q->dead || q->failed;
		spin_unlock_irq(&q->hwq->lock);
	}
	return failed;
}

static void axl_recover_ctx(struct axl_device *axl, u32 hw)
{
	struct axl_ctx *ctx = axl->ctxs[hw];
	u32 status, job, index;

	if (!ctx || ctx->dead || !axl_ctx_failed(ctx))
		return;
	status = axl_read32(axl, AXL_REG_CTX_ERROR(hw));
	job = axl_read32(axl, AXL_REG_CTX_ERR_JOB(hw));
	index = axl_read32(axl, AXL_REG_CTX_ERR_INDEX(hw));
	if (status == AXL_ST_OK || status > AXL_ST_CANCELED) {
		status = AXL_ST_RING_ERROR;
		index = 0;
	}
	/* Rate limited, because any user of the device can cause this at will. */
	dev_warn_ratelimited(&axl->dev, "context %u halted: status %u, job %u, command %u\n", hw,
			     status, job, index);
	axl_ctx_kill(ctx, status, job, index);
}

/* Sleepers check axl->closed when they wake. */
void axl_wake_all(struct axl_device *axl)
{
	u32 i;

	for (i = 0; i < AXL_MAX_QUEUES; i++) {
		spin_lock_irq(&axl->hwq[i].lock);
		if (axl->hwq[i].q)
			wake_up_all(&axl->hwq[i].q->wait);
		spin_unlock_irq(&axl->hwq[i].lock);
	}
	for (i = 0; i < AXL_MAX_TRACE_RINGS; i++)
		wake_up_all(&axl->rings[i].wait);
}

void axl_recover(struct work_struct *work)
{
	struct axl_device *axl = container_of(work, struct axl_device, recover);
	u32 i;

	if (READ_ONCE(axl->gone)) {
		axl_wake_all(axl);
		/* Removal also ends all access, but the bus sends its own uevent for it. */
		if (!READ_ONCE(axl->removed) && !xchg(&axl->lost_sent, true))
			axl_uevent(axl, "lost");
	}
	mutex_lock(&axl->lock);
	for (i = 0; i < axl->num_contexts; i++)
		if (test_and_clear_bit(i, &axl->ctx_errors))
			axl_recover_ctx(axl, i);
	mutex_unlock(&axl->lock);
}

/* True when a command of this job holds an engine. */
static bool axl_job_runs(struct axl_device *axl, u32 job, u32 *index)
{
	u32 e;

	for (e = 0; e < AXL_NUM_ENGINES; e++) {
		if (axl_read32(axl, AXL_REG_ENG_JOB(e)) == job) {
			*index = axl_read32(axl, AXL_REG_ENG_INDEX(e));
			return true;
		}
	}
	return false;
}

/*
 * Polls a queue's completions; sets *hung to its oldest job if overdue. Returns whether jobs
 * remain.
 */
static bool axl_watch_queue(struct axl_hwq *hwq, u32 *hung)
{
	unsigned long limit = msecs_to_jiffies(READ_ONCE(job_timeout_ms));
	struct axl_queue *q;
	unsigned int done = 0;
	bool left = false;

	*hung = 0;
	spin_lock_irq(&hwq->lock);
	q = hwq->q;
	if (q && !q->dead) {
		done = axl_queue_reap(q);
		left = q->completed != q->submitted;
	}
	if (left) {
		struct axl_job *job = &q->jobs[(q->completed + 1) & (AXL_SQ_ENTRIES - 1)];
		unsigned long since = time_after(q->progress, job->since) ? q->progress :
									    job->since;

		if (limit && time_after(jiffies, since + limit))
			*hung = job->job;
	}
	spin_unlock_irq(&hwq->lock);
	if (done)
		atomic64_add(done, &hwq->axl->stats[AXL_STAT_POLLED_COMPLETIONS]);
	return left;
}

/*
 * Among overdue jobs the one that occupies an engine is guilty; the others may just be queued after
 * it. If none does, each waits for a semaphore that is never signalled, which is the fault of its
 * own context.
 */
static bool axl_watch_pass(struct axl_device *axl, const u32 *hung, bool engines_only)
{
	bool any = false;
	u32 i;

	for (i = 0; i < axl->num_queues; i++) {
		struct axl_queue *q = axl->hwq[i].q;
		u32 index = 0;

		if (!hung[i] || !q || q->ctx->dead)
			continue;
		if (!axl_job_runs(axl, hung[i], &index) && engines_only)
			continue;
		axl_count(axl, AXL_STAT_TIMEOUTS);
		trace_axl_timeout(axl->index, q->ctx->hw, i, hung[i]);
		dev_warn_ratelimited(&axl->dev, "job %u of context %u hangs at command %u\n",
				     hung[i], q->ctx->hw, index);
		axl_ctx_kill(q->ctx, AXL_ST_HANG, hung[i], index);
		any = true;
	}
	return any;
}

void axl_watchdog(struct work_struct *work)
{
	struct axl_device *axl = container_of(to_delayed_work(work), struct axl_device, watchdog);
	u32 hung[AXL_MAX_QUEUES] = {};
	bool left = false, overdue = false;
	u32 i;

	/* Disarm first, so that a submission from here on arms it again. */
	atomic_set(&axl->watchdog_armed, 0);
	smp_mb__after_atomic(); /* before looking at the queues */
	mutex_lock(&axl->lock);
	for (i = 0; i < axl->num_queues; i++) {
		left |= axl_watch_queue(&axl->hwq[i], &hung[i]);
		overdue |= hung[i];
	}
	if (overdue && !axl_watch_pass(axl, hung, true))
		axl_watch_pass(axl, hung, false);
	mutex_unlock(&axl->lock);
	if (left && !READ_ONCE(axl->closed))
		axl_watchdog_arm(axl);
}

void axl_watchdog_arm(struct axl_device *axl)
{
	if (!atomic_read(&axl->watchdog_armed) && !atomic_xchg(&axl->watchdog_armed, 1))
		schedule_delayed_work(&axl->watchdog,
				      msecs_to_jiffies(clamp(job_timeout_ms / 8, 10u, 1000u)));
}
