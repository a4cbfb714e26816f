// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: trace rings, written by the device and mapped by user space.
 *
 * Ring 0 sees the whole device and needs CAP_PERFMON; ring 1 + c sees hardware
 * context c and belongs to the file that owns the context. Indexes in the
 * header are shared with user space and the device: only compared, never used
 * to address anything here.
 */
#include <linux/capability.h>
#include <linux/log2.h>

#include "axl_dev.h"
#include "axl_trace.h"

#define AXL_RING_LOG2_MIN	5
#define AXL_RING_LOG2_MAX	16
#define AXL_RING_LOG2_ADJACENT	14	/* with its header within the largest block of pages */
#define AXL_RING_PERIOD_MIN_NS	10000
#define AXL_RING_BYTES(log2)	(AXL_TRACE_HEADER_BYTES + ((u64)AXL_TRACE_RECORD_BYTES << (log2)))

void axl_ring_init(struct axl_device *axl, u32 id)
{
	struct axl_trace_ring *ring = &axl->rings[id];

	ring->axl = axl;
	ring->id = id;
	init_waitqueue_head(&ring->wait);
}

bool axl_ring_readable(struct axl_trace_ring *ring)
{
	u64 produced = READ_ONCE(ring->header->produced);
	u64 waiting = produced - READ_ONCE(ring->header->consumed);

	return waiting && waiting >= ring->setup.watermark;
}

/* Programs the device; axl->lock held. */
void axl_ring_arm(struct axl_trace_ring *ring)
{
	struct axl_device *axl = ring->axl;
	u32 id = ring->id;

	axl_write32(axl, AXL_REG_TR_CTRL(id), 0);
	axl_write64(axl, AXL_REG_TR_BASE(id), sg_dma_address(ring->mem.sgt.sgl));
	axl_write32(axl, AXL_REG_TR_LOG2(id), ring->setup.log2_records);
	axl_write32(axl, AXL_REG_TR_CLASSES(id), ring->setup.classes);
	axl_write32(axl, AXL_REG_TR_WATERMARK(id), ring->setup.watermark);
	axl_write64(axl, AXL_REG_TR_PERIOD_NS(id), ring->setup.sample_period_ns);
	axl_write32(axl, AXL_REG_TR_CTRL(id), 1);
	ring->running = true;
}

/* The device writes no more; what it wrote stays readable. axl->lock held. */
void axl_ring_stop(struct axl_trace_ring *ring)
{
	lockdep_assert_held(&ring->axl->lock);
	if (!ring->running)
		return;
	ring->running = false;
	axl_write32(ring->axl, AXL_REG_TR_CTRL(ring->id), 0);
	if (axl_wait_clear32(ring->axl, AXL_REG_TR_STATUS(ring->id), 1, 10 * 1000))
		dev_warn(&ring->axl->dev, "trace ring %u does not stop\n", ring->id);
	wake_up_all(&ring->wait);
}

/* Memory for a ring, mapped for the device. */
int axl_ring_alloc(struct axl_device *axl, struct axl_share *share, u32 log2_records,
		   struct axl_mem *mem)
{
	int err;

	err = axl_mem_alloc(axl, share, mem, AXL_RING_BYTES(log2_records), true);
	if (err)
		return err;
	err = axl_mem_map(axl, mem);
	if (err)
		goto free;
	if (mem->num_sg == 1)
		return 0;
	/* The device knows a ring by one address: without an IOMMU the pages must be adjacent. */
	err = log2_records > AXL_RING_LOG2_ADJACENT ? -EOPNOTSUPP : -ENOMEM;
	axl_mem_unmap(mem);
free:
	axl_mem_free(mem);
	return err;
}

/* Gives a free ring its memory and starts it; axl->lock held. */
int axl_ring_take(struct axl_trace_ring *ring, const struct axl_trace_open *setup,
		  const struct axl_mem *mem)
{
	struct axl_device *axl = ring->axl;

	lockdep_assert_held(&axl->lock);
	if (ring->header)
		return -EBUSY;
	if (!axl_accessible(axl))
		return axl_gone_error(axl);
	ring->setup = *setup;
	ring->mem = *mem;
	ring->header = page_address(mem->pages->page[0]);
	ring->header->magic = AXL_TRACE_MAGIC;
	ring->header->record_bytes = AXL_TRACE_RECORD_BYTES;
	ring->header->log2_records = setup->log2_records;
	ring->header->ring = ring->id;
	axl_ring_arm(ring);
	return 0;
}

/* The ring, stopped, is free again; its memory is the caller's. axl->lock held. */
struct axl_mem axl_ring_drop(struct axl_trace_ring *ring)
{
	struct axl_mem mem = ring->mem;

	lockdep_assert_held(&ring->axl->lock);
	memset(&ring->mem, 0, sizeof(ring->mem));
	ring->header = NULL;
	return mem;
}

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

/* Which hardware ring; file->lock held. */
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
