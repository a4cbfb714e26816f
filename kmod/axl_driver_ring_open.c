// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: opening the driver's own trace ring (axl_driver_ring.c), and what a
 * record in it costs.
 */
#include <linux/capability.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "axl_completion.h"
#include "axl_driver_ring.h"
#include "axl_lifetime.h"
#include "axl_memory.h"
#include "axl_tracing.h"

#define AXL_DRIVER_RING_TRIALS	32	/* fit into the smallest ring */

/* Stands in for a queue with one completion. */
struct axl_driver_ring_trial {
	struct axl_hwq hwq;
	struct axl_ctx ctx;
	struct axl_queue q;
	struct axl_cqe cq[2];
	struct axl_job job;
	struct axl_submit submit;
	struct axl_wait wait;
};

/* The whole cost of tracing a job: at its submission, in the handler, and its record. */
static noinline void axl_driver_ring_try_job(struct axl_driver_ring *ring,
					     struct axl_driver_ring_trial *t)
{
	struct axl_hwq *hwq = &t->hwq;
	u64 entered = axl_stamp(), rung = axl_stamp(), irq = 0, now;

	axl_job_note(ring, &t->job, &t->submit, 0, entered, rung,
		     axl_anchor_ns(&hwq->anchor, rung));
	hwq->irq_stamp = axl_stamp();
	hwq->irq_ready = axl_queue_peek(&t->q);
	now = axl_stamp();
	if (hwq->irq_ready) {
		hwq->irq_ready--;
		irq = hwq->irq_stamp;
	}
	axl_driver_ring_job(ring, &t->q, &t->job, 0, 0, irq, now);
	hwq->irq_stamp = 0;
	hwq->irq_ready = 0;
}

static noinline void axl_driver_ring_try_wait(struct axl_driver_ring *ring,
					      struct axl_driver_ring_trial *t)
{
	/* Times are passed as constants, since waiting reads the clock anyway. */
	axl_driver_ring_wait(ring, &t->q, &t->wait, &t->job, 0, 1);
}

/*
 * Measures in picoseconds what tracing a job and a wait costs the host, in a ring that is not yet
 * in use. The fastest trial counts, so that interrupts do not distort it.
 */
static int axl_driver_ring_measure(struct axl_driver_ring *trial, struct axl_trace_open *cmd)
{
	struct axl_driver_ring_trial *t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	u64 job_ns = U64_MAX, wait_ns = U64_MAX, begin_ns, between_ns;
	unsigned int i, j;

	if (!t)
		return -ENOMEM;
	t->q.ctx = &t->ctx;
	t->q.hwq = &t->hwq;
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

/* Fills in the header and measures the costs; mem and header are already set. */
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
	    cmd->log2_records < AXL_RING_LOG2_MIN || cmd->log2_records > AXL_RING_LOG2_MAX ||
	    cmd->watermark > 1u << cmd->log2_records)
		return -EINVAL;
	return perfmon_capable() ? 0 : -EPERM;
}

/* file->lock and axl->lock held. */
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
	if (task_active_pid_ns(current) != &init_pid_ns)
		WRITE_ONCE(ring->ns, get_pid_ns(task_active_pid_ns(current)));
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
			    AXL_RING_BYTES(cmd->log2_records), false);
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
	cmd->map_bytes = PAGE_ALIGN(AXL_RING_BYTES(cmd->log2_records));
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
	struct pid_namespace *ns;
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
	ns = ring->ns;
	WRITE_ONCE(ring->ns, NULL);
	memset(&ring->mem, 0, sizeof(ring->mem));
	ring->header = NULL;
	mutex_unlock(&file->axl->lock);
	wake_up_all(&ring->wait);
	atomic_dec(&axl_driver_rings);
	if (ns)
		put_pid_ns(ns);
	vunmap(at);
	axl_mem_free(&mem);
}
