/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the recovery layer: failed contexts, hangs, resets. See axl_dev.h. */
#ifndef _AXL_RECOVERY_H
#define _AXL_RECOVERY_H

#include "axl_dev.h"

/* axl_reset.c */
void axl_ctx_kill(struct axl_ctx *ctx, u32 status, u32 job, u32 index);
void axl_recover(struct work_struct *work);
void axl_watchdog(struct work_struct *work);
void axl_watchdog_arm(struct axl_device *axl);
void axl_fail_all(struct axl_device *axl);
void axl_wake_all(struct axl_device *axl);
void axl_device_reset(struct axl_device *axl);
void axl_rearm_rings(struct axl_device *axl);

#endif /* _AXL_RECOVERY_H */
