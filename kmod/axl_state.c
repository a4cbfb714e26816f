// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: failures of contexts and of the device, and their uevents.
 *
 * Failures are only recorded here, since completion and register access may run in interrupt
 * context. The work item axl->recover handles them in axl_reset.c; it is how these layers reach the
 * recovery layer above them.
 */
#include <linux/kobject.h>

#include "axl_dev.h"

/* Marks the device as lost; recovery wakes all waiters. */
void axl_set_gone(struct axl_device *axl)
{
	WRITE_ONCE(axl->closed, true);
	if (!xchg(&axl->gone, true))
		schedule_work(&axl->recover);
}

/* Makes recovery check a context for an error. Callable from any context. */
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
