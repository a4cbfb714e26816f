// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: stamps and the anchors that turn them into times, see axl_stamp.h.
 */
#include <linux/cache.h>
#include <linux/init.h>
#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>
#endif

#include "axl_stamp.h"

#define AXL_ANCHOR_TRIES 4

u64 axl_anchor_stamps __ro_after_init;

#ifdef CONFIG_X86_64
bool axl_stamp_tsc __ro_after_init;

void __init axl_stamp_init(void)
{
	axl_stamp_tsc = tsc_khz && boot_cpu_has(X86_FEATURE_TSC) && !check_tsc_unstable();
	axl_anchor_stamps = axl_stamps(AXL_ANCHOR_NS);
}
#else
void __init axl_stamp_init(void)
{
	axl_anchor_stamps = AXL_ANCHOR_NS;
}
#endif

/*
 * Interrupts are off, but a hypervisor may take the CPU away between the two reads: then they do
 * not belong together, and every time computed from them would be wrong. The closest pair is taken.
 */
void axl_anchor_read(struct axl_anchor *anchor)
{
	u64 enough = axl_anchor_stamps / 16, best = ~0ULL;
	unsigned int i;

	for (i = 0; i < AXL_ANCHOR_TRIES && best > enough; i++) {
		u64 before = axl_stamp();
		u64 ns = ktime_get_mono_fast_ns();
		u64 after = axl_stamp();

		if (after - before >= best)
			continue;
		best = after - before;
		anchor->ns = ns;
		anchor->stamp = after;
	}
}

/* An anchor that is old, or was read by another CPU after the stamp. */
u64 axl_anchor_far_ns(struct axl_anchor *anchor, u64 stamp)
{
	axl_anchor_renew(anchor, stamp);
	if (stamp < anchor->stamp)
		return anchor->ns - axl_stamp_ns(stamp, anchor->stamp);
	return anchor->ns + axl_stamp_ns(anchor->stamp, stamp);
}
