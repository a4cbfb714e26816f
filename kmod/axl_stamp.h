/* SPDX-License-Identifier: GPL-2.0 */
/*
 * axl.ko: cheap stamps for instants that lie close to one whose time is read in
 * full. A stamp is a TSC value where the kernel trusts the TSC, else nanoseconds; the distance of
 * two becomes nanoseconds by the TSC's calibrated rate, from which CLOCK_MONOTONIC may be
 * slewed by 500 ppm: half a nanosecond for each microsecond between them.
 */
#ifndef _AXL_STAMP_H
#define _AXL_STAMP_H

#include <linux/bits.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/timekeeping.h>

#ifdef CONFIG_X86_64
#include <asm/tsc.h>

#define AXL_STAMP_MAX BIT_ULL(42)	/* the product below stays within 64 bits */

extern bool axl_stamp_tsc;

static inline u64 axl_stamp(void)
{
	return likely(axl_stamp_tsc) ? rdtsc_ordered() : ktime_get_mono_fast_ns();
}

/* Never negative: CPUs whose TSCs differ must not reverse the order of events. */
static inline u64 axl_stamp_ns(u64 from, u64 to)
{
	u64 distance = to > from ? min_t(u64, to - from, AXL_STAMP_MAX) : 0;

	return likely(axl_stamp_tsc) ? mul_u64_u32_div(distance, 1000000, tsc_khz) : distance;
}

/* Of less than axl_anchor_stamps. */
static inline u64 axl_near_stamps_ns(u64 distance)
{
	return likely(axl_stamp_tsc) ? div_u64(distance * 1000000, tsc_khz) : distance;
}

static inline u32 axl_stamp_khz(void)
{
	return axl_stamp_tsc ? tsc_khz : 0;
}

/* The way back, up to an hour: so many that axl_stamp_ns() gives at least as much again. */
static inline u64 axl_stamps(u64 ns)
{
	u64 stamps;

	ns = min_t(u64, ns, 3600 * NSEC_PER_SEC);
	if (!axl_stamp_tsc)
		return ns;
	stamps = mul_u64_u32_div(ns, tsc_khz, 1000000);
	return stamps + (mul_u64_u32_div(stamps, 1000000, tsc_khz) < ns);
}
#else
static inline u32 axl_stamp_khz(void)
{
	return 0;
}

static inline u64 axl_stamps(u64 ns)
{
	return ns;
}

static inline u64 axl_near_stamps_ns(u64 distance)
{
	return distance;
}

static inline u64 axl_stamp(void)
{
	return ktime_get_mono_fast_ns();
}

static inline u64 axl_stamp_ns(u64 from, u64 to)
{
	return to > from ? to - from : 0;
}
#endif

void axl_stamp_init(void);

/*
 * An instant known both ways: its time lies between two stamps, which a loaded hypervisor takes
 * apart by a microsecond and more. What must not be too late, as it precedes something of the
 * device's, counts from the later stamp; what must not be too early, as it follows something of
 * the device's, from the earlier one. It serves the stamps around it; an older one than
 * AXL_ANCHOR_NS is read anew, so that a time is off by 10 ns at most, and to its side by what lay
 * between the two. Whoever calls holds the lock that guards it.
 */
struct axl_anchor {
	u64 stamp;		/* not before ns */
	u64 ns;
	u64 early_stamp;	/* not after ns */
};

#define AXL_ANCHOR_NS	20000

extern u64 axl_anchor_stamps;	/* as many stamps */

void axl_anchor_read(struct axl_anchor *anchor);

static __always_inline void axl_anchor_renew(struct axl_anchor *anchor, u64 stamp)
{
	if (likely((s64)(stamp - anchor->stamp) < (s64)axl_anchor_stamps))
		return;
	axl_anchor_read(anchor);
}

u64 axl_anchor_far_ns(struct axl_anchor *anchor, u64 stamp);

u64 axl_anchor_far_after_ns(struct axl_anchor *anchor, u64 stamp);

/*
 * A time that is not too late, of what precedes something of the device's. Mostly a fresh anchor
 * just before the stamp: that product stays within 64 bits.
 */
static __always_inline u64 axl_anchor_ns(struct axl_anchor *anchor, u64 stamp)
{
	u64 distance = stamp - anchor->stamp;

	if (unlikely(distance >= axl_anchor_stamps))
		return axl_anchor_far_ns(anchor, stamp);
	return anchor->ns + axl_near_stamps_ns(distance);
}

/* A time that is not too early, of what follows something of the device's. */
static __always_inline u64 axl_anchor_after_ns(struct axl_anchor *anchor, u64 stamp)
{
	u64 distance = stamp - anchor->early_stamp;

	if (unlikely(distance >= axl_anchor_stamps))
		return axl_anchor_far_after_ns(anchor, stamp);
	return anchor->ns + axl_near_stamps_ns(distance);
}

#endif /* _AXL_STAMP_H */
