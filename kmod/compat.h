/* SPDX-License-Identifier: GPL-2.0 */
/*
 * axl.ko: differences between kernels 6.1 and 7.x, in one place. Room: kmod.
 *
 * Kbuild probes the headers for each feature and defines AXL_HAVE_*; the rest
 * of the driver is written for the newest kernel.
 */
#ifndef _AXL_COMPAT_H
#define _AXL_COMPAT_H

#include <linux/fs.h>
#include <linux/mm.h>

#ifndef AXL_HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}
#endif

/* class::devnode took a mutable device until 6.2. */
#ifdef AXL_HAVE_DEVNODE_CONST
#define axl_devnode_arg const struct device
#else
#define axl_devnode_arg struct device
#endif

/* The default from 6.12 on, when the helper went away. */
#ifdef AXL_HAVE_NO_LLSEEK
#define axl_llseek no_llseek
#else
#define axl_llseek noop_llseek
#endif

#endif /* _AXL_COMPAT_H */
