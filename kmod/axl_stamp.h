/* SPDX-License-Identifier: GPL-2.0 */
/*
 * axl.ko: cheap stamps for instants that lie close to one whose time is read in
 * full. A stamp is a TSC value where the kernel trusts the TSC, else nanoseconds; the distance of
 * two becomes nanoseconds by the TSC's calibrated rate, from which CLOCK_MONOTONIC may be
 * slewed by 500 ppm: half a nanosecond for each microsecond between them. Room: kmod.
 */
#ifndef _AXL_STAMP_H
#define _AXL_STAMP_H

#include <linux/math64.h>
#include <linux/timekeeping.h>

#ifdef CONFIG_X86_64
#include <asm/tsc.h>

#define AXL_STAMP_MAX BIT_ULL(42)	/* the product below stays within 64 bits */

extern bool axl_stamp_tsc;

static inline u64 axl_stamp(void)
{
	return likely(axl_stamp_tsc) ? rdtsc_ordered() : ktime_get_mono_fast_ns();
}

/* Never negative: CPUs whose TSCs differ must not turn the order of events. */
static inline u64 axl_stamp_ns(u64 from, u64 to)
{
	u64 distance = to > from ? min_t(u64, to - from, AXL_STAMP_MAX) : 0;

	return likely(axl_stamp_tsc) ? mul_u64_u32_div(distance, 1000000, tsc_khz) : distance;
}
#else
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

#endif /* _AXL_STAMP_H */
