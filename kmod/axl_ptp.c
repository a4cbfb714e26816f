// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: the device clock as a PTP hardware clock.
 *
 * It counts nanoseconds since the device's zero at the device's nominal rate. The oscillator runs
 * free and cannot be set or steered, and traces need its raw time, so those operations return
 * EOPNOTSUPP. If the device has a PTM-like cross-timestamp, PTP_SYS_OFFSET_PRECISE is supported.
 */
#include <linux/ptp_clock_kernel.h>

#include "axl_tools.h"

#if IS_REACHABLE(CONFIG_PTP_1588_CLOCK)

static struct axl_device *axl_of_ptp(struct ptp_clock_info *info)
{
	return container_of(info, struct axl_device, ptp_info);
}

static int axl_ptp_adjfine(struct ptp_clock_info *info, long scaled_ppm)
{
	return -EOPNOTSUPP;
}

static int axl_ptp_adjtime(struct ptp_clock_info *info, s64 delta)
{
	return -EOPNOTSUPP;
}

static int axl_ptp_settime(struct ptp_clock_info *info, const struct timespec64 *ts)
{
	return -EOPNOTSUPP;
}

static int axl_ptp_enable(struct ptp_clock_info *info, struct ptp_clock_request *request, int on)
{
	return -EOPNOTSUPP;
}

static int axl_ptp_gettimex(struct ptp_clock_info *info, struct timespec64 *ts,
			    struct ptp_system_timestamp *sts)
{
	struct axl_device *axl = axl_of_ptp(info);
	unsigned long flags;
	u64 ticks;

	local_irq_save(flags);
	ptp_read_system_prets(sts);
	ticks = axl_read64(axl, AXL_REG_CLK_NOW);
	ptp_read_system_postts(sts);
	local_irq_restore(flags);
	if (!axl_accessible(axl))
		return -ENODEV;
	*ts = ns_to_timespec64(axl_ticks_to_ns(axl, axl_ticks_extend(axl, ticks)));
	return 0;
}

static int axl_ptp_getcrosststamp(struct ptp_clock_info *info,
				  struct system_device_crosststamp *stamp)
{
	struct axl_device *axl = axl_of_ptp(info);
	ktime_t *real = axl_stamp_real(stamp);
	u64 ticks;
	int err;

	if (!real)
		return -EOPNOTSUPP;
	err = axl_clock_cross(axl, &ticks, real, &stamp->sys_monoraw);
	if (err)
		return err;
	stamp->device = ns_to_ktime(axl_ticks_to_ns(axl, axl_ticks_extend(axl, ticks)));
	return 0;
}

/* A narrow clock must be read at least once per wrap to be extended. */
static long axl_ptp_aux_work(struct ptp_clock_info *info)
{
	struct axl_device *axl = axl_of_ptp(info);
	u64 turn_ns = axl_ticks_to_ns(axl, 1ULL << min(axl->clock_bits, 40u));
	u64 ticks;

	ticks = axl_read64(axl, AXL_REG_CLK_NOW);
	/* A device that is gone reads as all ones, which is not a time. */
	if (axl_accessible(axl))
		axl_ticks_extend(axl, ticks);
	return clamp_t(long, nsecs_to_jiffies(turn_ns / 4), 1, 60 * HZ);
}

int axl_ptp_add_device(struct axl_device *axl)
{
	axl->ptp_info = (struct ptp_clock_info){
		.owner = THIS_MODULE,
		.adjfine = axl_ptp_adjfine,
		.adjtime = axl_ptp_adjtime,
		.settime64 = axl_ptp_settime,
		.enable = axl_ptp_enable,
		.gettimex64 = axl_ptp_gettimex,
	};
	snprintf(axl->ptp_info.name, sizeof(axl->ptp_info.name), "axl%u", axl->index);
	if (axl->features & AXL_FEATURE_PTM)
		axl->ptp_info.getcrosststamp = axl_ptp_getcrosststamp;
	if (axl->clock_bits < 64)
		axl->ptp_info.do_aux_work = axl_ptp_aux_work;
	axl->ptp = ptp_clock_register(&axl->ptp_info, &axl->pdev->dev);
	if (IS_ERR(axl->ptp))
		return PTR_ERR(axl->ptp);
	if (axl->clock_bits < 64)
		ptp_schedule_worker(axl->ptp, 0);
	return 0;
}

void axl_ptp_remove_device(struct axl_device *axl)
{
	if (!IS_ERR_OR_NULL(axl->ptp))
		ptp_clock_unregister(axl->ptp);
	axl->ptp = NULL;
}

#else

int axl_ptp_add_device(struct axl_device *axl)
{
	return 0;
}

void axl_ptp_remove_device(struct axl_device *axl)
{
}

#endif
