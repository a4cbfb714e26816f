// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: buffers, the only way to name memory in a command.
 *
 * A handle indexes a flat table, so that translating a command costs a load
 * and a compare. A buffer remembers the newest job of each hardware queue that
 * used it; it can go once those have completed.
 */
#include <linux/dma-direction.h>
#include <linux/slab.h>

#include "axl_lifetime.h"
#include "axl_memory.h"
#include "axl_trace_object.h"

static bool axl_buf_busy(struct axl_device *axl, struct axl_buf *buf)
{
	bool busy = false;
	u32 i;

	for (i = 0; i < axl->num_queues && !busy; i++) {
		struct axl_hwq *hwq = &axl->hwq[i];

		if (!buf->last_use[i])
			continue;
		spin_lock_irq(&hwq->lock);
		/* A command that failed translation may have set a job that never ran. */
		if (hwq->q)
			busy = min(buf->last_use[i], hwq->seq_base + hwq->q->submitted) >
			       hwq->seq_base + hwq->q->completed;
		spin_unlock_irq(&hwq->lock);
	}
	return busy;
}

/* file->lock held for writing. */
static int axl_buf_insert(struct axl_file *file, struct axl_buf *buf)
{
	struct axl_buf **table;
	u32 handle, size;

	for (handle = 1; handle < file->num_bufs; handle++)
		if (!file->bufs[handle])
			goto found;
	if (file->num_bufs >= AXL_MAX_BUFS)
		return -ENOSPC;
	size = max(64u, file->num_bufs * 2);
	handle = max(1u, file->num_bufs);
	table = kvcalloc(size, sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return -ENOMEM;
	if (file->bufs)
		memcpy(table, file->bufs, file->num_bufs * sizeof(*table));
	kvfree(file->bufs);
	file->bufs = table;
	file->num_bufs = size;
found:
	buf->handle = handle;
	file->bufs[handle] = buf;
	return 0;
}

static struct axl_space *axl_buf_space(struct axl_device *axl, u32 kind)
{
	return kind == AXL_BUF_DEVICE ? &axl->dram :
	       kind == AXL_BUF_SCRATCH ? &axl->scratch : NULL;
}

static void axl_buf_unback(struct axl_file *file, struct axl_buf *buf)
{
	struct axl_device *axl = file->axl;
	struct axl_space *space = axl_buf_space(axl, buf->kind);

	if (!space)
		axl_mem_unmap(&buf->mem);
	mutex_lock(&axl->lock);
	if (space) {
		axl_clear_range(axl, buf->addr, buf->bytes);
		axl_space_give(space, buf->addr);
	}
	axl_share_give_buf(file->share, buf->kind, buf->bytes);
	mutex_unlock(&axl->lock);
}

static void axl_buf_release(struct axl_file *file, struct axl_buf *buf)
{
	struct axl_device *axl = file->axl;

	if (!axl_buf_space(axl, buf->kind))
		trace_axl_dma_unmap(axl->index, AXL_CTX_NONE, buf->handle, buf->bytes,
				    DMA_BIDIRECTIONAL, 0);
	trace_axl_buf(axl->index, buf->handle, buf->kind, buf->bytes, 0);
	axl_buf_unback(file, buf);
	axl_mem_free(&buf->mem);
	kfree(buf);
}

static int axl_buf_map(struct axl_device *axl, struct axl_buf *buf)
{
	int err;

	err = axl_mem_map(axl, &buf->mem);
	if (err)
		return err;
	if (buf->mem.num_sg == 1) {
		buf->addr = sg_dma_address(buf->mem.sgt.sgl);
		buf->flat_bytes = buf->bytes;
		return 0;
	}
	err = axl->features & AXL_FEATURE_SG ? axl_mem_make_list(axl, &buf->mem) : -ENOMEM;
	if (err)
		axl_mem_unmap(&buf->mem);
	return err;
}

static int axl_buf_back(struct axl_file *file, struct axl_buf *buf)
{
	struct axl_device *axl = file->axl;
	struct axl_space *space = axl_buf_space(axl, buf->kind);
	int err;

	err = space ? 0 : axl_buf_map(axl, buf);
	if (err)
		return err;
	mutex_lock(&axl->lock);
	err = axl_share_take_buf(file->share, buf->kind, buf->bytes);
	if (!err && space) {
		err = axl_clear_free(axl);
		if (!err)
			err = axl_space_take(space, buf->bytes, &buf->addr);
		if (err)
			axl_share_give_buf(file->share, buf->kind, buf->bytes);
		buf->device_bytes = buf->bytes;
	}
	mutex_unlock(&axl->lock);
	if (err && !space)
		axl_mem_unmap(&buf->mem);
	return err;
}

static int axl_buf_check(const struct axl_buf_create *cmd)
{
	if (cmd->flags || !cmd->bytes || cmd->bytes > 1ULL << AXL_REF_OFFSET_BITS)
		return -EINVAL;
	switch (cmd->kind) {
	case AXL_BUF_DEVICE:
	case AXL_BUF_SCRATCH:
		return cmd->user_addr ? -EINVAL : 0;
	case AXL_BUF_HOST:
		if (cmd->user_addr)
			return -EINVAL;
		break;
	case AXL_BUF_USER:
		if (!PAGE_ALIGNED(cmd->user_addr) ||
		    cmd->user_addr != (unsigned long)cmd->user_addr)
			return -EINVAL;
		break;
	default:
		return -EINVAL;
	}
	return cmd->bytes > AXL_MAX_HOST_BYTES ? -EINVAL : 0;
}

int axl_ioctl_buf_create(struct axl_ucmd *ucmd)
{
	struct axl_file *file = ucmd->file;
	struct axl_device *axl = file->axl;
	struct axl_buf_create *cmd = ucmd->cmd;
	struct axl_buf *buf;
	int err, idx;

	err = axl_buf_check(cmd);
	if (err)
		return err;
	buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	buf->kind = cmd->kind;
	buf->bytes = ALIGN(cmd->bytes, PAGE_SIZE);

	/* Pinning may wait for user memory, which unplug must not wait for. */
	if (buf->kind == AXL_BUF_USER)
		err = axl_mem_pin(file->share, &buf->mem, cmd->user_addr, buf->bytes);
	else if (buf->kind == AXL_BUF_HOST)
		err = axl_mem_alloc(axl, file->share, &buf->mem, buf->bytes, false);
	if (err)
		goto free;
	err = axl_enter(axl, &idx);
	if (err)
		goto free_mem;
	err = axl_buf_back(file, buf);
	if (err)
		goto leave;
	/* Another thread may destroy it as soon as it is inserted and unlocked. */
	down_write(&file->lock);
	err = axl_buf_insert(file, buf);
	if (!err) {
		cmd->bytes = buf->bytes;
		cmd->handle = buf->handle;
		cmd->mmap_offset = buf->kind == AXL_BUF_HOST ?
				   (u64)buf->handle << AXL_MMAP_HANDLE_SHIFT : 0;
		cmd->device_addr = axl_buf_space(axl, buf->kind) ? buf->addr : 0;
		trace_axl_buf(axl->index, buf->handle, buf->kind, buf->bytes, 1);
		if (!axl_buf_space(axl, buf->kind))
			trace_axl_dma_map(axl->index, AXL_CTX_NONE, buf->handle,
					  buf->bytes, DMA_BIDIRECTIONAL, 0);
	}
	up_write(&file->lock);
	if (err)
		axl_buf_unback(file, buf);
leave:
	axl_exit(axl, idx);
	if (!err)
		return 0;
free_mem:
	axl_mem_free(&buf->mem);
free:
	kfree(buf);
	return err;
}

int axl_ioctl_buf_destroy(struct axl_ucmd *ucmd)
{
	struct axl_file *file = ucmd->file;
	struct axl_buf_destroy *cmd = ucmd->cmd;
	struct axl_buf *buf = NULL;
	int err = 0;

	down_write(&file->lock);
	if (cmd->handle < file->num_bufs)
		buf = file->bufs[cmd->handle];
	if (!buf)
		err = -ENOENT;
	else if (axl_buf_busy(file->axl, buf))
		err = -EBUSY;
	else
		file->bufs[cmd->handle] = NULL;
	up_write(&file->lock);
	if (!err)
		axl_buf_release(file, buf);
	return err;
}

/* Called after the contexts are gone, so no buffer is in use. */
void axl_bufs_teardown(struct axl_file *file)
{
	u32 i;

	for (i = 0; i < file->num_bufs; i++)
		if (file->bufs[i])
			axl_buf_release(file, file->bufs[i]);
	kvfree(file->bufs);
	file->bufs = NULL;
	file->num_bufs = 0;
}
