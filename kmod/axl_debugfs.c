// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: /sys/kernel/debug/axl/axlN/state, a human-readable dump. Not an ABI.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "axl_tools.h"

static struct dentry *axl_debugfs_root;

static void axl_dump_queue(struct seq_file *m, struct axl_device *axl, struct axl_hwq *hwq)
{
	u32 status = axl_read32(axl, AXL_REG_Q_STATUS(hwq->id));
	u32 head = axl_read32(axl, AXL_REG_Q_SQ_HEAD(hwq->id));
	u32 cq_tail = axl_read32(axl, AXL_REG_Q_CQ_TAIL(hwq->id));
	struct axl_queue *q;

	spin_lock_irq(&hwq->lock);
	q = hwq->q;
	if (q)
		seq_printf(m, "queue %u: ctx %u submitted %llu completed %llu", hwq->id,
			   q->ctx->hw, q->submitted, q->completed);
	if (q)
		seq_printf(m, " sq %u..%u (device %u) cq %u (device %u) status %#x%s\n",
			   q->sq_head, q->sq_tail, head, q->cq_head, cq_tail, status,
			   q->dead ? " dead" : "");
	spin_unlock_irq(&hwq->lock);
}

static void axl_dump_ctx(struct seq_file *m, struct axl_device *axl, u32 hw)
{
	struct axl_ctx *ctx = axl->ctxs[hw];

	if (!ctx)
		return;
	seq_printf(m, "ctx %u: queues %u status %#x error %u job %u command %u%s\n", hw,
		   ctx->num_queues, axl_read32(axl, AXL_REG_CTX_STATUS(hw)),
		   axl_read32(axl, AXL_REG_CTX_ERROR(hw)),
		   axl_read32(axl, AXL_REG_CTX_ERR_JOB(hw)),
		   axl_read32(axl, AXL_REG_CTX_ERR_INDEX(hw)), ctx->dead ? " dead" : "");
}

static int axl_state_show(struct seq_file *m, void *data)
{
	struct axl_device *axl = m->private;
	int idx;
	u32 i;

	seq_printf(m, "state %s\n", axl_state_name(axl));
	if (axl_enter(axl, &idx))
		return 0;
	seq_printf(m, "status %#x interrupts %#x mask %#x\n", axl_read32(axl, AXL_REG_STATUS),
		   axl_read32(axl, AXL_REG_INT_STATUS), axl_read32(axl, AXL_REG_INT_MASK));
	for (i = 0; i < AXL_NUM_ENGINES; i++)
		seq_printf(m, "engine %u: job %u command %u depth %u\n", i,
			   axl_read32(axl, AXL_REG_ENG_JOB(i)),
			   axl_read32(axl, AXL_REG_ENG_INDEX(i)),
			   axl_read32(axl, AXL_REG_ENG_DEPTH(i)));
	mutex_lock(&axl->lock);
	for (i = 0; i < axl->num_contexts; i++)
		axl_dump_ctx(m, axl, i);
	for (i = 0; i < axl->num_queues; i++)
		axl_dump_queue(m, axl, &axl->hwq[i]);
	for (i = 0; i < axl->num_rings; i++)
		if (axl->rings[i].header)
			seq_printf(m, "trace ring %u: produced %llu lost %llu%s\n", i,
				   axl_read64(axl, AXL_REG_TR_PRODUCED(i)),
				   axl_read64(axl, AXL_REG_TR_LOST(i)),
				   axl->rings[i].running ? " running" : "");
	mutex_unlock(&axl->lock);
	axl_exit(axl, idx);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(axl_state);

void axl_debugfs_add_device(struct axl_device *axl)
{
	axl->debugfs = debugfs_create_dir(dev_name(&axl->dev), axl_debugfs_root);
	debugfs_create_file("state", 0400, axl->debugfs, axl, &axl_state_fops);
}

void axl_debugfs_remove_device(struct axl_device *axl)
{
	debugfs_remove_recursive(axl->debugfs);
}

void axl_debugfs_init(void)
{
	axl_debugfs_root = debugfs_create_dir("axl", NULL);
}

void axl_debugfs_exit(void)
{
	debugfs_remove_recursive(axl_debugfs_root);
}
