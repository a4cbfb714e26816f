// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: the device clock against the host's. Room: kmod.
 *
 * A sample is a device time between two host times. Of a few tries, made with
 * interrupts off, the one with the narrowest bracket is kept.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#ifdef CONFIG_X86
#include <asm/tsc.h>
#endif

#include "axl_dev.h"
#include "axl_trace.h"

#define AXL_CLOCK_TRIES 4

/* The CPU's cycle counter, in order with the register reads around it; 0 = there is none. */
static u64 axl_tsc(void)
{
#ifdef CONFIG_X86
	return rdtsc_ordered();
#else
	return 0;
#endif
}

/* A cycle count close to (tsc, ns) on CLOCK_MONOTONIC. */
static u64 axl_tsc_to_ns(u64 at, u64 tsc, u64 ns)
{
#ifdef CONFIG_X86
	s64 delta = at - tsc;
	u64 distance = abs(delta);

	if (!tsc_khz || distance > (u64)tsc_khz * 1000)
		return 0;
	distance = div_u64(distance * NSEC_PER_MSEC, tsc_khz);
	return delta < 0 ? ns - distance : ns + distance;
#else
	return 0;
#endif
}

static void axl_clock_try(struct axl_device *axl, struct axl_clock_sample *sample)
{
	sample->host_before_ns = ktime_get_ns();
	sample->tsc_before = axl_tsc();
	axl_write32(axl, AXL_REG_CLK_LATCH, 1);
	sample->device_ticks = axl_read64(axl, AXL_REG_CLK_LATCHED);
	sample->tsc_after = axl_tsc();
	sample->host_after_ns = ktime_get_ns();
}

/* Both clocks at one instant, as far as the link can tell. */
static void axl_clock_ptm(struct axl_device *axl, struct axl_clock_sample *sample)
{
	u64 ns = ktime_get_ns();
	u64 tsc = axl_tsc();

	axl_write32(axl, AXL_REG_PTM_TRIGGER, 1);
	if (!(axl_read32(axl, AXL_REG_PTM_STATUS) & 1))
		return;
	sample->ptm_device_ticks = axl_read64(axl, AXL_REG_PTM_DEVICE);
	sample->ptm_tsc = axl_read64(axl, AXL_REG_PTM_HOST);
	sample->ptm_host_ns = axl_tsc_to_ns(sample->ptm_tsc, tsc, ns);
	sample->flags |= AXL_CLOCK_PTM;
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

	/* Also keeps the latches ours. */
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
	if (READ_ONCE(axl->gone))
		return -ENODEV;
	trace_axl_clock_sample(axl->index, cmd->host_before_ns, cmd->device_ticks,
			       cmd->host_after_ns, cmd->tsc_before, cmd->tsc_after,
			       cmd->ptm_device_ticks, cmd->ptm_tsc, cmd->ptm_host_ns);
	return 0;
}
