/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the device as a bus master. Every access to the bus goes through here,
 * and none may reach the device's own BARs. Checking the address is not enough,
 * since an IOMMU may translate it, and a message or a peer may lead back here.
 * So the registers refuse accesses while the device is running
 * (axl_sim_enter_as).
 */
#include "qemu-device/frontend/frontend.h"
#include "qemu-device/observe/observe.h"
#include "qemu-device/pci/state.h"

bool axl_bus_allowed(AxlDevice *d, uint64_t addr, uint64_t bytes)
{
    PCIDevice *pdev = PCI_DEVICE(axl_state(d));
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

static bool axl_bus_access(AxlDevice *d, uint64_t addr, void *buf, uint64_t bytes, DMADirection dir)
{
    AxlState *s = axl_state(d);
    MemReentrancyGuard *guard = &DEVICE(s)->mem_reentrancy_guard;
    bool engaged = guard->engaged_in_io;
    MemTxResult result;

    if (d->removed || !axl_bus_allowed(d, addr, bytes)) {
        return false;
    }
    guard->engaged_in_io = true;
    result = pci_dma_rw(PCI_DEVICE(s), addr, buf, bytes, dir, MEMTXATTRS_UNSPECIFIED);
    guard->engaged_in_io = engaged;
    return result == MEMTX_OK;
}

bool axl_bus_read(AxlDevice *d, uint64_t addr, void *buf, uint64_t bytes)
{
    axl_foresight_check(&axl_state(d)->loop);
    return axl_bus_access(d, addr, buf, bytes, DMA_DIRECTION_TO_DEVICE);
}

bool axl_bus_write(AxlDevice *d, uint64_t addr, const void *buf, uint64_t bytes)
{
    axl_foresight_check(&axl_state(d)->loop);
    return axl_bus_access(d, addr, (void *)buf, bytes, DMA_DIRECTION_FROM_DEVICE);
}

static void axl_bus_count(AxlDevice *d, const AxlTlps *t)
{
    axl_count(d, AXL_CTR_PCIE_TX_MRD, t->mrd);
    axl_count(d, AXL_CTR_PCIE_RX_CPLD, t->cpld);
    axl_count(d, AXL_CTR_PCIE_TX_MWR, t->mwr);
    axl_count(d, AXL_CTR_PCIE_RX_WIRE, t->rx_wire);
    axl_count(d, AXL_CTR_PCIE_TX_WIRE, t->tx_wire);
    axl_flow_delay(d, t->rx_wire, t->tx_wire);
}

static void axl_bus_count_write(AxlDevice *d, uint64_t addr, uint64_t bytes)
{
    AxlTlps t = { 0 };

    if (d->timing.functional) {
        return;
    }
    axl_link_write_tlps(&d->timing, &t, addr, bytes);
    axl_link_wire(&d->timing, &t, 0, bytes);
    axl_count(d, AXL_CTR_PCIE_TX_PAYLOAD, bytes);
    axl_bus_count(d, &t);
}

bool axl_bus_fetch(AxlDevice *d, uint64_t addr, void *buf, uint64_t bytes)
{
    AxlTlps t = { 0 };

    if (!axl_bus_read(d, addr, buf, bytes)) {
        return false;
    }
    if (!d->timing.functional) {
        axl_link_read_tlps(&d->timing, &t, addr, bytes);
        axl_link_wire(&d->timing, &t, bytes, 0);
        axl_count(d, AXL_CTR_PCIE_RX_PAYLOAD, bytes);
        axl_bus_count(d, &t);
    }
    return true;
}

bool axl_bus_store(AxlDevice *d, uint64_t addr, const void *buf, uint64_t bytes)
{
    if (!axl_bus_write(d, addr, buf, bytes)) {
        return false;
    }
    axl_bus_count_write(d, addr, bytes);
    return true;
}

bool axl_bus_post(AxlDevice *d, uint64_t addr, const void *buf, uint64_t bytes)
{
    if (!axl_bus_access(d, addr, (void *)buf, bytes, DMA_DIRECTION_FROM_DEVICE)) {
        return false;
    }
    axl_bus_count_write(d, addr, bytes);
    return true;
}

/* An MSI-X message: four bytes posted, not counted as payload. */
bool axl_bus_msix(AxlDevice *d, unsigned vector)
{
    PCIDevice *pdev = PCI_DEVICE(axl_state(d));
    AxlTlps t = { .mwr = 1 };

    if (d->removed || !msix_enabled(pdev)) {
        return false;
    }
    axl_foresight_check(&axl_state(d)->loop);
    axl_count(d, AXL_CTR_INTERRUPTS, 1);
    if (!d->timing.functional) {
        axl_link_wire(&d->timing, &t, 0, 4);
        axl_bus_count(d, &t);
    }
    msix_notify(pdev, vector);
    return true;
}

static void axl_bus_device_irq(AxlState *s, uint32_t causes)
{
    bool sent = axl_bus_msix(&s->dev, AXL_MSIX_DEVICE);

    axl_truth_event(&s->dev, "irq", "\"vector\":0,\"causes\":%u,\"sent\":%d", causes, sent);
}

/* Vector 0: one message for each unmasked cause that was not pending before. */
void axl_bus_interrupt(AxlDevice *d, uint32_t causes)
{
    AxlState *s = axl_state(d);
    uint32_t fresh = causes & ~s->int_status & ~s->int_mask;

    s->int_status |= causes;
    if (fresh) {
        axl_bus_device_irq(s, causes);
    }
}

void axl_bus_mask(AxlState *s, uint32_t mask)
{
    uint32_t fresh = s->int_status & s->int_mask & ~mask;

    s->int_mask = mask & AXL_INT_ALL;
    if (fresh) {
        axl_bus_device_irq(s, fresh);
    }
}
