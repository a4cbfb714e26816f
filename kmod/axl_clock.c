// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: the device clock against the host's.
 *
 * A sample is one read of the device clock between two reads of the cycle counter. Around those,
 * two snapshots of the timekeeper each give an exact pair (cycles, CLOCK_MONOTONIC). The host times
 * of a sample are interpolated between the snapshots, so they name the same instants as the cycle
 * counts. The narrowest of a few tries, made with interrupts off, is used.
 */
#include <linux/bits.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#ifdef CONFIG_X86
#include <asm/tsc.h>
#endif

#include "axl_tools.h"
#include "axl_trace_device.h"

#define AXL_CLOCK_TRIES 4

/* The CPU's cycle counter, ordered against the register reads around it; 0 = not available. */
static u64 axl_cycles(void)
{
#ifdef CONFIG_X86
	return rdtsc_ordered();
#else
	return 0;
#endif
}

struct axl_instant {
	u64 cycles;
	u64 ns;			/* CLOCK_MONOTONIC */
	u64 real_ns;
	u64 raw_ns;
	unsigned int set_seq;	/* changes when the real-time clock is set */
	bool exact;		/* the timekeeper runs on this cycle counter */
};

static struct axl_instant axl_now(void)
{
	struct system_time_snapshot snap;
	struct axl_instant now;
	u64 before = axl_cycles();
	ktime_t real, raw;
	u64 after;

	axl_snapshot(&snap, &real, &raw);
	after = axl_cycles();
	now.cycles = snap.cycles;
	now.ns = ktime_to_ns(ktime_sub(real, ktime_mono_to_any(0, TK_OFFS_REAL)));
	now.real_ns = ktime_to_ns(real);
	now.raw_ns = ktime_to_ns(raw);
	now.set_seq = snap.clock_was_set_seq;
	now.exact = before && snap.cycles - before <= after - before;
	return now;
}

/* Whether cycles convert to ns linearly between a and b. */
static bool axl_frame_good(const struct axl_instant *a, const struct axl_instant *b)
{
	return a->exact && b->exact && a->set_seq == b->set_seq && b->cycles > a->cycles &&
	       b->cycles - a->cycles < U32_MAX && b->ns - a->ns < U32_MAX;
}

/* Interpolates cycles, which is between a and b, on a clock that read a_ns and b_ns there. */
static u64 axl_frame_at(const struct axl_instant *a, const struct axl_instant *b, u64 a_ns,
			u64 b_ns, u64 cycles, bool up)
{
	u64 range = b->cycles - a->cycles;
	u64 product = (cycles - a->cycles) * (b_ns - a_ns);

	return a_ns + div64_u64(up ? product + range - 1 : product, range);
}

static u64 axl_frame_ns(const struct axl_instant *a, const struct axl_instant *b, u64 cycles,
			bool up)
{
	return axl_frame_at(a, b, a->ns, b->ns, cycles, up);
}

static void axl_clock_try(struct axl_device *axl, struct axl_clock_sample *sample)
{
	struct axl_instant a = axl_now(), b;
	u64 ns_before = ktime_get_ns();

	sample->tsc_before = axl_cycles();
	sample->device_ticks = axl_read64(axl, AXL_REG_CLK_NOW);
	sample->tsc_after = axl_cycles();
	/* All readings are truncated to whole ns, so the bounds are rounded outwards. */
	sample->host_after_ns = ktime_get_ns() + 1;
	sample->host_before_ns = ns_before;
	b = axl_now();
	if (axl_frame_good(&a, &b)) {
		sample->host_before_ns = axl_frame_ns(&a, &b, sample->tsc_before, false);
		sample->host_after_ns = axl_frame_ns(&a, &b, sample->tsc_after, true) + 1;
	}
}

/*
 * Reads both clocks at one instant, as exactly as the link allows. A host time outside of the
 * request is rejected. snapshot_lock held.
 */
static bool axl_ptm_pair(struct axl_device *axl, u64 *ticks, u64 *cycles, struct axl_instant *a,
			 struct axl_instant *b)
{
	*a = axl_now();
	axl_write32(axl, AXL_REG_PTM_TRIGGER, 1);
	if (!(axl_read32(axl, AXL_REG_PTM_STATUS) & 1))
		return false;
	*ticks = axl_read64(axl, AXL_REG_PTM_DEVICE);
	*cycles = axl_read64(axl, AXL_REG_PTM_HOST);
	*b = axl_now();
	return axl_accessible(axl) && axl_frame_good(a, b) &&
	       *cycles - a->cycles <= b->cycles - a->cycles;
}

