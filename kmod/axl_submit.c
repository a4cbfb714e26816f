// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: submission.
 *
 * Commands are copied from user space straight into free ring entries, checked and translated on
 * the way (axl_fetch.c), and published by moving the tail; the device does not read beyond the
 * tail. They are read with page faults disabled, so that neither a lock nor unplug ever waits for
 * user memory. If a page is missing, all locks are dropped, the page is faulted in and the
 * submission starts over.
 *
 * The path to the doorbell is kept short: file->lock is taken once and keeps the context alive, the
 * queue's lock is only trylocked under it, and bookkeeping that can wait is done after the
 * doorbell.
 */
#include <linux/nospec.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "axl_completion.h"
#include "axl_driver_ring.h"
#include "axl_lifetime.h"
#include "axl_recovery.h"
#include "axl_submission.h"
#include "axl_trace_job.h"

#define AXL_COPY_TRIES 16

/*
 * The times of a submission's steps as far as tracing needs them, else 0. Events that are emitted
 * immediately need the clock; axl_job only needs stamps, one of which is converted later.
 */
struct axl_submit_times {
	u64 stamp;			/* the ioctl was entered, see axl_stamp() */
	u64 entered_ns;			/* the same, once it is known */
	u64 copy_bytes;
};

/* Whether anything listens for completed jobs. */
static __always_inline bool axl_job_wanted(void)
{
	return trace_axl_job_enabled() || axl_driver_ring_on();
}

static __always_inline void axl_submit_enter(struct axl_submit_times *times)
{
	times->stamp = 0;
	times->entered_ns = 0;
	if (trace_axl_submit_enabled())
		times->entered_ns = ktime_get_mono_fast_ns();
	else if (axl_job_wanted() || trace_axl_refuse_enabled())
		times->stamp = axl_stamp();
}

static noinline void axl_submit_enter_late(struct axl_submit_times *times)
{
	u64 passed = axl_stamp_ns(times->stamp, axl_stamp());

	times->entered_ns = ktime_get_mono_fast_ns() - passed;
}

/*
 * Converts the time of entry; must be called before sleeping, because stamps only span short times.
 */
static __always_inline u64 axl_submit_entered_ns(struct axl_submit_times *times)
{
	if (unlikely(!times->entered_ns && times->stamp))
		axl_submit_enter_late(times);
	return times->entered_ns;
}

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

static int axl_submit_ready(struct axl_queue *q, u32 num_cmds)
{
	if (unlikely(READ_ONCE(q->dead)))
		return -EIO;
	return likely(axl_queue_has_room(q, num_cmds)) ? 0 : -EAGAIN;
}

