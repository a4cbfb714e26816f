// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: waiting for a job.
 *
 * The completion interrupt wakes sleepers. In case it is lost, they check the completion ring
 * themselves every AXL_POLL_NS.
 */
#include <linux/hrtimer.h>
#include <linux/sched/signal.h>

#include "axl_completion.h"
#include "axl_driver_ring.h"
#include "axl_lifetime.h"
#include "axl_submission.h"
#include "axl_trace_job.h"

#define AXL_POLL_NS (20 * NSEC_PER_MSEC)

static void axl_wait_poll(struct axl_queue *q)
{
	unsigned int done;

	spin_lock_irq(&q->hwq->lock);
	done = axl_queue_reap(q);
	spin_unlock_irq(&q->hwq->lock);
	if (done)
		atomic64_add(done, &q->ctx->axl->stats[AXL_STAT_POLLED_COMPLETIONS]);
}

/* *wait_ns is set to the start of the wait if there was something to wait for. */
static int axl_wait_for(struct axl_queue *q, u64 seq, s64 deadline_ns, u64 *wait_ns)
{
	struct axl_device *axl = q->ctx->axl;
	DEFINE_WAIT(entry);
	int ret = 0;

	while (READ_ONCE(q->completed) < seq) {
		ktime_t now = ktime_get();
		ktime_t until = ktime_add_ns(now, AXL_POLL_NS);

		if (!*wait_ns)
			*wait_ns = ktime_to_ns(now);
		if (READ_ONCE(axl->closed)) {
			ret = -ENODEV;
			break;
		}
		if (deadline_ns >= 0 && ktime_to_ns(now) >= deadline_ns) {
			axl_wait_poll(q);
			if (READ_ONCE(q->completed) < seq)
				ret = -ETIMEDOUT;
			break;
		}
		if (deadline_ns >= 0 && deadline_ns < ktime_to_ns(until))
			until = ns_to_ktime(deadline_ns);
		prepare_to_wait(&q->wait, &entry, TASK_INTERRUPTIBLE);
		if (READ_ONCE(q->completed) >= seq || READ_ONCE(axl->closed))
			continue;
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}
		if (!schedule_hrtimeout(&until, HRTIMER_MODE_ABS))
			axl_wait_poll(q);
	}
	finish_wait(&q->wait, &entry);
	return ret;
}

/* hwq->lock is held, which also keeps interrupts off for the ring's lock. */
static __always_inline void axl_wait_record(struct axl_queue *q, const struct axl_wait *cmd,
					    const struct axl_job *job, u32 status, u64 wait_ns)
{
	if (axl_driver_ring_on())
		axl_driver_ring_wait(&q->ctx->axl->driver_ring, q, cmd, job, status, wait_ns);
}

int axl_ioctl_wait(struct axl_ucmd *ucmd)
{
	struct axl_wait *cmd = ucmd->cmd;
	struct axl_queue *q;
	struct axl_ctx *ctx;
	struct axl_job *job;
	u64 wait_ns = 0, correlation = 0;
	u32 job_id = 0, status = ~0u;
	int ret;

	if (cmd->flags || !cmd->sequence)
		return -EINVAL;
	cmd->correlation = axl_correlation(ucmd->file, cmd->correlation);
	ctx = axl_ctx_get(ucmd->file, cmd->ctx);
	if (!ctx)
		return -ENOENT;
	ret = -ENOENT;
	if (cmd->queue >= ctx->num_queues)
		goto put;
	q = ctx->queues[cmd->queue];
	if (cmd->sequence > READ_ONCE(q->submitted))
		goto put;

	trace_axl_wait(ctx->axl->index, ctx->hw, q->hwq->id, cmd->sequence, cmd->correlation);
	ret = axl_wait_for(q, cmd->sequence, cmd->deadline_ns, &wait_ns);
	if (!ret) {
		spin_lock_irq(&q->hwq->lock);
		job = &q->jobs[cmd->sequence & (AXL_SQ_ENTRIES - 1)];
		cmd->device_ticks = 0;
		if (likely(job->seq == cmd->sequence)) {
			cmd->device_ticks = job->device_ticks;
			correlation = job->correlation;
			job_id = job->job;
		} else {
			job = NULL;
		}
		status = axl_seq_status(q, cmd->sequence, &cmd->error_index);
		axl_wait_record(q, cmd, job, status, wait_ns);
		spin_unlock_irq(&q->hwq->lock);
		cmd->status = status;
		if (status != AXL_ST_OK)
			ret = -EIO;
	} else if (axl_driver_ring_on()) {
		spin_lock_irq(&q->hwq->lock);
		axl_wait_record(q, cmd, NULL, status, wait_ns);
		spin_unlock_irq(&q->hwq->lock);
	}
	if (trace_axl_wake_enabled())
		trace_axl_wake(ctx->axl->index, ctx->hw, q->hwq->id, job_id, cmd->sequence,
			       correlation, cmd->correlation, status,
			       wait_ns ? wait_ns : ktime_get_mono_fast_ns());
put:
	axl_ctx_put(ctx);
	return ret;
}
