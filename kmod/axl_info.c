// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: what the device reports about itself, checked once, and AXL_IOCTL_INFO.
 */
#include <linux/bitfield.h>

#include "axl_entry.h"
#include "axl_memory.h"

/* All values that the device reports are bounded here; the rest of the driver relies on it. */
int axl_read_identity(struct axl_device *axl)
{
	struct device *dev = &axl->pdev->dev;
	u32 id = axl_read32(axl, AXL_REG_ID);
	u32 caps = axl_read32(axl, AXL_REG_CAPS);
	u64 dram_bytes = axl_read64(axl, AXL_REG_DRAM_BYTES);

	axl->hw_version = axl_read32(axl, AXL_REG_VERSION);
	axl->features = axl_read32(axl, AXL_REG_FEATURES);
	axl->num_queues = AXL_CAPS_QUEUES(caps);
	axl->num_contexts = AXL_CAPS_CONTEXTS(caps);
	axl->num_rings = AXL_CAPS_TRACE_RINGS(caps);
	axl->num_counters = axl_read32(axl, AXL_REG_NUM_COUNTERS);
	axl->clock_bits = axl_read32(axl, AXL_REG_CLOCK_BITS);
	axl->clock_hz = axl_read64(axl, AXL_REG_CLOCK_HZ);
	axl->scratch_bytes = axl_read64(axl, AXL_REG_SCRATCH_BYTES);

	if (id != AXL_ID_MAGIC)
		return dev_err_probe(dev, -ENODEV, "ID register reads %#x, not an axl\n", id);
	if (axl->hw_version >> 16 != AXL_HW_VERSION_MAJOR)
		return dev_err_probe(dev, -ENODEV, "hardware version %u.%u is not supported\n",
				     axl->hw_version >> 16, axl->hw_version & 0xffff);
	if (!axl->num_queues || axl->num_queues > AXL_MAX_QUEUES ||
	    !axl->num_contexts || axl->num_contexts > AXL_MAX_CONTEXTS ||
	    axl->num_rings > AXL_MAX_TRACE_RINGS || axl->num_counters > AXL_MAX_COUNTERS ||
	    !axl->clock_bits || axl->clock_bits > 64 || !axl->clock_hz ||
	    dram_bytes > AXL_SCRATCHPAD_BASE || axl->scratch_bytes > AXL_SCRATCHPAD_BASE)
		return dev_err_probe(dev, -ENODEV, "capabilities out of range: caps %#x\n", caps);

	/* Address 0 is never allocated, so that applications can use it as "none". */
	axl_space_init(&axl->dram, min_t(u64, PAGE_SIZE, dram_bytes), dram_bytes & PAGE_MASK);
	axl_space_init(&axl->scratch, AXL_SCRATCHPAD_BASE,
		       AXL_SCRATCHPAD_BASE + (axl->scratch_bytes & PAGE_MASK));
	return 0;
}

int axl_ioctl_info(struct axl_ucmd *ucmd)
{
	struct axl_device *axl = ucmd->file->axl;
	struct axl_info *info = ucmd->cmd;
	u16 status = 0;
	u32 cap = 0;

	pcie_capability_read_word(axl->pdev, PCI_EXP_LNKSTA, &status);
	pcie_capability_read_dword(axl->pdev, PCI_EXP_LNKCAP, &cap);

	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->uapi_version = AXL_UAPI_VERSION;
	info->hw_version = axl->hw_version;
	info->features = axl->features;
	info->device_index = axl->index;
	info->num_queues = axl->num_queues;
	info->num_contexts = axl->num_contexts;
	info->num_counters = axl->num_counters;
	info->num_trace_rings = axl->num_rings;
	info->clock_bits = axl->clock_bits;
	info->clock_hz = axl->clock_hz;
	info->dram_bytes = axl->dram.end;
	mutex_lock(&axl->lock);
	info->dram_free_bytes = axl->dram.free_bytes;
	mutex_unlock(&axl->lock);
	info->scratch_bytes = axl->scratch_bytes;
	info->dram_bytes_per_s = axl_read64(axl, AXL_REG_DRAM_BPS);
	info->engine_hz = axl_read64(axl, AXL_REG_ENGINE_HZ);
	info->matrix_rows = axl_read32(axl, AXL_REG_MATRIX_ROWS);
	info->matrix_cols = axl_read32(axl, AXL_REG_MATRIX_COLS);
	info->vector_lanes = axl_read32(axl, AXL_REG_VECTOR_LANES);
	info->pci_domain = pci_domain_nr(axl->pdev->bus);
	info->pci_bus = axl->pdev->bus->number;
	info->pci_devfn = axl->pdev->devfn;
	info->link_speed = FIELD_GET(PCI_EXP_LNKSTA_CLS, status);
	info->link_width = FIELD_GET(PCI_EXP_LNKSTA_NLW, status);
	info->link_speed_max = FIELD_GET(PCI_EXP_LNKCAP_SLS, cap);
	info->link_width_max = FIELD_GET(PCI_EXP_LNKCAP_MLW, cap);
	info->numa_node = dev_to_node(&axl->pdev->dev);
	info->client = READ_ONCE(ucmd->file->client);
	strscpy(info->pci_name, pci_name(axl->pdev), sizeof(info->pci_name));
	return 0;
}