static void axl_clock_ptm(struct axl_device *axl, struct axl_clock_sample *sample)
{
	struct axl_instant a, b;
	u64 ticks, cycles;

	if (!axl_ptm_pair(axl, &ticks, &cycles, &a, &b))
		return;
	sample->ptm_device_ticks = ticks;
	sample->ptm_tsc = cycles;
	sample->ptm_host_ns = axl_frame_ns(&a, &b, cycles, false);
	sample->flags |= AXL_CLOCK_PTM;
}

/* A PTM pair in the clocks that PTP requires. */
int axl_clock_cross(struct axl_device *axl, u64 *ticks, ktime_t *real, ktime_t *raw)
{
	struct axl_instant a, b;
	unsigned long flags;
	u64 cycles;
	bool good;

	spin_lock_irqsave(&axl->snapshot_lock, flags);
	good = axl_ptm_pair(axl, ticks, &cycles, &a, &b);
	spin_unlock_irqrestore(&axl->snapshot_lock, flags);
	if (!axl_accessible(axl))
		return -ENODEV;
	if (!good)
		return -EAGAIN;
	*real = ns_to_ktime(axl_frame_at(&a, &b, a.real_ns, b.real_ns, cycles, false));
	*raw = ns_to_ktime(axl_frame_at(&a, &b, a.raw_ns, b.raw_ns, cycles, false));
	return 0;
}

/* Extends a clock of clock_bits beyond its wrap; axl_ptp.c reads it often enough. */
u64 axl_ticks_extend(struct axl_device *axl, u64 ticks)
{
	u64 mask = GENMASK_ULL(axl->clock_bits - 1, 0);
	unsigned long flags;

	if (axl->clock_bits == 64)
		return ticks;
	spin_lock_irqsave(&axl->snapshot_lock, flags);
	/* A small step back means that another CPU read first, not a whole wrap. */
	if (((ticks - axl->clock_last) & mask) <= mask / 2)
		axl->clock_last += (ticks - axl->clock_last) & mask;
	ticks = axl->clock_last - ((axl->clock_last - ticks) & mask);
	spin_unlock_irqrestore(&axl->snapshot_lock, flags);
	return ticks;
}

u64 axl_ticks_to_ns(struct axl_device *axl, u64 ticks)
{
	return mul_u64_u64_div_u64(ticks, NSEC_PER_SEC, axl->clock_hz);
}

static u64 axl_clock_width(const struct axl_clock_sample *sample)
{
	return sample->tsc_after != sample->tsc_before ?
	       sample->tsc_after - sample->tsc_before :
	       sample->host_after_ns - sample->host_before_ns;
}

static void axl_clock_read(struct axl_device *axl, struct axl_clock_sample *best)
{
	struct axl_clock_sample sample = {};
	unsigned long flags;
	u32 i;

	/* No interrupt inside a bracket, and exclusive use of the PTM registers. */
	spin_lock_irqsave(&axl->snapshot_lock, flags);
	for (i = 0; i < AXL_CLOCK_TRIES; i++) {
		axl_clock_try(axl, &sample);
		if (!i || axl_clock_width(&sample) < axl_clock_width(best))
			*best = sample;
	}
	if (axl->features & AXL_FEATURE_PTM)
		axl_clock_ptm(axl, best);
	spin_unlock_irqrestore(&axl->snapshot_lock, flags);
}

int axl_ioctl_clock_sample(struct axl_ucmd *ucmd)
{
	struct axl_device *axl = ucmd->file->axl;
	struct axl_clock_sample *cmd = ucmd->cmd;

	if (cmd->flags)
		return -EINVAL;
	axl_clock_read(axl, cmd);
	cmd->size = sizeof(*cmd);
	if (!axl_accessible(axl))
		return axl_gone_error(axl);
	trace_axl_clock_sample(axl->index, cmd->host_before_ns, cmd->device_ticks,
			       cmd->host_after_ns, cmd->tsc_before, cmd->tsc_after,
			       cmd->ptm_device_ticks, cmd->ptm_tsc, cmd->ptm_host_ns);
	return 0;
}
