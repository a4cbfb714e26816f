// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: records in the driver's own trace ring, which user space maps like the
 * device's. axl_driver_ring_open.c opens it.
 *
 * It has the contents of the tracepoints axl_job and axl_wake, for tracers that cannot afford a
 * tracepoint per job: a record costs a few stores into memory that the tracer has mapped. User
 * space writes the header's consumer index, so it is only compared, and an impossible value counts
 * as a full ring.
 */
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>

#include "axl_driver_ring.h"
#include "axl_tracing.h"

/*
 * Not a static branch: switching one patches code that other CPUs may be executing, at the start
 * and end of each recording, which QEMU's TCG does not always survive (a CPU keeps hitting the
 * breakpoint of a completed patch).
 */
atomic_t axl_driver_rings = ATOMIC_INIT(0);

void axl_driver_ring_init(struct axl_device *axl)
{
	spin_lock_init(&axl->driver_ring.lock);
	init_waitqueue_head(&axl->driver_ring.wait);
}

/* The file's lock is held, which keeps the ring alive. */
bool axl_driver_ring_readable(struct axl_driver_ring *ring)
{
	u64 waiting = READ_ONCE(ring->produced) - READ_ONCE(ring->header->consumed);

	return waiting && waiting >= ring->watermark;
}

/* Whether one more record fits; ring->lock held. */
static __always_inline bool axl_driver_ring_room(struct axl_driver_ring *ring)
{
	struct axl_trace_header *header = ring->header;

	lockdep_assert_held(&ring->lock);
	if (unlikely(!ring->records))
		return false;
	if (likely(ring->produced - READ_ONCE(header->consumed) <= ring->mask))
		return true;
	WRITE_ONCE(header->lost, ++ring->lost);
	return false;
}

/* The next record, with its head filled in. */
static __always_inline union axl_host_record *
axl_driver_ring_next(struct axl_driver_ring *ring, u8 type, const struct axl_queue *q, u64 time)
{
	u64 produced = ring->produced;
	union axl_host_record *record = &ring->records[produced & ring->mask];

	record->h.type = type;
	record->h.engine = 0xff;
	record->h.queue = q->hwq->id;
	record->h.context = q->ctx->hw;
	/* Lost records are numbered, too. */
	record->h.sequence = (u32)(produced + ring->lost);
	record->h.time = time;
	return record;
}

/* Returns whether the watermark is reached. */
static __always_inline bool axl_driver_ring_publish(struct axl_driver_ring *ring)
{
	struct axl_trace_header *header = ring->header;
	u64 produced = ring->produced + 1;

	WRITE_ONCE(ring->produced, produced);
	/* Publishes the record before the index. */
	smp_store_release(&header->produced, produced);
	return unlikely(produced - READ_ONCE(header->consumed) == ring->watermark);
}

void axl_driver_ring_numbers(struct axl_driver_ring *ring, u32 *pid, u32 *tid)
{
	struct pid_namespace *ns;

	/* A namespace is freed a grace period after its last use. */
	rcu_read_lock();
	ns = READ_ONCE(ring->ns);
	if (ns) {
		*pid = task_tgid_nr_ns(current, ns);
		*tid = task_pid_nr_ns(current, ns);
	}
	rcu_read_unlock();
}

void axl_driver_ring_job(struct axl_driver_ring *ring, const struct axl_queue *q,
			 const struct axl_job *job, u32 status, u64 ticks, u64 irq, u64 complete)
{
	static const struct axl_job nothing;
	const struct axl_job *notes = likely(job->noted) ? job : &nothing;
	struct axl_anchor *anchor = &q->hwq->anchor;
	struct axl_rec_host_job *to;
	bool wake = false;

	axl_anchor_renew(anchor, complete);
	/* Interrupts are off, because hwq->lock is held. */
	spin_lock(&ring->lock);
	if (likely(axl_driver_ring_room(ring))) {
		to = &axl_driver_ring_next(ring, AXL_REC_HOST_JOB, q, complete)->host_job;
		to->seq = job->seq;
		to->correlation = job->correlation;
		to->copy_bytes = notes->copy_bytes;
		to->device_ticks = ticks;
		to->submit = notes->submit;
		to->doorbell = notes->doorbell;
		to->submit_end = notes->submit_end;
		to->doorbell_ns = notes->doorbell_ns;
		to->irq = irq;
		to->anchor = anchor->early_stamp;
		to->anchor_ns = anchor->ns;
		to->job = job->job;
		to->num_cmds = notes->num_cmds;
		to->submit_cpu = notes->cpu;
		to->pid = notes->ring_pid;
		to->tid = notes->ring_tid;
		to->status = status;
		to->cpu = raw_smp_processor_id();
		wake = axl_driver_ring_publish(ring);
	}
	spin_unlock(&ring->lock);
	if (wake)
		wake_up_all(&ring->wait);
}

void axl_driver_ring_wait(struct axl_driver_ring *ring, const struct axl_queue *q,
			  const struct axl_wait *cmd, const struct axl_job *job, u32 status,
			  u64 wait_ns)
{
	/* Converted like completions, because otherwise it could seem to precede its own. */
	u64 wake_ns = axl_anchor_after_ns(&q->hwq->anchor, axl_stamp());
	struct axl_rec_host_wait *to;
	bool wake = false;

	spin_lock(&ring->lock);
	if (likely(axl_driver_ring_room(ring))) {
		to = &axl_driver_ring_next(ring, AXL_REC_HOST_WAIT, q, wake_ns)->host_wait;
		to->seq = cmd->sequence;
		to->correlation = job ? job->correlation : 0;
		to->wait_correlation = cmd->correlation;
		to->wait_ns = wait_ns ? wait_ns : wake_ns;
		to->job = job ? job->job : 0;
		to->status = status;
		to->pid = current->tgid;
		to->tid = current->pid;
		if (unlikely(ring->ns))
			axl_driver_ring_numbers(ring, &to->pid, &to->tid);
		to->cpu = raw_smp_processor_id();
		to->reserved0 = 0;
		/* Unrolled, because a loop or memset() would cost several times as much. */
		BUILD_BUG_ON(ARRAY_SIZE(to->reserved1) != 7);
		WRITE_ONCE(to->reserved1[0], 0);
		WRITE_ONCE(to->reserved1[1], 0);
		WRITE_ONCE(to->reserved1[2], 0);
		WRITE_ONCE(to->reserved1[3], 0);
		WRITE_ONCE(to->reserved1[4], 0);
		WRITE_ONCE(to->reserved1[5], 0);
		WRITE_ONCE(to->reserved1[6], 0);
		wake = axl_driver_ring_publish(ring);
	}
	spin_unlock(&ring->lock);
	if (wake)
		wake_up_all(&ring->wait);
}
