// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: register access.
 *
 * A device that was unplugged answers every read with ones. The first such answer that the ID
 * register confirms ends all access: later reads return ones without touching the bus, later writes
 * are dropped.
 */
#include <linux/delay.h>
#include <linux/io-64-nonatomic-lo-hi.h>

#include "axl_dev.h"

static bool axl_present(struct axl_device *axl)
{
	if (readl(axl->regs + AXL_REG_ID) == AXL_ID_MAGIC)
		return true;
	/* A bus error is being handled; its recovery decides whether the device is gone. */
	if (READ_ONCE(axl->offline))
		return false;
	axl_set_gone(axl);
	return false;
}

u32 axl_read32(struct axl_device *axl, u32 reg)
{
	u32 value;

	if (unlikely(!axl_accessible(axl)))
		return ~0u;
	value = readl(axl->regs + reg);
	if (unlikely(value == ~0u))
		axl_present(axl);
	return value;
}

u64 axl_read64(struct axl_device *axl, u32 reg)
{
	u64 value;

	if (unlikely(!axl_accessible(axl)))
		return ~0ULL;
	value = readq(axl->regs + reg);
	if (unlikely(value == ~0ULL))
		axl_present(axl);
	return value;
}

void axl_write64(struct axl_device *axl, u32 reg, u64 value)
{
	if (likely(axl_accessible(axl)))
		writeq(value, axl->regs + reg);
}

/* Sleeps until all the bits are clear. A device that is gone no longer holds any resource. */
int axl_wait_clear32(struct axl_device *axl, u32 reg, u32 bits, unsigned int timeout_us)
{
	unsigned int waited_us = 0;

	for (;;) {
		u32 value = axl_read32(axl, reg);

		if (!axl_accessible(axl) || !(value & bits))
			return 0;
		if (waited_us >= timeout_us)
			return -ETIMEDOUT;
		usleep_range(50, 100);
		waited_us += 50;
	}
}

static int axl_hw_reset(struct axl_device *axl)
{
	unsigned long flags;

	axl_write32(axl, AXL_REG_INT_MASK, AXL_INT_ALL);
	spin_lock_irqsave(&axl->snapshot_lock, flags);
	axl_write32(axl, AXL_REG_CTRL, AXL_CTRL_RESET);
	axl->counter_epoch++;
	spin_unlock_irqrestore(&axl->snapshot_lock, flags);
	return axl_wait_clear32(axl, AXL_REG_CTRL, AXL_CTRL_RESET, 100 * 1000);
}

/* Resets the device to a known state and enables it. */
int axl_hw_start(struct axl_device *axl)
{
	int err;

	err = axl_hw_reset(axl);
	if (err)
		return err;
	axl_write32(axl, AXL_REG_CTRL, AXL_CTRL_ENABLE);
	axl_write32(axl, AXL_REG_INT_STATUS, AXL_INT_ALL);
	axl_write32(axl, AXL_REG_INT_MASK, 0);
	if (!(axl_read32(axl, AXL_REG_STATUS) & AXL_STATUS_READY))
		return -EIO;
	return READ_ONCE(axl->gone) ? -ENODEV : 0;
}

void axl_hw_stop(struct axl_device *axl)
{
	axl_hw_reset(axl);
}
