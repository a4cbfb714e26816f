// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: hardware trace rings, written by the device and mapped by user space
 * or read by axl_cmd_trace.c.
 *
 * The indexes in the header are shared with user space and the device, so they are only compared,
 * never used to address anything here.
 */
#include "axl_memory.h"
#include "axl_tracing.h"

#define AXL_RING_LOG2_ADJACENT	14	/* with its header within the largest block of pages */

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

/* Allocates a ring's memory and maps it for the device. */
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
	/* The device has one address per ring, so without an IOMMU the pages must be adjacent. */
	err = log2_records > AXL_RING_LOG2_ADJACENT ? -EOPNOTSUPP : -ENOMEM;
	axl_mem_unmap(mem);
free:
	axl_mem_free(mem);
	return err;
}

/* Assigns memory to a free ring and starts it; axl->lock held. */
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

/* Frees a stopped ring; its memory goes to the caller. axl->lock held. */
struct axl_mem axl_ring_drop(struct axl_trace_ring *ring)
{
	struct axl_mem mem = ring->mem;

	lockdep_assert_held(&ring->axl->lock);
	memset(&ring->mem, 0, sizeof(ring->mem));
	ring->header = NULL;
	return mem;
}