/* Returns with q->submit held and space for the job, or an error. */
static int axl_submit_begin(struct axl_queue *q, const struct axl_submit *cmd)
{
	struct axl_device *axl = q->ctx->axl;
	int err;

	for (;;) {
		mutex_lock(&q->submit);
		err = READ_ONCE(axl->closed) ? -ENODEV : axl_submit_ready(q, cmd->num_cmds);
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

/*
 * Slow path: the queue is full or another thread is submitting. Waits for both locks in their
 * order. file->lock is held before and after the call, q->submit too on success.
 */
static noinline int axl_submit_wait(struct axl_file *file, struct axl_queue *q,
				    const struct axl_submit *cmd, struct axl_submit_times *times)
{
	struct axl_ctx *ctx = q->ctx;
	int err;

	axl_submit_entered_ns(times);
	kref_get(&ctx->ref);
	up_read(&file->lock);
	err = axl_submit_begin(q, cmd);
	down_read(&file->lock);
	/* If it was destroyed meanwhile, the file's table no longer holds a reference. */
	if (file->ctxs[cmd->ctx - 1] != ctx && !err) {
		mutex_unlock(&q->submit);
		err = -EIO;
	}
	axl_ctx_put(ctx);
	return err;
}

/* After a wait the time of entry is known; computes its stamp from it. */
static noinline u64 axl_submit_stamp(const struct axl_submit_times *times, u64 host_ns,
				     u64 host_stamp)
{
	return host_stamp - axl_stamps(host_ns - min(host_ns, times->entered_ns));
}

/* Completion takes hwq->lock, so it sees the complete entry. */
static __always_inline struct axl_job *
axl_submit_note(struct axl_queue *q, const struct axl_submit *cmd, struct axl_fence *fence)
{
	u64 seq = q->submitted + 1;
	struct axl_job *job = &q->jobs[seq & (AXL_SQ_ENTRIES - 1)];

	/* Field by field: the fields that are valid only when noted need not be cleared. */
	job->seq = seq;
	job->correlation = cmd->correlation;
	job->device_ticks = 0;
	job->since = jiffies;
	job->job = cmd->job;
	job->sq_end = q->sq_tail;
	job->noted = false;
	WRITE_ONCE(q->submitted, seq);
	if (fence)
		axl_fence_add(q, fence, seq);
	return job;
}

/* Hands the job to the device. q->submit and file->lock held. */
static int axl_submit_publish(struct axl_queue *q, const struct axl_submit *cmd,
			      struct axl_fence *fence, struct axl_submit_times *times)
{
	struct axl_hwq *hwq = q->hwq;
	struct axl_device *axl = hwq->axl;
	u64 host_ns = 0, host_stamp = 0;	/* the doorbell is about to be written */
	struct axl_job *job;

	spin_lock_irq(&hwq->lock);
	if (unlikely(q->dead)) {
		spin_unlock_irq(&hwq->lock);
		return -EIO;
	}
	q->sq_tail += cmd->num_cmds;
	if (axl_job_wanted()) {
		host_stamp = axl_stamp();
		host_ns = axl_anchor_ns(&hwq->anchor, host_stamp);
	} else if (trace_axl_doorbell_enabled()) {
		host_ns = ktime_get_mono_fast_ns();
	}
	/* writel orders the ring's contents before the doorbell. */
	axl_write32(axl, AXL_REG_Q_SQ_TAIL(hwq->id), q->sq_tail);
	job = axl_submit_note(q, cmd, fence);
	if (host_stamp && (times->stamp || times->entered_ns)) {
		u64 entered = times->stamp;

		if (unlikely(times->entered_ns))
			entered = axl_submit_stamp(times, host_ns, host_stamp);
		axl_job_note(&axl->driver_ring, job, cmd, times->copy_bytes, entered, host_stamp,
			     host_ns);
	}
	if (trace_axl_doorbell_enabled() && host_ns)
		trace_axl_doorbell(axl->index, q->ctx->hw, hwq->id, cmd->job, q->submitted,
				   cmd->correlation, q->sq_tail, host_ns);
	spin_unlock_irq(&hwq->lock);
	axl_watchdog_arm(axl);
	return 0;
}

/* q->submit and file->lock held. -EFAULT: the user's page was not present. */
static int axl_submit_job(struct axl_file *file, struct axl_queue *q, struct axl_submit *cmd,
			  struct axl_fence *fence, struct axl_submit_times *times)
{
	struct axl_hwq *hwq = q->hwq;
	struct axl_device *axl = hwq->axl;
	u64 seq = q->submitted + 1;
	u32 job = axl_next_job(axl);
	struct axl_xlate x = {
		.bufs = file->bufs,
		.num_bufs = file->num_bufs,
		.hwq = hwq->id,
		.hw = q->ctx->hw,
		.job = job,
		.job_bits = (u64)job << 32,
		.correlation = cmd->correlation,
		.use = hwq->seq_base + seq,
		.copy_bytes = 0,
	};
	int err;

	err = axl_fetch(&x, q->sq, q->sq_tail, u64_to_user_ptr(cmd->cmds), cmd->num_cmds);
	if (err == -EFAULT)
		return err;
	cmd->job = job;
	times->copy_bytes = x.copy_bytes;
	if (trace_axl_submit_enabled() && axl_submit_entered_ns(times))
		trace_axl_submit(axl->index, q->ctx->hw, hwq->id, job, seq, cmd->correlation,
				 cmd->num_cmds, x.copy_bytes, axl_submit_entered_ns(times));
	if (!err)
		err = axl_submit_publish(q, cmd, fence, times);
	cmd->sequence = err ? 0 : seq;
	if (err && trace_axl_refuse_enabled() && axl_submit_entered_ns(times))
		trace_axl_refuse(axl->index, q->ctx->hw, hwq->id, job, seq, cmd->correlation,
				 cmd->num_cmds, x.copy_bytes, axl_submit_entered_ns(times), err);
	trace_axl_submit_end(axl->index, q->ctx->hw, hwq->id, job, seq, cmd->correlation, err);
	return err;
}

/* file->lock is held, which keeps the queue alive. */
static int axl_submit_queue(struct axl_file *file, struct axl_queue *q, struct axl_submit *cmd,
			    struct axl_fence *fence, struct axl_submit_times *times)
{
	int err;

	if (likely(mutex_trylock(&q->submit))) {
		err = axl_submit_ready(q, cmd->num_cmds);
		if (unlikely(err))
			mutex_unlock(&q->submit);
	} else {
		err = -EAGAIN;
	}
	if (unlikely(err == -EAGAIN))
		err = axl_submit_wait(file, q, cmd, times);
	if (unlikely(err))
		return err;
	err = axl_submit_job(file, q, cmd, fence, times);
	mutex_unlock(&q->submit);
	return err;
}

static int axl_submit_try(struct axl_file *file, struct axl_submit *cmd, struct axl_fence *fence,
			  struct axl_submit_times *times)
{
	u32 slot = cmd->ctx - 1;
	struct axl_queue *q;
	struct axl_ctx *ctx;
	int err, idx;

	err = axl_enter(file->axl, &idx);
	if (err)
		return err;
	err = -ENOENT;
	down_read(&file->lock);
	if (likely(slot < AXL_MAX_CONTEXTS)) {
		ctx = file->ctxs[array_index_nospec(slot, AXL_MAX_CONTEXTS)];
		if (likely(ctx && cmd->queue < ctx->num_queues)) {
			q = ctx->queues[array_index_nospec(cmd->queue, AXL_MAX_QUEUES)];
			err = axl_submit_queue(file, q, cmd, fence, times);
		}
	}
	up_read(&file->lock);
	axl_exit(file->axl, idx);
	return err;
}

int axl_ioctl_submit(struct axl_ucmd *ucmd)
{
	struct axl_submit *cmd = ucmd->cmd;
	struct axl_fence *fence = NULL;
	struct axl_submit_times times;
	unsigned int tries;
	int err;

	axl_submit_enter(&times);
	cmd->correlation = axl_correlation(ucmd->file, cmd->correlation);
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
		err = axl_submit_try(ucmd->file, cmd, fence, &times);
		if (err != -EFAULT)
			return err;
		axl_submit_entered_ns(&times);
		if (fault_in_readable(u64_to_user_ptr(cmd->cmds),
				      cmd->num_cmds * sizeof(struct axl_desc)))
			return -EFAULT;
	}
	return -EFAULT;
}
