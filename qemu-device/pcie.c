/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the PCIe link. TLP counts and wire bytes of reads and writes in closed
 * form, the link's rate, and the configuration space that says the same.
 *
 * Arithmetic as in the PCI Express Base Specification: a read request may not
 * be longer than MRRS nor cross a 4 KiB boundary (requests end at multiples of
 * MRRS, which divides 4 KiB); completions carry up to MPS and all but the last
 * end at a multiple of the read completion boundary; writes end at multiples
 * of MPS. Up to generation 5 a TLP has 8 bytes of framing, sequence number and
 * LCRC around it; generation 6 sends 236 bytes of TLPs in each 256-byte flit.
 */
#include "axl.h"

#define HDR_REQUEST 16    /* four DW: 64-bit address */
#define HDR_COMPLETION 12
#define TLP_FRAMING 8
#define DLLP_PER_TLP 4    /* an ACK and an UpdateFC of 8 bytes for every 4 TLPs */

static const struct {
    double gt;
    unsigned num, den; /* of the raw bits, what carries TLPs and DLLPs */
} axl_link_rate[] = {
    { 0, 1, 1 },
    { 2.5, 8, 10 },
    { 5, 8, 10 },
    { 8, 128, 130 },
    { 16, 128, 130 },
    { 32, 128, 130 },
    { 64, 236, 256 },
};

static bool axl_pcie_flit(const AxlState *s)
{
    return s->link_gen >= 6;
}

/* Completions that answer one request. */
static uint64_t axl_pcie_cplds(const AxlState *s, uint64_t addr, uint64_t bytes)
{
    uint64_t rcb = s->knob.pcie_rcb;
    uint64_t first = QEMU_ALIGN_DOWN(addr + s->mps, rcb) - addr;

    return bytes <= first ? 1 : 1 + DIV_ROUND_UP(bytes - first, s->mps);
}

void axl_pcie_read_tlps(const AxlState *s, AxlTlps *t, uint64_t addr, uint64_t bytes)
{
    uint64_t mrrs = s->mrrs;
    uint64_t first = MIN(bytes, QEMU_ALIGN_DOWN(addr, mrrs) + mrrs - addr);
    uint64_t whole = (bytes - first) / mrrs;
    uint64_t last = (bytes - first) % mrrs;

    t->mrd += 1 + whole + !!last;
    t->cpld += axl_pcie_cplds(s, addr, first);
    if (whole) {
        t->cpld += whole * axl_pcie_cplds(s, 0, mrrs);
    }
    if (last) {
        t->cpld += axl_pcie_cplds(s, 0, last);
    }
}

void axl_pcie_write_tlps(const AxlState *s, AxlTlps *t, uint64_t addr, uint64_t bytes)
{
    t->mwr += (addr + bytes - 1) / s->mps - addr / s->mps + 1;
}

void axl_pcie_wire(const AxlState *s, AxlTlps *t, uint64_t read_bytes, uint64_t write_bytes)
{
    unsigned framing = axl_pcie_flit(s) ? 0 : TLP_FRAMING;
    unsigned dllp = axl_pcie_flit(s) ? 0 : DLLP_PER_TLP;

    t->rx_wire += read_bytes + t->cpld * (HDR_COMPLETION + framing) + (t->mrd + t->mwr) * dllp;
    t->tx_wire += write_bytes + (t->mrd + t->mwr) * (HDR_REQUEST + framing) + t->cpld * dllp;
}

static unsigned axl_pcie_size_code(unsigned bytes)
{
    return ctz32(bytes) - 7; /* 128 bytes = 0 */
}

