// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: the consumption of a queue's completions.
 *
 * A completion entry is not trusted: every field is checked against what was submitted. Jobs of a
 * queue complete in order, so the next entry must name the oldest job in flight, or one that
 * failed. Any other entry ends the context, unless it merely repeats the previous one.
 */
#include "axl_completion.h"
#include "axl_driver_ring.h"
#include "axl_trace_job.h"

/* Emits the tracepoint. complete is a stamp, 0 if the job is in flight. */
static noinline void axl_job_trace(struct axl_queue *q, const struct axl_job *job, u32 status,
				   u64 ticks, u64 irq, u64 complete)
{
	static const struct axl_job nothing;
	const struct axl_job *notes = job->noted ? job : &nothing;
	struct axl_anchor *anchor = &q->hwq->anchor;
	u64 submit_ns = 0, submit_end_ns = 0, irq_ns, complete_ns;

	/* In this order, because the second conversion may renew the anchor. */
	irq_ns = irq ? axl_anchor_after_ns(anchor, irq) : 0;
	complete_ns = complete ? axl_anchor_after_ns(anchor, complete) : 0;
	if (job->noted) {
		submit_ns = job->doorbell_ns - axl_stamp_ns(job->submit, job->doorbell);
		submit_end_ns = job->doorbell_ns + axl_stamp_ns(job->doorbell, job->submit_end);
	}
	trace_axl_job(AXL_JOB_WHERE(q->ctx->axl->index, q->ctx->hw, q->hwq->id, status),
		      job->job | (u64)notes->num_cmds << 32 | (u64)notes->cpu << 48, job->seq,
		      job->correlation, notes->tid | (u64)notes->pid << 32, notes->copy_bytes,
		      ticks, submit_ns, notes->doorbell_ns, submit_end_ns, irq_ns, complete_ns);
}

/* A completion was taken, by the handler or by polling; hwq->lock held. */
static __always_inline void axl_job_report(struct axl_queue *q, const struct axl_job *job,
					   u32 status, u64 ticks)
{
	struct axl_hwq *hwq = q->hwq;
	u64 irq = 0, now;

	if (!trace_axl_job_enabled() && !axl_driver_ring_on())
		return;
	now = axl_stamp();
	if (hwq->irq_ready) {
		hwq->irq_ready--;
		irq = hwq->irq_stamp;
	}
	if (axl_driver_ring_on())
		axl_driver_ring_job(&q->ctx->axl->driver_ring, q, job, status, ticks, irq, now);
	if (trace_axl_job_enabled())
		axl_job_trace(q, job, status, ticks, irq, now);
}

/* Reports all jobs in flight and returns their number; hwq->lock held. */
u32 axl_queue_trace_jobs(struct axl_queue *q)
{
	u64 seq;

	lockdep_assert_held(&q->hwq->lock);
	for (seq = q->completed + 1; seq <= q->submitted; seq++) {
		const struct axl_job *job = &q->jobs[seq & (AXL_SQ_ENTRIES - 1)];

		axl_job_trace(q, job, ~0u, 0, 0, 0);
		if (axl_driver_ring_on())
			axl_driver_ring_job(&q->ctx->axl->driver_ring, q, job, ~0u, 0, 0, 0);
	}
	return q->submitted - q->completed;
}

static void axl_job_done(struct axl_queue *q, struct axl_job *job, u32 status, u32 index,
			 u64 ticks)
{
	struct axl_device *axl = q->ctx->axl;

	if (status != AXL_ST_OK) {
		axl_count(axl, status == AXL_ST_CANCELED ? AXL_STAT_CANCELED_JOBS :
							   AXL_STAT_FAILED_JOBS);
		if (!q->failed)
			q->failed = job->seq;
		if (!q->guilty && status != AXL_ST_CANCELED) {
			q->guilty = job->seq;
			q->guilty_status = status;
			q->guilty_index = index;
		}
	}
	job->device_ticks = ticks;
	q->sq_head = job->sq_end;
	q->progress = jiffies;
	trace_axl_complete(axl->index, q->ctx->hw, q->hwq->id, job->job, job->seq,
			   job->correlation, status, ticks);
	axl_job_report(q, job, status, ticks);
	WRITE_ONCE(q->completed, job->seq);
}

