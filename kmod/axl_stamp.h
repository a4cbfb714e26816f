/* SPDX-License-Identifier: GPL-2.0 */
/*
 * axl.ko: cheap timestamps for instants close to one whose full time is read. A stamp is a TSC
 * value if the kernel trusts the TSC, else nanoseconds. The distance of two stamps is converted to
 * nanoseconds by the TSC's calibrated rate. CLOCK_MONOTONIC may be slewed against that by 500 ppm,
 * which is an error of half a nanosecond per microsecond of distance.
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

/* Never negative: differing TSCs must not reverse the order of events. */
static inline u64 axl_stamp_ns(u64 from, u64 to)
{
	u64 distance = to > from ? min_t(u64, to - from, AXL_STAMP_MAX) : 0;

	return likely(axl_stamp_tsc) ? mul_u64_u32_div(distance, 1000000, tsc_khz) : distance;
}

/* Faster; valid only for distances below axl_anchor_stamps. */
static inline u64 axl_near_stamps_ns(u64 distance)
{
	return likely(axl_stamp_tsc) ? div_u64(distance * 1000000, tsc_khz) : distance;
}

static inline u32 axl_stamp_khz(void)
{
	return axl_stamp_tsc ? tsc_khz : 0;
}

/* The inverse, for up to an hour, rounded up: axl_stamp_ns() of the result is at least ns. */
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
 * A pair of a CLOCK_MONOTONIC time and the two stamps read before and after it, which a loaded
 * hypervisor may separate by a microsecond or more. Times that must not be too late, because they
 * precede a device event, count from the later stamp; times that must not be too early, because
 * they follow a device event, from the earlier one. An anchor older than AXL_ANCHOR_NS is read
 * again, so that slewing adds at most 10 ns to the error. The caller holds the lock that protects
 * the anchor.
 */
struct axl_anchor {
	u64 stamp;		/* not before ns */
	u64 ns;
	u64 early_stamp;	/* not after ns */
};

#define AXL_ANCHOR_NS	20000

extern u64 axl_anchor_stamps;	/* in stamps */

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
 * Returns a time that is not too late, for an event that precedes a device event. The anchor is
 * usually fresh and just before the stamp, so the product fits 64 bits.
 */
static __always_inline u64 axl_anchor_ns(struct axl_anchor *anchor, u64 stamp)
{
	u64 distance = stamp - anchor->stamp;

	if (unlikely(distance >= axl_anchor_stamps))
		return axl_anchor_far_ns(anchor, stamp);
	return anchor->ns + axl_near_stamps_ns(distance);
}

/* Returns a time that is not too early, for an event that follows a device event. */
static __always_inline u64 axl_anchor_after_ns(struct axl_anchor *anchor, u64 stamp)
{
	u64 distance = stamp - anchor->early_stamp;

	if (unlikely(distance >= axl_anchor_stamps))
		return axl_anchor_far_after_ns(anchor, stamp);
	return anchor->ns + axl_near_stamps_ns(distance);
}

#endif /* _AXL_STAMP_H */
