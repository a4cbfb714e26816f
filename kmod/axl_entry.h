/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: the entry layer: what the kernel calls. See axl_dev.h. */
#ifndef _AXL_ENTRY_H
#define _AXL_ENTRY_H

#include <linux/interrupt.h>

#include "axl_dev.h"

/* axl_info.c */
int axl_ioctl_info(struct axl_ucmd *ucmd);
int axl_read_identity(struct axl_device *axl);

/* axl_cdev.c */
int axl_cdev_init(void);
void axl_cdev_exit(void);
struct axl_device *axl_alloc(struct pci_dev *pdev);
int axl_cdev_add(struct axl_device *axl);
void axl_cdev_del(struct axl_device *axl);

/* axl_irq.c */
irqreturn_t axl_irq_queue(int irq, void *data);
irqreturn_t axl_irq_device(int irq, void *data);

/* axl_pm.c */
extern const struct pci_error_handlers axl_error_handlers;
extern const struct dev_pm_ops axl_pm_ops;

#endif /* _AXL_ENTRY_H */
