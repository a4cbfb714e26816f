// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: whether the device works, as the layers below recovery find out and as
 * user space is informed.
 *
 * Both kinds of failure, of a context and of the whole device, are only noted
 * here: the work item axl->recover does the rest, in axl_reset.c. That is how
 * completion and register access, which may be in interrupt context, reach the
 * recovery layer above them.
 */
#include <linux/kobject.h>

#include "axl_dev.h"

/* The device is lost; recovery wakes everybody who waits for it. */
void axl_set_gone(struct axl_device *axl)
{
	WRITE_ONCE(axl->closed, true);
	if (!xchg(&axl->gone, true))
		schedule_work(&axl->recover);
}

/* A context may be in error: recovery looks at it. In any context. */
void axl_ctx_error(struct axl_device *axl, u32 hw)
{
	set_bit(hw, &axl->ctx_errors);
	schedule_work(&axl->recover);
}

const char *axl_state_name(struct axl_device *axl)
{
	if (READ_ONCE(axl->gone))
		return "lost";
	if (READ_ONCE(axl->closed))
		return "closing";
	return READ_ONCE(axl->offline) ? "offline" : "live";
}

/* KOBJ_CHANGE with AXL_EVENT=what, for udev rules and monitors. */
void axl_uevent(struct axl_device *axl, const char *what)
{
	char event[32], state[32];
	char *envp[3] = { event, state };

	snprintf(event, sizeof(event), "AXL_EVENT=%s", what);
	snprintf(state, sizeof(state), "AXL_STATE=%s", axl_state_name(axl));
	kobject_uevent_env(&axl->dev.kobj, KOBJ_CHANGE, envp);
}
