// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: submission. Room: kmod.
 *
 * Commands are copied from user space straight into free ring entries, checked
 * and translated there, and published by moving the tail: the device looks at
 * nothing beyond it. The copy runs with page faults off, so that neither a lock
 * nor unplug ever waits for user memory; if a page is missing we let go of
 * everything, fault it in and start over.
 */
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "axl_dev.h"
#include "axl_trace.h"

#define AXL_COPY_TRIES 16

static u32 axl_next_job(struct axl_device *axl)
{
	u32 job;

	do {
		job = atomic_inc_return(&axl->next_job);
	} while (unlikely(!job));
	return job;
}

static bool axl_queue_has_room(struct axl_queue *q, u32 num_cmds)
{
	return AXL_SQ_ENTRIES - (q->sq_tail - READ_ONCE(q->sq_head)) >= num_cmds;
}

/* Returns with q->submit held and room for the job, or an error. */
static int axl_submit_begin(struct axl_queue *q, const struct axl_submit *cmd)
{
	struct axl_device *axl = q->ctx->axl;
	int err;

	for (;;) {
		mutex_lock(&q->submit);
		err = 0;
		if (READ_ONCE(axl->closed))
			err = -ENODEV;
		else if (READ_ONCE(q->dead))
			err = -EIO;
		else if (!axl_queue_has_room(q, cmd->num_cmds))
			err = -EAGAIN;
		if (!err)
			return 0;
		mutex_unlock(&q->submit);
		if (err != -EAGAIN || cmd->flags & AXL_SUBMIT_NONBLOCK)
			return err;
		err = wait_event_interruptible(q->wait,
					       axl_queue_has_room(q, cmd->num_cmds) ||
					       READ_ONCE(q->dead) || READ_ONCE(axl->closed));
		if (err)
			return err;
	}
}

/* Makes the job the device's. With q->submit and file->lock held. */
static int axl_submit_publish(struct axl_queue *q, struct axl_submit *cmd, struct axl_job *job,
			      struct axl_fence *fence)
{
	struct axl_hwq *hwq = q->hwq;
	struct axl_device *axl = hwq->axl;
	u64 host_ns = 0;

	q->sq[(q->sq_tail + cmd->num_cmds - 1) & (AXL_SQ_ENTRIES - 1)].flags |=
		AXL_DESC_F_COMPLETE | AXL_DESC_F_IRQ;
	spin_lock_irq(&hwq->lock);
	if (q->dead) {
		spin_unlock_irq(&hwq->lock);
		return -EIO;
	}
	q->sq_tail += cmd->num_cmds;
	job->sq_end = q->sq_tail;
	job->since = jiffies;
	q->jobs[job->seq & (AXL_SQ_ENTRIES - 1)] = *job;
	WRITE_ONCE(q->submitted, job->seq);
	if (fence)
		axl_fence_add(q, fence, job->seq);
	if (trace_axl_doorbell_enabled())
		host_ns = ktime_get_mono_fast_ns();
	/* writel orders the ring's contents before the doorbell. */
	axl_write32(axl, AXL_REG_Q_SQ_TAIL(hwq->id), q->sq_tail);
	trace_axl_doorbell(axl->index, q->ctx->hw, hwq->id, job->job, job->seq, job->correlation,
			   q->sq_tail, host_ns);
	spin_unlock_irq(&hwq->lock);
	axl_watchdog_arm(axl);
	return 0;
}

/* With q->submit and file->lock held. -EFAULT: the user's page was not there. */
static int axl_submit_job(struct axl_file *file, struct axl_queue *q, struct axl_submit *cmd,
			  struct axl_fence *fence)
{
	struct axl_device *axl = q->ctx->axl;
	struct axl_job job = { .seq = q->submitted + 1, .correlation = cmd->correlation };
	struct axl_xlate x = { .bufs = file->bufs, .num_bufs = file->num_bufs,
			       .hwq = q->hwq->id, .hw = q->ctx->hw, .correlation = cmd->correlation,
			       .use = q->hwq->seq_base + job.seq };
	int err;

	job.job = axl_next_job(axl);
	x.job = job.job;
	x.job_bits = (u64)job.job << 32;
	err = axl_fetch(&x, q->sq, q->sq_tail, u64_to_user_ptr(cmd->cmds), cmd->num_cmds);
	if (err == -EFAULT)
		return err;
	trace_axl_submit(axl->index, q->ctx->hw, q->hwq->id, job.job, job.seq, job.correlation,
			 cmd->num_cmds, x.copy_bytes);
	if (!err)
		err = axl_submit_publish(q, cmd, &job, fence);
	cmd->job = job.job;
	cmd->sequence = err ? 0 : job.seq;
	trace_axl_submit_end(axl->index, q->ctx->hw, q->hwq->id, job.job, job.seq,
			     job.correlation, err);
	return err;
}

static int axl_submit_try(struct axl_file *file, struct axl_submit *cmd, struct axl_fence *fence)
{
	struct axl_ctx *ctx;
	int err, idx;

	err = axl_enter(file->axl, &idx);
	if (err)
		return err;
	ctx = axl_ctx_get(file, cmd->ctx);
	if (!ctx || cmd->queue >= ctx->num_queues) {
		err = -ENOENT;
	} else {
		struct axl_queue *q = ctx->queues[cmd->queue];

		err = axl_submit_begin(q, cmd);
		if (!err) {
			down_read(&file->lock);
			err = axl_submit_job(file, q, cmd, fence);
			up_read(&file->lock);
			mutex_unlock(&q->submit);
		}
	}
	if (ctx)
		axl_ctx_put(ctx);
	axl_exit(file->axl, idx);
	return err;
}

int axl_ioctl_submit(struct axl_ucmd *ucmd)
{
	struct axl_submit *cmd = ucmd->cmd;
	struct axl_fence *fence = NULL;
	unsigned int tries;
	int err;

	if (cmd->flags & ~AXL_SUBMIT_FLAGS_ALL || cmd->cmd_bytes != sizeof(struct axl_desc) ||
	    !cmd->num_cmds || cmd->num_cmds > AXL_MAX_JOB_COMMANDS)
		return -EINVAL;
	cmd->fence_fd = -1;
	if (cmd->flags & AXL_SUBMIT_FENCE_FD) {
		fence = axl_fence_create(ucmd);
		if (IS_ERR(fence))
			return PTR_ERR(fence);
		cmd->fence_fd = ucmd->fence_fd;
	}
	for (tries = 0; tries < AXL_COPY_TRIES; tries++) {
		err = axl_submit_try(ucmd->file, cmd, fence);
		if (err != -EFAULT)
			return err;
		if (fault_in_readable(u64_to_user_ptr(cmd->cmds),
				      cmd->num_cmds * sizeof(struct axl_desc)))
			return -EFAULT;
	}
	return -EFAULT;
}
