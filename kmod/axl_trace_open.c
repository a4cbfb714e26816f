// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: the ioctls of tracing, which give a file its trace ring.
 *
 * Ring 0 sees the whole device and needs CAP_PERFMON; ring 1 + c sees hardware
 * context c and belongs to the file that owns the context.
 */
#include <linux/capability.h>

#include "axl_completion.h"
#include "axl_lifetime.h"
#include "axl_memory.h"
#include "axl_tracing.h"

#define AXL_RING_PERIOD_MIN_NS	10000

/* Takes the file's ring away from the device; mappings keep their pages. */
void axl_ring_release(struct axl_file *file)
{
	struct axl_trace_ring *ring = file->ring;
	struct axl_mem mem;

	if (!ring)
		return;
	file->ring = NULL;
	mutex_lock(&file->axl->lock);
	axl_ring_stop(ring);
	mem = axl_ring_drop(ring);
	mutex_unlock(&file->axl->lock);
	axl_mem_unmap(&mem);
	axl_mem_free(&mem);
}

static int axl_ring_check(const struct axl_trace_open *cmd)
{
	if (cmd->ring > AXL_TRACE_RING_CTX || cmd->job_ps || cmd->wait_ps ||
	    cmd->log2_records < AXL_RING_LOG2_MIN || cmd->log2_records > AXL_RING_LOG2_MAX ||
	    cmd->classes & ~AXL_REC_CLASSES_ALL || cmd->watermark > 1u << cmd->log2_records ||
	    (cmd->sample_period_ns && cmd->sample_period_ns < AXL_RING_PERIOD_MIN_NS))
		return -EINVAL;
	if (cmd->ring == AXL_TRACE_RING_DEVICE && !perfmon_capable())
		return -EPERM;
	return 0;
}

/* Selects the hardware ring; file->lock held. */
static int axl_ring_choose(struct axl_file *file, const struct axl_trace_open *cmd)
{
	u32 id = AXL_TRACE_RING_DEVICE;

	if (cmd->ring == AXL_TRACE_RING_CTX) {
		if (!cmd->ctx || cmd->ctx > AXL_MAX_CONTEXTS || !file->ctxs[cmd->ctx - 1])
			return -ENOENT;
		id = 1 + file->ctxs[cmd->ctx - 1]->hw;
	} else if (cmd->ctx) {
		return -EINVAL;
	}
	return id < file->axl->num_rings ? id : -ENOENT;
}

static int axl_ring_start(struct axl_file *file, const struct axl_trace_open *cmd,
			  struct axl_mem *mem)
{
	struct axl_device *axl = file->axl;
	struct axl_trace_ring *ring;
	int id, err = 0;

	down_write(&file->lock);
	id = axl_ring_choose(file, cmd);
	if (id < 0) {
		err = id;
		goto unlock;
	}
	ring = &axl->rings[id];
	mutex_lock(&axl->lock);
	err = file->ring || file->driver_ring ? -EBUSY : axl_ring_take(ring, cmd, mem);
	if (!err)
		file->ring = ring;
	mutex_unlock(&axl->lock);
unlock:
	up_write(&file->lock);
	return err;
}

int axl_ioctl_trace_open(struct axl_ucmd *ucmd)
{
	struct axl_file *file = ucmd->file;
	struct axl_trace_open *cmd = ucmd->cmd;
	struct axl_mem mem = {};
	int err;

	if (cmd->ring == AXL_TRACE_RING_DRIVER)
		return axl_driver_ring_open(ucmd);
	err = axl_ring_check(cmd);
	if (err)
		return err;
	err = axl_ring_alloc(file->axl, file->share, cmd->log2_records, &mem);
	if (err)
		return err;
	err = axl_ring_start(file, cmd, &mem);
	if (err) {
		axl_mem_unmap(&mem);
		axl_mem_free(&mem);
		return err;
	}
	cmd->mmap_offset = 0;
	cmd->map_bytes = PAGE_ALIGN(AXL_RING_BYTES(cmd->log2_records));
	return 0;
}

int axl_ioctl_trace_close(struct axl_ucmd *ucmd)
{
	struct axl_file *file = ucmd->file;
	struct axl_trace_close *cmd = ucmd->cmd;
	int err = 0;

	if (cmd->reserved)
		return -EINVAL;
	down_write(&file->lock);
	if (file->ring)
		axl_ring_release(file);
	else if (file->driver_ring)
		axl_driver_ring_release(file);
	else
		err = -ENOENT;
	up_write(&file->lock);
	return err;
}

/*
 * Tracers that start or stop listening to axl_job use this to learn about the jobs in flight, which
 * otherwise would be missing from their traces.
 */
int axl_ioctl_jobs_trace(struct axl_ucmd *ucmd)
{
	struct axl_device *axl = ucmd->file->axl;
	struct axl_jobs_trace *cmd = ucmd->cmd;
	u32 i;

	if (!perfmon_capable())
		return -EPERM;
	cmd->jobs = 0;
	for (i = 0; i < axl->num_queues; i++) {
		struct axl_hwq *hwq = &axl->hwq[i];

		spin_lock_irq(&hwq->lock);
		if (hwq->q)
			cmd->jobs += axl_queue_trace_jobs(hwq->q);
		spin_unlock_irq(&hwq->lock);
	}
	return 0;
}
