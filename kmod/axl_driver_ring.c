// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: the driver's own trace ring, mapped by user space like the device's.
 *
 * It carries what the tracepoints axl_job and axl_wake do, for a tracer that cannot
 * afford a tracepoint for each job: a record is some stores into memory that
 * the tracer has mapped. The header's consumer index is user space's to write: it is
 * only compared, and what it cannot be counts as a full ring.
 */
#include <linux/vmalloc.h>

#include "axl_dev.h"
#include "axl_driver_ring.h"
#include "axl_stamp.h"

#define AXL_DRIVER_RING_BYTES(log2)	\
	(AXL_TRACE_HEADER_BYTES + ((u64)AXL_TRACE_RECORD_BYTES << (log2)))
#define AXL_DRIVER_RING_TRIALS	32	/* fit into the smallest ring */

/*
 * A flag and not a static branch: its change would patch code that other CPUs are in the middle of,
 * at each beginning and end of a recording, which QEMU's TCG does not always survive (a CPU that
 * goes on finding the breakpoint of a patch that is long done).
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

/* The place of the next record, its head filled in; NULL: closed or full. ring->lock held. */
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

/* What stands for a queue with one completion. */
struct axl_driver_ring_trial {
	struct axl_hwq hwq;
	struct axl_queue q;
	struct axl_cqe cq[2];
	struct axl_job job;
	struct axl_submit submit;
	struct axl_wait wait;
};

/* All that a job has here: at its submission, in the handler, and its record. */
static noinline void axl_driver_ring_try_job(struct axl_driver_ring *ring,
					     struct axl_driver_ring_trial *t)
{
	struct axl_hwq *hwq = &t->hwq;
	u64 entered = axl_stamp(), rung = axl_stamp(), irq = 0, now;

	axl_job_note(&t->job, &t->submit, 0, entered, rung, axl_anchor_ns(&hwq->anchor, rung));
	hwq->irq_stamp = axl_stamp();
	hwq->irq_ready = axl_queue_peek(&t->q);
	now = axl_stamp();
	if (hwq->irq_ready) {
		hwq->irq_ready--;
		irq = hwq->irq_stamp;
	}
	axl_driver_ring_job(ring, hwq, 0, &t->job, 0, 0, irq, now);
	hwq->irq_stamp = 0;
	hwq->irq_ready = 0;
}

static noinline void axl_driver_ring_try_wait(struct axl_driver_ring *ring,
					      struct axl_driver_ring_trial *t)
{
	u64 wake_ns = axl_anchor_ns(&t->hwq.anchor, axl_stamp());

	/* Waiting reads the clock anyhow. */
	axl_driver_ring_wait(ring, &t->hwq, 0, &t->wait, 0, 0, 0, wake_ns, wake_ns);
}

/*
 * Measures what a job and a wait cost the host, in a ring that nobody knows of yet. In picoseconds,
 * of the quickest trial: an interrupt does not count.
 */
static int axl_driver_ring_measure(struct axl_driver_ring *trial, struct axl_trace_open *cmd)
{
	struct axl_driver_ring_trial *t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	u64 job_ns = U64_MAX, wait_ns = U64_MAX, begin_ns, between_ns;
	unsigned int i, j;

	if (!t)
		return -ENOMEM;
	t->q.cq = t->cq;
	t->cq[0].phase = 1;
	for (i = 0; i < 8; i++) {
		trial->produced = 0;
		begin_ns = ktime_get_mono_fast_ns();
		local_irq_disable();
		for (j = 0; j < AXL_DRIVER_RING_TRIALS; j++)
			axl_driver_ring_try_job(trial, t);
		local_irq_enable();
		between_ns = ktime_get_mono_fast_ns();
		trial->produced = 0;
		for (j = 0; j < AXL_DRIVER_RING_TRIALS; j++)
			axl_driver_ring_try_wait(trial, t);
		job_ns = min(job_ns, between_ns - begin_ns);
		wait_ns = min(wait_ns, ktime_get_mono_fast_ns() - between_ns);
	}
	cmd->job_ps = min_t(u64, div_u64(job_ns * 1000, AXL_DRIVER_RING_TRIALS), U32_MAX);
	cmd->wait_ps = min_t(u64, div_u64(wait_ns * 1000, AXL_DRIVER_RING_TRIALS), U32_MAX);
	kfree(t);
	return 0;
}

