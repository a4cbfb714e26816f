// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: PCI driver of the axl accelerator.
 *
 * Probe is a list of steps, each managed or followed by its undo action. Removal runs these actions
 * in reverse order, so there is no remove().
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "axl_entry.h"
#include "axl_memory.h"
#include "axl_tools.h"

static void axl_put(void *data)
{
	struct axl_device *axl = data;

	put_device(&axl->dev);
}

static void axl_stop(void *data)
{
	struct axl_device *axl = data;

	axl_hw_stop(axl);
	axl_set_gone(axl);
	cancel_work_sync(&axl->recover);
}

static void axl_remove_cdev(void *data)
{
	axl_cdev_del(data);
}

/* Interfaces for tools; the device works without them. */
static void axl_remove_tools(void *data)
{
	axl_debugfs_remove_device(data);
	axl_ptp_remove_device(data);
	axl_pmu_remove_device(data);
}

static int axl_add_tools(struct axl_device *axl)
{
	int err;

	err = axl_pmu_add_device(axl);
	if (err)
		dev_warn(&axl->dev, "no perf events: error %d\n", err);
	err = axl_ptp_add_device(axl);
	if (err)
		dev_warn(&axl->dev, "no PTP clock: error %d\n", err);
	axl_debugfs_add_device(axl);
	return devm_add_action_or_reset(&axl->pdev->dev, axl_remove_tools, axl);
}

static int axl_setup_irqs(struct axl_device *axl)
{
	struct device *dev = &axl->pdev->dev;
	u32 count = 1 + axl->num_queues;
	int err;
	u32 i;

	/* The vectors are freed automatically, since pcim_enable_device() enabled the device. */
	err = pci_alloc_irq_vectors(axl->pdev, count, count, PCI_IRQ_MSIX);
	if (err < 0)
		return dev_err_probe(dev, err, "needs %u MSI-X vectors\n", count);
	err = devm_request_threaded_irq(dev, pci_irq_vector(axl->pdev, AXL_MSIX_DEVICE), NULL,
					axl_irq_device, IRQF_ONESHOT, "axl", axl);
	for (i = 0; !err && i < axl->num_queues; i++)
		err = devm_request_irq(dev, pci_irq_vector(axl->pdev, AXL_MSIX_QUEUE(i)),
				       axl_irq_queue, 0, "axl-queue", &axl->hwq[i]);
	if (err)
		return dev_err_probe(dev, err, "interrupts\n");
	return 0;
}

static int axl_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct device *dev = &pdev->dev;
	struct axl_device *axl;
	int err;

	axl = axl_alloc(pdev);
	if (IS_ERR(axl))
		return PTR_ERR(axl);
	err = devm_add_action_or_reset(dev, axl_put, axl);
	if (err)
		return err;
	pci_set_drvdata(pdev, axl);

	err = pcim_enable_device(pdev);
	if (err)
		return dev_err_probe(dev, err, "cannot enable\n");
	axl->regs = pcim_iomap_region(pdev, AXL_BAR_REGS, "axl");
	if (IS_ERR(axl->regs))
		return dev_err_probe(dev, PTR_ERR(axl->regs), "no register BAR\n");
	if (pci_resource_len(pdev, AXL_BAR_REGS) < AXL_REGS_BYTES)
		return dev_err_probe(dev, -ENODEV, "register BAR is too small\n");

	err = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	if (err)
		return dev_err_probe(dev, err, "no 64-bit DMA\n");
	dma_set_max_seg_size(dev, SZ_1G);

	err = axl_read_identity(axl);
	if (err)
		return err;

	/* DMA may run from here on; on removal it is stopped before bus mastering. */
	pci_set_master(pdev);
	err = axl_hw_start(axl);
	if (err)
		return dev_err_probe(dev, err, "does not start\n");
	err = devm_add_action_or_reset(dev, axl_stop, axl);
	if (err)
		return err;
	/* A former owner of the device may have left data. */
	mutex_lock(&axl->lock);
	axl->unclean = true;
	err = axl_clear_free(axl);
	mutex_unlock(&axl->lock);
	/* It is attempted again before the first allocation. */
	if (err)
		dev_warn(dev, "does not clear its memory: error %d\n", err);
	err = axl_setup_irqs(axl);
	if (err)
		return err;
	/* Saves the state that axl_slot_reset() restores after a bus reset. */
	pci_save_state(pdev);

	/*
	 * Added before the character device, so that user space finds everything once the node
	 * exists.
	 */
	err = axl_add_tools(axl);
	if (err)
		return err;
	err = axl_cdev_add(axl);
	if (err)
		return dev_err_probe(dev, err, "no character device\n");
	err = devm_add_action_or_reset(dev, axl_remove_cdev, axl);
	if (err)
		return err;

	dev_info(dev, "axl%u: %u queues, %u contexts, %llu MiB, clock %llu Hz\n", axl->index,
		 axl->num_queues, axl->num_contexts, axl->dram.end >> 20, axl->clock_hz);
	return 0;
}

static const struct pci_device_id axl_ids[] = {
	{ PCI_DEVICE(AXL_PCI_VENDOR_ID, AXL_PCI_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, axl_ids);

static struct pci_driver axl_driver = {
	.name = "axl",
	.id_table = axl_ids,
	.probe = axl_probe,
	.err_handler = &axl_error_handlers,
	.driver.pm = pm_sleep_ptr(&axl_pm_ops),
};

static int __init axl_init(void)
{
	int err;

	axl_stamp_init();
	axl_sysfs_init();
	err = axl_cdev_init();
	if (err)
		return err;
	err = axl_pmu_init();
	if (err)
		goto cdev;
	axl_debugfs_init();
	err = pci_register_driver(&axl_driver);
	if (err)
		goto pmu;
	return 0;

pmu:
	axl_debugfs_exit();
	axl_pmu_exit();
cdev:
	axl_cdev_exit();
	return err;
}
module_init(axl_init);

static void __exit axl_exit_module(void)
{
	pci_unregister_driver(&axl_driver);
	axl_debugfs_exit();
	axl_pmu_exit();
	axl_cdev_exit();
}
module_exit(axl_exit_module);

MODULE_DESCRIPTION("axl PCIe machine-learning accelerator");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("GPL");
