/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the driver's own trace ring, see axl_driver_ring.c. */
#ifndef AXL_DRIVER_RING_H
#define AXL_DRIVER_RING_H

#include <linux/jump_label.h>

#include "axl_dev.h"

DECLARE_STATIC_KEY_FALSE(axl_driver_ring_key);

/* Some device's ring is open. */
static __always_inline bool axl_driver_ring_on(void)
{
	return static_branch_unlikely(&axl_driver_ring_key);
}

/* A job is over, or in flight when asked; hwq->lock held. Arguments as of axl_job. */
void axl_driver_ring_job(struct axl_queue *q, const struct axl_job *job, u32 status, u64 ticks,
			 u64 irq_ns, u64 complete_ns);
/* A wait is over. Arguments as of axl_wake. */
void axl_driver_ring_wait(struct axl_queue *q, const struct axl_wait *cmd, u32 job,
			  u64 correlation, u32 status, u64 wait_ns);

#endif /* AXL_DRIVER_RING_H */
