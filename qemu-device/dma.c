/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the device as a bus master. Every access to the bus goes through here:
 * none reaches the device's own BARs. An IOMMU may translate addresses and a
 * message or a peer may lead back here, so that checking them is not enough:
 * while the device is at work its registers refuse to be entered again
 * (axl_sim_enter).
 */
#include "axl.h"

bool axl_dma_allowed(AxlState *s, uint64_t addr, uint64_t bytes)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    static const int bars[] = { AXL_BAR_REGS, AXL_BAR_WINDOW, AXL_BAR_MSIX };

    if (bytes == 0 || addr + bytes - 1 < addr) {
        return false;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(bars); i++) {
        const PCIIORegion *r = &pdev->io_regions[bars[i]];

        if (r->size && r->addr != PCI_BAR_UNMAPPED && addr < r->addr + r->size &&
            r->addr < addr + bytes) {
            return false;
        }
    }
    return true;
}

static MemTxResult axl_dma(AxlState *s, uint64_t addr, void *buf, uint64_t bytes, DMADirection dir)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    MemReentrancyGuard *guard = &DEVICE(s)->mem_reentrancy_guard;
    bool engaged = guard->engaged_in_io;
    MemTxResult result;

    if (s->removed || !axl_dma_allowed(s, addr, bytes)) {
        return MEMTX_ACCESS_ERROR;
    }
    guard->engaged_in_io = true;
    result = pci_dma_rw(pdev, addr, buf, bytes, dir, MEMTXATTRS_UNSPECIFIED);
    guard->engaged_in_io = engaged;
    return result;
}

MemTxResult axl_dma_read(AxlState *s, uint64_t addr, void *buf, uint64_t bytes)
{
    axl_foresight_check(s);
    return axl_dma(s, addr, buf, bytes, DMA_DIRECTION_TO_DEVICE);
}

/* A write that nobody waits for: it may reach memory AXL_LATE_NS late, in order. */
MemTxResult axl_dma_post(AxlState *s, uint64_t addr, const void *buf, uint64_t bytes)
{
    return axl_dma(s, addr, (void *)buf, bytes, DMA_DIRECTION_FROM_DEVICE);
}

MemTxResult axl_dma_write(AxlState *s, uint64_t addr, const void *buf, uint64_t bytes)
{
    axl_foresight_check(s);
    return axl_dma_post(s, addr, buf, bytes);
}

static void axl_dma_count(AxlState *s, const AxlTlps *t)
{
    axl_count(s, AXL_CTR_PCIE_TX_MRD, t->mrd);
    axl_count(s, AXL_CTR_PCIE_RX_CPLD, t->cpld);
    axl_count(s, AXL_CTR_PCIE_TX_MWR, t->mwr);
    axl_count(s, AXL_CTR_PCIE_RX_WIRE, t->rx_wire);
    axl_count(s, AXL_CTR_PCIE_TX_WIRE, t->tx_wire);
    axl_fluid_delay_rx(s, t->rx_wire);
    axl_fluid_delay_tx(s, t->tx_wire);
}

/* The small reads and writes outside of copies: rings, indexes, records. */
void axl_dma_count_read(AxlState *s, uint64_t addr, uint64_t bytes)
{
    AxlTlps t = { 0 };

    if (s->timing.functional) {
        return;
    }
    axl_link_read_tlps(&s->timing, &t, addr, bytes);
    axl_link_wire(&s->timing, &t, bytes, 0);
    axl_count(s, AXL_CTR_PCIE_RX_PAYLOAD, bytes);
    axl_dma_count(s, &t);
}

void axl_dma_count_write(AxlState *s, uint64_t addr, uint64_t bytes)
{
    AxlTlps t = { 0 };

    if (s->timing.functional) {
        return;
    }
    axl_link_write_tlps(&s->timing, &t, addr, bytes);
    axl_link_wire(&s->timing, &t, 0, bytes);
    axl_count(s, AXL_CTR_PCIE_TX_PAYLOAD, bytes);
    axl_dma_count(s, &t);
}

/* An MSI-X message: four bytes posted, not counted as payload. */
bool axl_msix(AxlState *s, unsigned vector)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    AxlTlps t = { .mwr = 1 };

    if (s->removed || !msix_enabled(pdev)) {
        return false;
    }
    axl_foresight_check(s);
    axl_count(s, AXL_CTR_INTERRUPTS, 1);
    if (!s->timing.functional) {
        axl_link_wire(&s->timing, &t, 0, 4);
        axl_dma_count(s, &t);
    }
    msix_notify(pdev, vector);
    return true;
}

/* Vector 0: one message for each unmasked cause that was not pending before. */
void axl_int_raise(AxlState *s, uint32_t causes)
{
    uint32_t fresh = causes & ~s->int_status & ~s->int_mask;

    s->int_status |= causes;
    if (fresh) {
        bool sent = axl_msix(s, AXL_MSIX_DEVICE);

        axl_truth_event(s, "irq", "\"vector\":0,\"causes\":%u,\"sent\":%d", causes, sent);
    }
}

void axl_int_mask(AxlState *s, uint32_t mask)
{
    uint32_t fresh = s->int_status & s->int_mask & ~mask;

    s->int_mask = mask & AXL_INT_ALL;
    if (fresh) {
        bool sent = axl_msix(s, AXL_MSIX_DEVICE);

        axl_truth_event(s, "irq", "\"vector\":0,\"causes\":%u,\"sent\":%d", fresh, sent);
    }
}
