/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the tools layer: interfaces for monitoring. See axl_dev.h. */
#ifndef _AXL_TOOLS_H
#define _AXL_TOOLS_H

#include "axl_dev.h"

/* axl_counters.c */
int axl_ioctl_counters(struct axl_ucmd *ucmd);
int axl_counter_now(struct axl_device *axl, u32 counter, u64 *value, u64 *epoch);

/* axl_clock.c */
int axl_ioctl_clock_sample(struct axl_ucmd *ucmd);
u64 axl_ticks_extend(struct axl_device *axl, u64 ticks);
u64 axl_ticks_to_ns(struct axl_device *axl, u64 ticks);
int axl_clock_cross(struct axl_device *axl, u64 *ticks, ktime_t *real, ktime_t *raw);

/* axl_pmu.c */
int axl_pmu_init(void);
void axl_pmu_exit(void);
int axl_pmu_add_device(struct axl_device *axl);
void axl_pmu_remove_device(struct axl_device *axl);

/* axl_ptp.c */
int axl_ptp_add_device(struct axl_device *axl);
void axl_ptp_remove_device(struct axl_device *axl);

/* axl_sysfs.c */
extern const struct attribute_group *axl_dev_groups[];
void axl_sysfs_init(void);

/* axl_debugfs.c */
void axl_debugfs_init(void);
void axl_debugfs_exit(void);
void axl_debugfs_add_device(struct axl_device *axl);
void axl_debugfs_remove_device(struct axl_device *axl);

#endif /* _AXL_TOOLS_H */
