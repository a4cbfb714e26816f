// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: the driver's own trace ring, mapped by user space like the device's.
 *
 * It tells what the tracepoints axl_job and axl_wake tell, for a tracer that cannot
 * afford a tracepoint for each job: a record is some stores into memory that
 * the tracer has mapped. The header's consumer index is user space's to write: it is
 * only compared, and what it cannot be counts as a full ring.
 */
#include <linux/jump_label.h>
#include <linux/vmalloc.h>

#include "axl_dev.h"
#include "axl_driver_ring.h"
#include "axl_stamp.h"

#define AXL_DRIVER_RING_BYTES(log2)	\
	(AXL_TRACE_HEADER_BYTES + ((u64)AXL_TRACE_RECORD_BYTES << (log2)))
#define AXL_DRIVER_RING_TRIALS	64

DEFINE_STATIC_KEY_FALSE(axl_driver_ring_key);

/* Text is changed by a worker: rings end where locks are held. */
static atomic_t axl_driver_ring_ended = ATOMIC_INIT(0);

static void axl_driver_ring_end(struct work_struct *work)
{
	while (atomic_dec_if_positive(&axl_driver_ring_ended) >= 0)
		static_branch_dec(&axl_driver_ring_key);
}

static DECLARE_WORK(axl_driver_ring_work, axl_driver_ring_end);

static void axl_driver_ring_key_drop(void)
{
	atomic_inc(&axl_driver_ring_ended);
	schedule_work(&axl_driver_ring_work);
}

void axl_driver_ring_exit(void)
{
	flush_work(&axl_driver_ring_work);
}

void axl_driver_ring_init(struct axl_device *axl)
{
	spin_lock_init(&axl->driver_ring.lock);
	init_waitqueue_head(&axl->driver_ring.wait);
}

static u64 axl_driver_ring_waiting(const struct axl_driver_ring *ring)
{
	return ring->produced - READ_ONCE(ring->header->consumed);
}

/* With the file's lock held, which keeps the ring. */
bool axl_driver_ring_readable(struct axl_driver_ring *ring)
{
	u64 waiting = READ_ONCE(ring->produced) - READ_ONCE(ring->header->consumed);

	return waiting && waiting >= ring->watermark;
}

/* Room for a record, its head filled in; NULL: closed or full. ring->lock held. */
static union axl_host_record *axl_driver_ring_next(struct axl_driver_ring *ring, u8 type, u64 time_ns)
{
	union axl_host_record *record;
	u32 sequence;

	lockdep_assert_held(&ring->lock);
	if (unlikely(!ring->records))
		return NULL;
	sequence = ring->sequence++;
	if (unlikely(axl_driver_ring_waiting(ring) > ring->mask)) {
		WRITE_ONCE(ring->header->lost, ++ring->lost);
		return NULL;
	}
	record = &ring->records[ring->produced & ring->mask];
	record->h.type = type;
	record->h.engine = 0xff;
	record->h.sequence = sequence;
	record->h.time = time_ns;
	return record;
}

/* Returns whether the watermark is reached. */
static bool axl_driver_ring_publish(struct axl_driver_ring *ring)
{
	/* The record before the index. */
	smp_store_release(&ring->header->produced, ring->produced + 1);
	WRITE_ONCE(ring->produced, ring->produced + 1);
	return unlikely(axl_driver_ring_waiting(ring) == ring->watermark);
}

static void axl_driver_ring_fill_job(union axl_host_record *record, const struct axl_job *job, u32 hw,
				     u32 queue, u32 status, u64 ticks, u64 irq_ns)
{
	static const struct axl_job nothing;
	const struct axl_job *notes = job->noted ? job : &nothing;
	struct axl_rec_host_job *to = &record->host_job;

	to->h.queue = queue;
	to->h.context = hw;
	to->seq = job->seq;
	to->correlation = job->correlation;
	to->copy_bytes = notes->copy_bytes;
	to->device_ticks = ticks;
	to->submit_ns = notes->submit_ns;
	to->doorbell_ns = notes->doorbell_ns;
	to->submit_end_ns = notes->submit_end_ns;
	to->irq_ns = irq_ns;
	to->job = job->job;
	to->num_cmds = notes->num_cmds;
	to->submit_cpu = notes->cpu;
	to->pid = notes->pid;
	to->tid = notes->tid;
	to->status = status;
	to->cpu = raw_smp_processor_id();
}