/* Payload sizes from DEVCTL, unless a knob holds them. */
static void axl_pcie_devctl(AxlState *s)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    uint8_t *cap = pdev->config + pdev->exp.exp_cap;
    uint8_t *wmask = pdev->wmask + pdev->exp.exp_cap;
    uint16_t ctl, mask;
    unsigned supported;

    if (!pdev->exp.exp_cap) {
        s->mps = s->knob.pcie_mps ?: 256;
        s->mrrs = s->knob.pcie_mrrs ?: 512;
        return;
    }
    ctl = pci_get_word(cap + PCI_EXP_DEVCTL);
    mask = pci_get_word(wmask + PCI_EXP_DEVCTL) | PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_READRQ;
    if (s->knob.pcie_mps) {
        ctl = (ctl & ~PCI_EXP_DEVCTL_PAYLOAD) | axl_pcie_size_code(s->knob.pcie_mps) << 5;
        mask &= ~PCI_EXP_DEVCTL_PAYLOAD;
    }
    if (s->knob.pcie_mrrs) {
        ctl = (ctl & ~PCI_EXP_DEVCTL_READRQ) | axl_pcie_size_code(s->knob.pcie_mrrs) << 12;
        mask &= ~PCI_EXP_DEVCTL_READRQ;
    }
    pci_set_word(cap + PCI_EXP_DEVCTL, ctl);
    pci_set_word(wmask + PCI_EXP_DEVCTL, mask);
    supported = pci_get_long(cap + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_PAYLOAD;
    s->mps = 128 << MIN((ctl & PCI_EXP_DEVCTL_PAYLOAD) >> 5, supported);
    s->mrrs = 128 << MIN((ctl & PCI_EXP_DEVCTL_READRQ) >> 12, 5);
}

bool axl_link_down(const AxlState *s)
{
    return s->now < s->link_up_ns;
}

/* The knobs or the guest's configuration changed: the link as it is now. */
void axl_pcie_update(AxlState *s)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    unsigned gen = MIN(s->knob.link_speed ?: s->knob.pcie_gen, s->knob.pcie_gen);
    unsigned width = MIN(s->knob.link_lanes ?: s->knob.pcie_width, s->knob.pcie_width);
    bool changed = s->link_gen && (gen != s->link_gen || width != s->link_width);
    double bytes_per_ns = axl_link_rate[gen].gt * width / 8 * axl_link_rate[gen].num /
                          axl_link_rate[gen].den;

    if (s->knob.pcie_bandwidth) {
        bytes_per_ns = s->knob.pcie_bandwidth * 1e-3;
    }
    axl_account(s);
    s->link_gen = gen;
    s->link_width = width;
    s->tx_ns_per_byte = s->rx_ns_per_byte = 1 / bytes_per_ns;
    axl_pcie_devctl(s);
    if (pdev->exp.exp_cap) {
        uint8_t *sta = pdev->config + pdev->exp.exp_cap + PCI_EXP_LNKSTA;

        pci_set_word(sta, (pci_get_word(sta) & ~(PCI_EXP_LNKSTA_CLS | PCI_EXP_LNKSTA_NLW)) | gen |
                              width << 4);
    }
    if (changed && s->knob.link_retrain_ns) {
        s->link_up_ns = s->now + s->knob.link_retrain_ns;
        axl_sim_at(s, AXL_EV_LINK_UP, s->link_up_ns);
    }
    axl_fluid_update(s);
    if (changed) {
        axl_count(s, AXL_CTR_LINK_RETRAINS, 1);
        axl_trace_event(s, AXL_EV_LINK, -1, gen, width, 0);
        axl_truth_event(s, "link", "\"speed\":%u,\"width\":%u", gen, width);
        axl_int_raise(s, AXL_INT_LINK);
    }
}

/* The PCI Express capability at power-on. */
void axl_pcie_config(AxlState *s, Error **errp)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    unsigned gen = s->knob.pcie_gen, width = s->knob.pcie_width;
    unsigned mps_code = s->knob.pcie_mps ? axl_pcie_size_code(s->knob.pcie_mps) : 2;
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
    pcie_dev_ser_num_init(pdev, 0x100, 0x4c58410000000000ULL | s->index);
    pcie_cap_deverr_init(pdev);
    pcie_cap_flr_init(pdev);
    pdev->exp.aer_log.log_max = PCIE_AER_LOG_MAX_DEFAULT;
    pcie_aer_init(pdev, PCI_ERR_VER, 0x140, PCI_ERR_SIZEOF, errp);
}

/* What is in configuration space and not QEMU's own business at a reset. */
void axl_pcie_reset(AxlState *s)
{
    PCIDevice *pdev = PCI_DEVICE(s);

    if (pdev->exp.exp_cap) {
        pcie_cap_deverr_reset(pdev);
    }
}

/* Errors that are acknowledged, and a reset of this function alone. */
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
