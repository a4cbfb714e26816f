// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: PCIe error recovery, function reset and suspend, during which the device is not
 * accessible for a while.
 *
 * It loses its state, so all contexts are lost: their jobs end as canceled and later calls on them
 * return EIO. Buffers, files, mappings and trace rings stay, but not the contents of device memory.
 */
#include <linux/pci.h>
#include <linux/pm.h>

#include "axl_entry.h"
#include "axl_recovery.h"
#include "axl_trace_device.h"

/* Ends all register access. If the device is still reachable, stops it first. */
static void axl_go_offline(struct axl_device *axl, bool reachable)
{
	mutex_lock(&axl->lock);
	if (reachable)
		axl_hw_stop(axl);
	WRITE_ONCE(axl->offline, true);
	/* Pending DMA must not reach memory that failed jobs release. */
	pci_clear_master(axl->pdev);
	axl_fail_all(axl);
	mutex_unlock(&axl->lock);
	axl_uevent(axl, "offline");
}

static int axl_go_online(struct axl_device *axl)
{
	int err;

	pci_set_master(axl->pdev);
	/*
	 * Restoring the state, or a suspend, consumed the saved state; save it for the next bus
	 * reset.
	 */
	pci_save_state(axl->pdev);
	mutex_lock(&axl->lock);
	WRITE_ONCE(axl->offline, false);
	/* A read may have returned ones before the bus reported that it would recover. */
	if (!axl->removed) {
		WRITE_ONCE(axl->gone, false);
		WRITE_ONCE(axl->lost_sent, false);
		WRITE_ONCE(axl->closed, false);
	}
	trace_axl_reset(axl->index, AXL_CTX_NONE);
	axl_count(axl, AXL_STAT_DEVICE_RESETS);
	err = axl_hw_start(axl);
	/* On a reset on behalf of another function of the slot axl_go_offline() was not called. */
	axl_fail_all(axl);
	if (!err)
		axl_rearm_rings(axl);
	mutex_unlock(&axl->lock);
	if (err) {
		dev_err(&axl->dev, "the device does not come back: error %d\n", err);
		axl_set_gone(axl);
	} else {
		axl_uevent(axl, "online");
	}
	return err;
}

static pci_ers_result_t axl_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct axl_device *axl = pci_get_drvdata(pdev);

	axl_count(axl, AXL_STAT_BUS_ERRORS);
	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	if (state == pci_channel_io_perm_failure) {
		axl_set_gone(axl);
		return PCI_ERS_RESULT_DISCONNECT;
	}
	axl_go_offline(axl, false);
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t axl_slot_reset(struct pci_dev *pdev)
{
	struct axl_device *axl = pci_get_drvdata(pdev);

	pci_restore_state(pdev);
	return axl_go_online(axl) ? PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_RECOVERED;
}

/* An error that left the link up: any transfer in flight may have been lost. */
static pci_ers_result_t axl_mmio_enabled(struct pci_dev *pdev)
{
	struct axl_device *axl = pci_get_drvdata(pdev);

	axl_go_offline(axl, true);
	return axl_go_online(axl) ? PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_RECOVERED;
}

/* A reset through the sysfs file of the PCI core. */
static void axl_reset_prepare(struct pci_dev *pdev)
{
	axl_go_offline(pci_get_drvdata(pdev), true);
}

static void axl_reset_done(struct pci_dev *pdev)
{
	axl_go_online(pci_get_drvdata(pdev));
}

const struct pci_error_handlers axl_error_handlers = {
	.error_detected = axl_error_detected,
	.mmio_enabled = axl_mmio_enabled,
	.slot_reset = axl_slot_reset,
	.reset_prepare = axl_reset_prepare,
	.reset_done = axl_reset_done,
};

static int axl_suspend(struct device *dev)
{
	axl_go_offline(dev_get_drvdata(dev), true);
	return 0;
}

static int axl_resume(struct device *dev)
{
	return axl_go_online(dev_get_drvdata(dev));
}

const struct dev_pm_ops axl_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(axl_suspend, axl_resume)
};
