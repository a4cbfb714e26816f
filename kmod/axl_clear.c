// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: free device memory is zero.
 *
 * It is cleared at probe and when a buffer is freed. Memory that could not be cleared then, because
 * the device was offline or failed, is cleared before the next allocation. Callers hold axl->lock.
 */
#include <linux/delay.h>
#include <linux/math64.h>

#include "axl_memory.h"

#define AXL_CLEAR_SPINS		20	/* of a microsecond: enough for half a MiB */
#define AXL_CLEAR_MAX_US	(60 * USEC_PER_SEC)

static int axl_clear(struct axl_device *axl, u64 start, u64 bytes)
{
	u64 rate = axl_read64(axl, AXL_REG_DRAM_BPS);
	u64 limit_us;
	u32 status;
	int i;

	if (!axl_accessible(axl))
		return axl_gone_error(axl);
	/* An earlier clear may have timed out; another one must not begin until it is done. */
	if (axl_wait_clear32(axl, AXL_REG_CLEAR_CTRL, AXL_CLEAR_BUSY, AXL_CLEAR_MAX_US))
		return -EIO;
	/* Allow twice the expected time. */
	limit_us = min_t(u64, AXL_CLEAR_MAX_US, USEC_PER_SEC +
			 mul_u64_u64_div_u64(bytes, 2 * USEC_PER_SEC, max(rate, 1ULL)));
	axl_write64(axl, AXL_REG_CLEAR_BASE, start);
	axl_write64(axl, AXL_REG_CLEAR_BYTES, bytes);
	axl_write32(axl, AXL_REG_CLEAR_CTRL, AXL_CLEAR_BUSY);
	for (i = 0; i < AXL_CLEAR_SPINS; i++) {
		if (!(axl_read32(axl, AXL_REG_CLEAR_CTRL) & AXL_CLEAR_BUSY))
			break;
		udelay(1);
	}
	if (axl_wait_clear32(axl, AXL_REG_CLEAR_CTRL, AXL_CLEAR_BUSY, limit_us))
		return -EIO;
	status = axl_read32(axl, AXL_REG_CLEAR_CTRL);
	if (!axl_accessible(axl))
		return axl_gone_error(axl);
	return status ? -EIO : 0;
}

/* Clears a buffer's memory before it is freed. */
void axl_clear_range(struct axl_device *axl, u64 start, u64 bytes)
{
	lockdep_assert_held(&axl->lock);
	if (axl->features & AXL_FEATURE_CLEAR && axl_clear(axl, start, bytes))
		axl->unclean = true;
}

static int axl_clear_space(struct axl_device *axl, struct axl_space *space)
{
	u64 at = space->start;
	struct axl_range *range;
	int err;

	list_for_each_entry(range, &space->taken, link) {
		err = range->start > at ? axl_clear(axl, at, range->start - at) : 0;
		if (err)
			return err;
		at = range->start + range->bytes;
	}
	return space->end > at ? axl_clear(axl, at, space->end - at) : 0;
}

/* Called before an allocation, which fails if free memory is not zero. */
int axl_clear_free(struct axl_device *axl)
{
	int err;

	lockdep_assert_held(&axl->lock);
	if (!axl->unclean || !(axl->features & AXL_FEATURE_CLEAR))
		return 0;
	err = axl_clear_space(axl, &axl->dram);
	if (!err)
		err = axl_clear_space(axl, &axl->scratch);
	if (!err)
		axl->unclean = false;
	return err;
}
