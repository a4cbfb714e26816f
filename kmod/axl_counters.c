// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: an atomic snapshot of the device's counters.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "axl_tools.h"
#include "axl_trace_device.h"

/* The latch is shared by all readers of counters. */
static void axl_counters_snapshot(struct axl_device *axl, struct axl_counters_read *cmd,
				  u64 *values)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&axl->snapshot_lock, flags);
	cmd->host_before_ns = ktime_get_ns();
	axl_write32(axl, AXL_REG_CTR_LATCH, 1);
	cmd->device_ticks = axl_read64(axl, AXL_REG_CTR_TIME);
	cmd->host_after_ns = ktime_get_ns();
	for (i = 0; i < cmd->count; i++)
		values[i] = axl_read64(axl, AXL_REG_CTR(cmd->first + i));
	spin_unlock_irqrestore(&axl->snapshot_lock, flags);
}

static int axl_counters_read(struct axl_device *axl, struct axl_counters_read *cmd, u64 *values)
{
	bool fine;
	int idx;

	if (axl_enter(axl, &idx))
		return -ENODEV;
	axl_counters_snapshot(axl, cmd, values);
	fine = axl_accessible(axl);
	if (fine)
		trace_axl_counter_sample(axl->index, cmd->host_before_ns, cmd->device_ticks,
					 cmd->host_after_ns, cmd->first, cmd->count);
	axl_exit(axl, idx);
	return fine ? 0 : axl_gone_error(axl);
}

/* Reads one counter, for perf; not from NMI. A new epoch means that counters restarted at 0. */
int axl_counter_now(struct axl_device *axl, u32 counter, u64 *value, u64 *epoch)
{
	unsigned long flags;
	u64 now;

	spin_lock_irqsave(&axl->snapshot_lock, flags);
	axl_write32(axl, AXL_REG_CTR_LATCH, 1);
	now = axl_read64(axl, AXL_REG_CTR(counter));
	*epoch = axl->counter_epoch;
	spin_unlock_irqrestore(&axl->snapshot_lock, flags);
	if (!axl_accessible(axl))
		return axl_gone_error(axl);
	*value = now;
	return 0;
}

int axl_ioctl_counters(struct axl_ucmd *ucmd)
{
	struct axl_device *axl = ucmd->file->axl;
	struct axl_counters_read *cmd = ucmd->cmd;
	u64 *values;
	int err;

	if (cmd->flags || cmd->first > axl->num_counters)
		return -EINVAL;
	cmd->count = min(cmd->count, axl->num_counters - cmd->first);
	values = kcalloc(max(cmd->count, 1u), sizeof(*values), GFP_KERNEL);
	if (!values)
		return -ENOMEM;
	err = axl_counters_read(axl, cmd, values);
	if (!err && copy_to_user(u64_to_user_ptr(cmd->values), values,
				 cmd->count * sizeof(*values)))
		err = -EFAULT;
	kfree(values);
	return err;
}