/* A failed job may end before the device has fetched all of it. */
static bool axl_cqe_sane(struct axl_queue *q, const struct axl_cqe *cqe, struct axl_job *job)
{
	u32 least = cqe->status == AXL_ST_OK ? job->sq_end : q->sq_head;

	return cqe->queue == q->hwq->id && cqe->job == job->job &&
	       cqe->correlation == job->correlation && cqe->status <= AXL_ST_CANCELED &&
	       cqe->sq_head - least <= q->sq_tail - least;
}

/* A repeated entry of the newest completed job is harmless and is dropped. */
static bool axl_cqe_repeats(struct axl_queue *q, const struct axl_cqe *cqe)
{
	struct axl_job *last = &q->jobs[q->completed & (AXL_SQ_ENTRIES - 1)];

	return q->completed && cqe->queue == q->hwq->id && cqe->job == last->job &&
	       cqe->correlation == last->correlation;
}

/*
 * The job in flight that the entry names. It must be the oldest, but a failed job may overtake
 * earlier ones, which the device drops with the rest of the context.
 */
static struct axl_job *axl_cqe_job(struct axl_queue *q, const struct axl_cqe *cqe)
{
	u64 seq;

	for (seq = q->completed + 1; seq <= q->submitted; seq++) {
		struct axl_job *job = &q->jobs[seq & (AXL_SQ_ENTRIES - 1)];

		if (axl_cqe_sane(q, cqe, job))
			return job;
		if (cqe->status == AXL_ST_OK)
			break;
	}
	return NULL;
}

/* Takes completed jobs and returns their number; hwq->lock held, any context. */
unsigned int axl_queue_reap(struct axl_queue *q)
{
	struct axl_device *axl = q->ctx->axl;
	unsigned int done = 0;

	lockdep_assert_held(&q->hwq->lock);
	while (!q->dead && done < AXL_CQ_ENTRIES) {
		struct axl_job *job;
		struct axl_cqe cqe;

		if (!axl_cqe_ready(q, q->cq_head))
			break;
		dma_rmb();
		cqe = q->cq[q->cq_head & (AXL_CQ_ENTRIES - 1)];
		q->cq_head++;
		done++;
		if (axl_cqe_repeats(q, &cqe)) {
			axl_count(axl, AXL_STAT_BAD_COMPLETIONS);
			continue;
		}
		job = axl_cqe_job(q, &cqe);
		if (!job) {
			axl_count(axl, AXL_STAT_BAD_COMPLETIONS);
			axl_ctx_error(axl, q->ctx->hw);
			q->bad = true;
			q->dead = true;
			break;
		}
		if (job->seq != q->completed + 1) {
			/*
			 * Ends once the device has released all of the jobs, see axl_queue_fail().
			 */
			job->device_ticks = cqe.time;
			axl_ctx_error(axl, q->ctx->hw);
			q->dead = true;
			break;
		}
		axl_job_done(q, job, cqe.status, cqe.error_index, cqe.time);
		if (cqe.status != AXL_ST_OK)
			axl_ctx_error(axl, q->ctx->hw);
	}
	if (done) {
		axl_write32(axl, AXL_REG_Q_CQ_HEAD(q->hwq->id), q->cq_head);
		axl_fences_signal(q);
		wake_up_all(&q->wait);
	}
	return done;
}

/*
 * Ends every job in flight: the guilty one with status, one with an invalid completion with a ring
 * error, the others as canceled. The device no longer works on them; hwq->lock held.
 */
void axl_queue_fail(struct axl_queue *q, u32 status, u32 guilty, u32 index)
{
	lockdep_assert_held(&q->hwq->lock);
	q->dead = true;
	while (q->completed != q->submitted) {
		struct axl_job *job = &q->jobs[(q->completed + 1) & (AXL_SQ_ENTRIES - 1)];
		u32 end = AXL_ST_CANCELED;

		if (q->bad)
			end = AXL_ST_RING_ERROR;
		else if (job->job == guilty)
			end = status;
		q->bad = false;
		axl_job_done(q, job, end, job->job == guilty ? index : 0, job->device_ticks);
	}
	axl_fences_signal(q);
	wake_up_all(&q->wait);
}
