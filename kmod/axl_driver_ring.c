// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: records in the driver's own trace ring, which user space maps like the
 * device's. axl_driver_ring_open.c opens it.
 *
 * It carries what the tracepoints axl_job and axl_wake do, for a tracer that cannot
 * afford a tracepoint for each job: a record is some stores into memory that
 * the tracer has mapped. User space writes the header's consumer index: it is only
 * compared, and an impossible value counts as a full ring.
 */
#include "axl_driver_ring.h"
#include "axl_tracing.h"

/*
 * Not a static branch: switching one patches code that other CPUs may be executing, at each
 * beginning and end of a recording, which QEMU's TCG does not always survive (a CPU keeps hitting
 * the breakpoint of a patch that is complete).
 */
atomic_t axl_driver_rings = ATOMIC_INIT(0);

void axl_driver_ring_init(struct axl_device *axl)
{
	spin_lock_init(&axl->driver_ring.lock);
	init_waitqueue_head(&axl->driver_ring.wait);
}

/* With the file's lock held, which keeps the ring. */
bool axl_driver_ring_readable(struct axl_driver_ring *ring)
{
	u64 waiting = READ_ONCE(ring->produced) - READ_ONCE(ring->header->consumed);

	return waiting && waiting >= ring->watermark;
}

/* The next record, its head filled in; NULL: closed or full. ring->lock held. */
static __always_inline union axl_host_record *
axl_driver_ring_next(struct axl_driver_ring *ring, u8 type, u32 queue, u32 hw, u64 time)
{
	union axl_host_record *record;
	u64 produced = ring->produced;

	lockdep_assert_held(&ring->lock);
	if (unlikely(!ring->records))
		return NULL;
	if (unlikely(produced - READ_ONCE(ring->header->consumed) > ring->mask)) {
		WRITE_ONCE(ring->header->lost, ++ring->lost);
		return NULL;
	}
	record = &ring->records[produced & ring->mask];
	record->h.type = type;
	record->h.engine = 0xff;
	record->h.queue = queue;
	record->h.context = hw;
	/* Lost ones are numbered, too. */
	record->h.sequence = (u32)(produced + ring->lost);
	record->h.time = time;
	return record;
}

/* Returns whether the watermark is reached. */
static __always_inline bool axl_driver_ring_publish(struct axl_driver_ring *ring)
{
	u64 produced = ring->produced + 1;

	WRITE_ONCE(ring->produced, produced);
	/* The record before the index. */
	smp_store_release(&ring->header->produced, produced);
	return unlikely(produced - READ_ONCE(ring->header->consumed) == ring->watermark);
}

void axl_driver_ring_job(struct axl_driver_ring *ring, struct axl_hwq *hwq, u32 hw,
			 const struct axl_job *job, u32 status, u64 ticks, u64 irq, u64 complete)
{
	static const struct axl_job nothing;
	const struct axl_job *notes = likely(job->noted) ? job : &nothing;
	union axl_host_record *record;
	struct axl_rec_host_job *to;
	bool wake = false;

	axl_anchor_renew(&hwq->anchor, complete);
	/* Interrupts are off, as hwq->lock demands. */
	spin_lock(&ring->lock);
	record = axl_driver_ring_next(ring, AXL_REC_HOST_JOB, hwq->id, hw, complete);
	if (likely(record)) {
		to = &record->host_job;
		to->seq = job->seq;
		to->correlation = job->correlation;
		to->copy_bytes = notes->copy_bytes;
		to->device_ticks = ticks;
		to->submit = notes->submit;
		to->doorbell = notes->doorbell;
		to->submit_end = notes->submit_end;
		to->doorbell_ns = notes->doorbell_ns;
		to->irq = irq;
		to->anchor = hwq->anchor.stamp;
		to->anchor_ns = hwq->anchor.ns;
		to->job = job->job;
		to->num_cmds = notes->num_cmds;
		to->submit_cpu = notes->cpu;
		to->pid = notes->pid;
		to->tid = notes->tid;
		to->status = status;
		to->cpu = raw_smp_processor_id();
		wake = axl_driver_ring_publish(ring);
	}
	spin_unlock(&ring->lock);
	if (wake)
		wake_up_all(&ring->wait);
}

void axl_driver_ring_wait(struct axl_driver_ring *ring, const struct axl_hwq *hwq, u32 hw,
			  const struct axl_wait *cmd, u32 job, u64 correlation, u32 status,
			  u64 wait_ns, u64 wake_ns)
{
	union axl_host_record *record;
	struct axl_rec_host_wait *to;
	unsigned long flags;
	bool wake = false;

	spin_lock_irqsave(&ring->lock, flags);
	record = axl_driver_ring_next(ring, AXL_REC_HOST_WAIT, hwq->id, hw, wake_ns);
	if (likely(record)) {
		to = &record->host_wait;
		to->seq = cmd->sequence;
		to->correlation = correlation;
		to->wait_correlation = cmd->correlation;
		to->wait_ns = wait_ns;
		to->job = job;
		to->status = status;
		to->pid = current->tgid;
		to->tid = current->pid;
		to->cpu = raw_smp_processor_id();
		to->reserved0 = 0;
		memset(to->reserved1, 0, sizeof(to->reserved1));
		wake = axl_driver_ring_publish(ring);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	if (wake)
		wake_up_all(&ring->wait);
}
