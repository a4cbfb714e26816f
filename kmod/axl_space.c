// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: allocation of device memory.
 *
 * First fit over a sorted list of taken ranges. The list is as long as there
 * are live device buffers, a few hundred in practice. Callers hold axl->lock.
 */
#include <linux/slab.h>

#include "axl_memory.h"

void axl_space_init(struct axl_space *space, u64 start, u64 end)
{
	INIT_LIST_HEAD(&space->taken);
	space->start = start;
	space->end = end;
	space->free_bytes = end - start;
}

int axl_space_take(struct axl_space *space, u64 bytes, u64 *start)
{
	struct list_head *before = &space->taken;
	u64 at = space->start;
	struct axl_range *range, *next;

	if (!bytes || bytes > space->free_bytes)
		return -ENOSPC;
	list_for_each_entry(next, &space->taken, link) {
		before = &next->link;
		if (next->start - at >= bytes)
			goto found;
		at = next->start + next->bytes;
	}
	before = &space->taken;
	if (space->end - at < bytes)
		return -ENOSPC;
found:
	range = kzalloc(sizeof(*range), GFP_KERNEL_ACCOUNT);
	if (!range)
		return -ENOMEM;
	range->start = at;
	range->bytes = bytes;
	list_add_tail(&range->link, before);
	space->free_bytes -= bytes;
	*start = at;
	return 0;
}

void axl_space_give(struct axl_space *space, u64 start)
{
	struct axl_range *range;

	list_for_each_entry(range, &space->taken, link) {
		if (range->start == start) {
			space->free_bytes += range->bytes;
			list_del(&range->link);
			kfree(range);
			return;
		}
	}
	WARN_ONCE(1, "axl: device range %#llx is not taken\n", start);
}

void axl_space_fini(struct axl_space *space)
{
	struct axl_range *range, *next;

	list_for_each_entry_safe(range, next, &space->taken, link) {
		list_del(&range->link);
		kfree(range);
	}
}
