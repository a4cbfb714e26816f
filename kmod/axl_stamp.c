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

/* The anchor's error at that stamp; the clock may be slewed by 500 ppm. */
static u64 axl_anchor_slack(const struct axl_anchor *anchor, u64 stamp)
{
	if (!anchor->stamp || stamp < anchor->stamp)
		return ~0ULL;
	return anchor->stamp - anchor->early_stamp + (stamp - anchor->stamp) / 2000;
}

/*
 * Interrupts are off, but a hypervisor may preempt the CPU between the two reads, and every time
 * computed from such a pair would be wrong. So the closest of several pairs is used, which may be
 * the one read before.
 */
void axl_anchor_read(struct axl_anchor *anchor)
{
	u64 enough = axl_anchor_stamps / 16, best = ~0ULL;
	struct axl_anchor found = { 0 };
	unsigned int i;

	for (i = 0; i < AXL_ANCHOR_TRIES && best > enough; i++) {
		u64 before = axl_stamp();
		u64 ns = ktime_get_mono_fast_ns();
		u64 after = axl_stamp();

		if (after - before >= best)
			continue;
		best = after - before;
		found.ns = ns;
		found.stamp = after;
		found.early_stamp = before;
	}
	if (best <= enough || best < axl_anchor_slack(anchor, found.stamp))
		*anchor = found;
}

static u64 axl_anchored_ns(const struct axl_anchor *anchor, u64 from, u64 stamp)
{
	if (stamp < from)
		return anchor->ns - axl_stamp_ns(stamp, from);
	return anchor->ns + axl_stamp_ns(from, stamp);
}

/* Slow path: the anchor is old, or another CPU read it after the stamp. */
u64 axl_anchor_far_ns(struct axl_anchor *anchor, u64 stamp)
{
	axl_anchor_renew(anchor, stamp);
	return axl_anchored_ns(anchor, anchor->stamp, stamp);
}

u64 axl_anchor_far_after_ns(struct axl_anchor *anchor, u64 stamp)
{
	axl_anchor_renew(anchor, stamp);
	return axl_anchored_ns(anchor, anchor->early_stamp, stamp);
}