void axl_driver_ring_job(struct axl_queue *q, const struct axl_job *job, u32 status, u64 ticks,
			 u64 irq_ns, u64 complete_ns)
{
	struct axl_driver_ring *ring = &q->ctx->axl->driver_ring;
	union axl_host_record *record;
	unsigned long flags;
	bool wake = false;

	spin_lock_irqsave(&ring->lock, flags);
	record = axl_driver_ring_next(ring, AXL_REC_HOST_JOB, complete_ns);
	if (likely(record)) {
		axl_driver_ring_fill_job(record, job, q->ctx->hw, q->hwq->id, status, ticks,
					 irq_ns);
		wake = axl_driver_ring_publish(ring);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	if (wake)
		wake_up_all(&ring->wait);
}

void axl_driver_ring_wait(struct axl_queue *q, const struct axl_wait *cmd, u32 job,
			  u64 correlation, u32 status, u64 wait_ns)
{
	struct axl_driver_ring *ring = &q->ctx->axl->driver_ring;
	u64 now_ns = ktime_get_mono_fast_ns();
	union axl_host_record *record;
	unsigned long flags;
	bool wake = false;

	spin_lock_irqsave(&ring->lock, flags);
	record = axl_driver_ring_next(ring, AXL_REC_HOST_WAIT, now_ns);
	if (likely(record)) {
		struct axl_rec_host_wait *to = &record->host_wait;

		to->h.queue = q->hwq->id;
		to->h.context = q->ctx->hw;
		to->seq = cmd->sequence;
		to->correlation = correlation;
		to->wait_correlation = cmd->correlation;
		to->wait_ns = wait_ns;
		to->job = job;
		to->status = status;
		to->pid = current->tgid;
		to->tid = current->pid;
		to->cpu = raw_smp_processor_id();
		wake = axl_driver_ring_publish(ring);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	if (wake)
		wake_up_all(&ring->wait);
}

/*
 * What a job costs here: the stamps of its submission and of the handler, and a record, which is
 * not published. In picoseconds, of the quickest trial: an interrupt does not count.
 */
static u64 axl_driver_ring_trial(struct axl_driver_ring *ring)
{
	u64 best_ns = U64_MAX;
	unsigned int i, j;

	for (i = 0; i < 8; i++) {
		u64 begin_ns = ktime_get_mono_fast_ns();

		for (j = 0; j < AXL_DRIVER_RING_TRIALS; j++) {
			u64 entered = axl_stamp(), rung = axl_stamp();
			u64 host_ns = ktime_get_mono_fast_ns();
			u64 irq = axl_stamp(), irq_ns = ktime_get_mono_fast_ns();
			struct axl_job job = {
				.noted = true,
				.submit_ns = host_ns - axl_stamp_ns(entered, rung),
				.doorbell_ns = host_ns,
				.submit_end_ns = host_ns + axl_stamp_ns(rung, axl_stamp()),
				.cpu = raw_smp_processor_id(),
				.pid = current->tgid,
				.tid = current->pid,
			};
			u64 now_ns = irq_ns + axl_stamp_ns(irq, axl_stamp());
			union axl_host_record *record;
			unsigned long flags;

			spin_lock_irqsave(&ring->lock, flags);
			record = axl_driver_ring_next(ring, AXL_REC_HOST_JOB, now_ns);
			if (record)
				axl_driver_ring_fill_job(record, &job, 0, 0, 0, 0, irq_ns);
			ring->sequence = 0;
			spin_unlock_irqrestore(&ring->lock, flags);
		}
		best_ns = min(best_ns, ktime_get_mono_fast_ns() - begin_ns);
	}
	return div_u64(best_ns * 1000, AXL_DRIVER_RING_TRIALS);
}

static int axl_driver_ring_check(const struct axl_trace_open *cmd)
{
	if (cmd->ctx || cmd->classes || cmd->sample_period_ns || cmd->record_ps ||
	    cmd->log2_records < 5 || cmd->log2_records > 16 ||
	    cmd->watermark > 1u << cmd->log2_records)
		return -EINVAL;
	return perfmon_capable() ? 0 : -EPERM;
}

/* With file->lock and axl->lock held. */
static int axl_driver_ring_start(struct axl_file *file, struct axl_trace_open *cmd,
				 struct axl_mem *mem, void *at)
{
	struct axl_device *axl = file->axl;
	struct axl_driver_ring *ring = &axl->driver_ring;

	if (file->ring || file->driver_ring || ring->header)
		return -EBUSY;
	if (!axl_accessible(axl))
		return axl_gone_error(axl);
	ring->mem = *mem;
	ring->header = at;
	ring->header->magic = AXL_TRACE_MAGIC;
	ring->header->record_bytes = AXL_TRACE_RECORD_BYTES;
	ring->header->log2_records = cmd->log2_records;
	ring->header->ring = AXL_TRACE_RING_DRIVER;
	ring->mask = (1u << cmd->log2_records) - 1;
	ring->watermark = cmd->watermark;
	ring->produced = 0;
	ring->lost = 0;
	ring->sequence = 0;
	file->driver_ring = true;
	return 0;
}

static void axl_driver_ring_run(struct axl_driver_ring *ring, bool run)
{
	spin_lock_irq(&ring->lock);
	ring->records = run ? (void *)ring->header + AXL_TRACE_HEADER_BYTES : NULL;
	spin_unlock_irq(&ring->lock);
}

int axl_driver_ring_open(struct axl_ucmd *ucmd)
{
	struct axl_file *file = ucmd->file;
	struct axl_device *axl = file->axl;
	struct axl_driver_ring *ring = &axl->driver_ring;
	struct axl_trace_open *cmd = ucmd->cmd;
	struct axl_mem mem = {};
	void *at = NULL;
	int err;

	err = axl_driver_ring_check(cmd);
	if (err)
		return err;
	err = axl_mem_alloc(axl, file->share, &mem, AXL_DRIVER_RING_BYTES(cmd->log2_records),
			    false);
	if (err)
		return err;
	at = vmap(mem.pages->page, mem.pages->count, VM_MAP, PAGE_KERNEL);
	if (!at) {
		err = -ENOMEM;
		goto free;
	}
	/* Before any lock is taken. */
	static_branch_inc(&axl_driver_ring_key);
	down_write(&file->lock);
	mutex_lock(&axl->lock);
	err = axl_driver_ring_start(file, cmd, &mem, at);
	if (!err) {
		axl_driver_ring_run(ring, true);
		cmd->record_ps = axl_driver_ring_trial(ring);
		cmd->mmap_offset = 0;
		cmd->map_bytes = PAGE_ALIGN(AXL_DRIVER_RING_BYTES(cmd->log2_records));
	}
	mutex_unlock(&axl->lock);
	up_write(&file->lock);
	if (!err)
		return 0;
	axl_driver_ring_key_drop();
	vunmap(at);
free:
	axl_mem_free(&mem);
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
	axl_driver_ring_run(ring, false);
	file->driver_ring = false;
	mem = ring->mem;
	at = ring->header;
	memset(&ring->mem, 0, sizeof(ring->mem));
	ring->header = NULL;
	mutex_unlock(&file->axl->lock);
	wake_up_all(&ring->wait);
	axl_driver_ring_key_drop();
	vunmap(at);
	axl_mem_free(&mem);
}
