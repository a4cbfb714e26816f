/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the PCIe link as configuration space and the guest see it: capabilities,
 * payload sizes from DEVCTL, speed and width. timing/link.c has the cost of
 * using it.
 */
#include "qemu-device/frontend/frontend.h"
#include "qemu-device/observe/observe.h"
#include "qemu-device/pci/state.h"

static unsigned axl_pcie_size_code(unsigned bytes)
{
    return ctz32(bytes) - 7; /* 128 bytes = 0 */
}

/* Payload sizes from DEVCTL, unless a knob fixes them. */
static void axl_pcie_devctl(AxlState *s)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    uint8_t *cap = pdev->config + pdev->exp.exp_cap;
    uint8_t *wmask = pdev->wmask + pdev->exp.exp_cap;
    uint16_t ctl, mask;
    unsigned supported;

    if (!pdev->exp.exp_cap) {
        s->dev.timing.link.mps = s->dev.knob.pcie_mps ?: 256;
        s->dev.timing.link.mrrs = s->dev.knob.pcie_mrrs ?: 512;
        return;
    }
    ctl = pci_get_word(cap + PCI_EXP_DEVCTL);
    mask = pci_get_word(wmask + PCI_EXP_DEVCTL) | PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_READRQ;
    if (s->dev.knob.pcie_mps) {
        ctl = (ctl & ~PCI_EXP_DEVCTL_PAYLOAD) | axl_pcie_size_code(s->dev.knob.pcie_mps) << 5;
        mask &= ~PCI_EXP_DEVCTL_PAYLOAD;
    }
    if (s->dev.knob.pcie_mrrs) {
        ctl = (ctl & ~PCI_EXP_DEVCTL_READRQ) | axl_pcie_size_code(s->dev.knob.pcie_mrrs) << 12;
        mask &= ~PCI_EXP_DEVCTL_READRQ;
    }
    pci_set_word(cap + PCI_EXP_DEVCTL, ctl);
    pci_set_word(wmask + PCI_EXP_DEVCTL, mask);
    supported = pci_get_long(cap + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_PAYLOAD;
    s->dev.timing.link.mps = 128 << MIN((ctl & PCI_EXP_DEVCTL_PAYLOAD) >> 5, supported);
    s->dev.timing.link.mrrs = 128 << MIN((ctl & PCI_EXP_DEVCTL_READRQ) >> 12, 5);
}

/* Updates the link after a change of knobs or of the guest's configuration. */
void axl_pcie_update(AxlState *s)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    bool changed;
    unsigned gen, width;

    axl_account(&s->dev);
    changed = axl_link_update(&s->dev.timing);
    gen = s->dev.timing.link.gen;
    width = s->dev.timing.link.width;
    axl_pcie_devctl(s);
    if (pdev->exp.exp_cap) {
        uint8_t *sta = pdev->config + pdev->exp.exp_cap + PCI_EXP_LNKSTA;

        pci_set_word(sta, (pci_get_word(sta) & ~(PCI_EXP_LNKSTA_CLS | PCI_EXP_LNKSTA_NLW)) | gen |
                              width << 4);
    }
    if (changed && s->dev.knob.link_retrain_ns) {
        s->dev.timing.link.up_ns = s->dev.now + s->dev.knob.link_retrain_ns;
        axl_sim_at(&s->dev, AXL_EV_LINK_UP, s->dev.timing.link.up_ns);
    }
    axl_flow_update(&s->dev);
    if (changed) {
        axl_count(&s->dev, AXL_CTR_LINK_RETRAINS, 1);
        axl_trace_event(&s->dev, AXL_EV_LINK, -1, gen, width, 0);
        axl_truth_event(&s->dev, "link", "\"speed\":%u,\"width\":%u", gen, width);
        axl_bus_interrupt(&s->dev, AXL_INT_LINK);
    }
}

/* The PCI Express capability at power-on. */
void axl_pcie_config(AxlState *s, Error **errp)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    unsigned gen = s->dev.knob.pcie_gen, width = s->dev.knob.pcie_width;
    unsigned mps_code = s->dev.knob.pcie_mps ? axl_pcie_size_code(s->dev.knob.pcie_mps) : 2;
    uint32_t cap_long;
    uint8_t *cap;

    if (!pci_bus_is_express(pci_get_bus(pdev))) {
        return;
    }
    if (pcie_endpoint_cap_init(pdev, 0x80) < 0) {
        error_setg(errp, "axl: no room for the PCI Express capability");
        return;
    }
    cap = pdev->config + pdev->exp.exp_cap;
    cap_long = pci_get_long(cap + PCI_EXP_DEVCAP) & ~PCI_EXP_DEVCAP_PAYLOAD;
    pci_set_long(cap + PCI_EXP_DEVCAP, cap_long | MAX(mps_code, 2) | PCI_EXP_DEVCAP_EXT_TAG);
    pci_set_word(cap + PCI_EXP_DEVCTL, 2 << 12);
    cap_long = pci_get_long(cap + PCI_EXP_LNKCAP) & ~(PCI_EXP_LNKCAP_SLS | PCI_EXP_LNKCAP_MLW);
    pci_set_long(cap + PCI_EXP_LNKCAP, cap_long | gen | width << 4);
    pci_set_long(cap + PCI_EXP_LNKCAP2, ((1u << gen) - 1) << 1);
    pci_set_word(cap + PCI_EXP_LNKCTL2, gen);
    pcie_dev_ser_num_init(pdev, 0x100, 0x4c58410000000000ULL | s->dev.index);
    pcie_cap_deverr_init(pdev);
    pcie_cap_flr_init(pdev);
    pdev->exp.aer_log.log_max = PCIE_AER_LOG_MAX_DEFAULT;
    pcie_aer_init(pdev, PCI_ERR_VER, 0x140, PCI_ERR_SIZEOF, errp);
}

/* Resets the registers in configuration space that QEMU does not reset itself. */
void axl_pcie_reset(AxlState *s)
{
    PCIDevice *pdev = PCI_DEVICE(s);

    if (pdev->exp.exp_cap) {
        pcie_cap_deverr_reset(pdev);
    }
}

/* Handles acknowledged errors and a function-level reset. */
void axl_pcie_config_written(AxlState *s, uint32_t addr, uint32_t v, int len)
{
    PCIDevice *pdev = PCI_DEVICE(s);

    if (pdev->exp.aer_cap) {
        pcie_aer_write_config(pdev, addr, v, len);
    }
    if (pdev->exp.exp_cap) {
        pcie_cap_flr_write_config(pdev, addr, v, len);
    }
}
