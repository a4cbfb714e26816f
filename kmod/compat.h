/* SPDX-License-Identifier: GPL-2.0 */
/*
 * axl.ko: differences between kernels 6.1 to 7.3, in one place.
 *
 * Kbuild probes the headers for each feature and defines AXL_HAVE_*; the rest
 * of the driver is written for the newest kernel.
 */
#ifndef _AXL_COMPAT_H
#define _AXL_COMPAT_H

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/timekeeping.h>

#ifndef AXL_HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}
#endif

/* class::devnode took a mutable device before 6.2. */
#ifdef AXL_HAVE_DEVNODE_CONST
#define axl_devnode_arg const struct device
#else
#define axl_devnode_arg struct device
#endif

/* no_llseek became the default in 6.12, when the helper was removed. */
#ifdef AXL_HAVE_NO_LLSEEK
#define axl_llseek no_llseek
#else
#define axl_llseek noop_llseek
#endif

/* Requests and maps one BAR; the kernel has a function for this since 6.12. */
#ifndef AXL_HAVE_PCIM_IOMAP_REGION
static inline void __iomem *pcim_iomap_region(struct pci_dev *pdev, int bar, const char *name)
{
	int err = pcim_iomap_regions(pdev, BIT(bar), name);

	return err ? IOMEM_ERR_PTR(err) : pcim_iomap_table(pdev)[bar];
}
#endif

/* Reads counter, real time and raw time at one instant; 7.x takes the clock as an argument. */
static inline void axl_snapshot(struct system_time_snapshot *snap, ktime_t *real, ktime_t *raw)
{
#ifdef AXL_HAVE_SNAPSHOT_ID
	ktime_get_snapshot_id(CLOCK_REALTIME, snap);
	*real = snap->systime;
	*raw = snap->monoraw;
#else
	ktime_get_snapshot(snap);
	*real = snap->real;
	*raw = snap->raw;
#endif
}

/* The real time in a cross-timestamp; NULL if the cross-timestamp is of another clock. */
static inline ktime_t *axl_stamp_real(struct system_device_crosststamp *stamp)
{
#ifdef AXL_HAVE_SYS_SYSTIME
	return stamp->clock_id == CLOCK_REALTIME ? &stamp->sys_systime : NULL;
#else
	return &stamp->sys_realtime;
#endif
}

#endif /* _AXL_COMPAT_H */