/* Fills in the header and has the costs measured; mem and header are already set. */
static int axl_driver_ring_prepare(struct axl_driver_ring *ring, struct axl_trace_open *cmd)
{
	struct axl_trace_header *header = ring->header;
	int err;

	spin_lock_init(&ring->lock);
	init_waitqueue_head(&ring->wait);
	ring->mask = (1u << cmd->log2_records) - 1;
	ring->watermark = cmd->watermark;
	ring->records = (void *)header + AXL_TRACE_HEADER_BYTES;
	err = axl_driver_ring_measure(ring, cmd);
	memset(header, 0, sizeof(*header));
	header->magic = AXL_TRACE_MAGIC;
	header->record_bytes = AXL_TRACE_RECORD_BYTES;
	header->log2_records = cmd->log2_records;
	header->ring = AXL_TRACE_RING_DRIVER;
	header->stamp_khz = axl_stamp_khz();
	return err;
}

static int axl_driver_ring_check(const struct axl_trace_open *cmd)
{
	if (cmd->ctx || cmd->classes || cmd->sample_period_ns || cmd->job_ps || cmd->wait_ps ||
	    cmd->log2_records < 5 || cmd->log2_records > 16 ||
	    cmd->watermark > 1u << cmd->log2_records)
		return -EINVAL;
	return perfmon_capable() ? 0 : -EPERM;
}

/* With file->lock and axl->lock held. */
static int axl_driver_ring_start(struct axl_file *file, const struct axl_driver_ring *fresh)
{
	struct axl_device *axl = file->axl;
	struct axl_driver_ring *ring = &axl->driver_ring;

	if (file->ring || file->driver_ring || ring->header)
		return -EBUSY;
	if (!axl_accessible(axl))
		return axl_gone_error(axl);
	ring->mem = fresh->mem;
	ring->header = fresh->header;
	ring->mask = fresh->mask;
	ring->watermark = fresh->watermark;
	ring->produced = 0;
	ring->lost = 0;
	file->driver_ring = true;
	spin_lock_irq(&ring->lock);
	ring->records = fresh->records;
	spin_unlock_irq(&ring->lock);
	return 0;
}

int axl_driver_ring_open(struct axl_ucmd *ucmd)
{
	struct axl_file *file = ucmd->file;
	struct axl_device *axl = file->axl;
	struct axl_trace_open *cmd = ucmd->cmd;
	struct axl_driver_ring *fresh;
	int err;

	err = axl_driver_ring_check(cmd);
	if (err)
		return err;
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return -ENOMEM;
	err = axl_mem_alloc(axl, file->share, &fresh->mem,
			    AXL_DRIVER_RING_BYTES(cmd->log2_records), false);
	if (err)
		goto free_fresh;
	fresh->header = vmap(fresh->mem.pages->page, fresh->mem.pages->count, VM_MAP, PAGE_KERNEL);
	if (!fresh->header) {
		err = -ENOMEM;
		goto free_mem;
	}
	err = axl_driver_ring_prepare(fresh, cmd);
	if (err)
		goto unmap;
	atomic_inc(&axl_driver_rings);
	down_write(&file->lock);
	mutex_lock(&axl->lock);
	err = axl_driver_ring_start(file, fresh);
	mutex_unlock(&axl->lock);
	up_write(&file->lock);
	if (err) {
		atomic_dec(&axl_driver_rings);
		goto unmap;
	}
	cmd->mmap_offset = 0;
	cmd->map_bytes = PAGE_ALIGN(AXL_DRIVER_RING_BYTES(cmd->log2_records));
	kfree(fresh);
	return 0;
unmap:
	vunmap(fresh->header);
free_mem:
	axl_mem_free(&fresh->mem);
free_fresh:
	kfree(fresh);
	return err;
}

/* Mappings keep their pages. No call on the file is running, or its lock is held. */
void axl_driver_ring_release(struct axl_file *file)
{
	struct axl_driver_ring *ring = &file->axl->driver_ring;
	struct axl_mem mem;
	void *at;

	if (!file->driver_ring)
		return;
	mutex_lock(&file->axl->lock);
	spin_lock_irq(&ring->lock);
	ring->records = NULL;
	spin_unlock_irq(&ring->lock);
	file->driver_ring = false;
	mem = ring->mem;
	at = ring->header;
	memset(&ring->mem, 0, sizeof(ring->mem));
	ring->header = NULL;
	mutex_unlock(&file->axl->lock);
	wake_up_all(&ring->wait);
	atomic_dec(&axl_driver_rings);
	vunmap(at);
	axl_mem_free(&mem);
}
