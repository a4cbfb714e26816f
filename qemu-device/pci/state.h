/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the PCI function, for the files of this folder only. Calls go downwards
 * in this list:
 *
 *   axl.c         QOM type, realize, exit, migration
 *   registers.c   BAR 0
 *   properties.c  QOM properties and what follows from a change of one
 *   faults.c      faults that act immediately, surprise removal
 *   reset.c       resets of the device and of the bus
 *   link.c        PCI Express capability, the link as the guest sees it
 *   bus.c         bus access, interrupts      stall.c  what a register read costs the CPU
 */
#ifndef AXL_PCI_STATE_H
#define AXL_PCI_STATE_H

#include "qemu-device/core/device.h"
#include "qemu-device/loop/loop.h"

#define TYPE_AXL "axl"
OBJECT_DECLARE_SIMPLE_TYPE(AxlState, AXL)

struct AxlState {
    PCIDevice parent_obj;

    AxlDevice dev;
    AxlLoop loop;

    MemoryRegion regs;
    MemoryRegion window;
    AxlClear clear;
    char *model;       /* property: full | functional */
    char *truth_path;

    uint32_t ctrl;
    uint32_t int_status, int_mask;
    uint64_t clk_latched;
    uint64_t ptm_device, ptm_host;
    bool ptm_valid;

    Notifier exit_notifier;
    VMChangeStateEntry *vmstate_entry;
};

static inline AxlState *axl_state(AxlDevice *d)
{
    return container_of(d, AxlState, dev);
}

/* registers.c */
extern const MemoryRegionOps axl_regs_ops;

/* stall.c */
void axl_stall_cpu(int64_t ns);

/* bus.c: the upcalls that reach the bus */
bool axl_bus_allowed(AxlDevice *d, uint64_t addr, uint64_t bytes);
bool axl_bus_read(AxlDevice *d, uint64_t addr, void *buf, uint64_t bytes);
bool axl_bus_write(AxlDevice *d, uint64_t addr, const void *buf, uint64_t bytes);
bool axl_bus_fetch(AxlDevice *d, uint64_t addr, void *buf, uint64_t bytes);
bool axl_bus_store(AxlDevice *d, uint64_t addr, const void *buf, uint64_t bytes);
bool axl_bus_post(AxlDevice *d, uint64_t addr, const void *buf, uint64_t bytes);
bool axl_bus_msix(AxlDevice *d, unsigned vector);
void axl_bus_interrupt(AxlDevice *d, uint32_t causes);
void axl_bus_mask(AxlState *s, uint32_t mask);

/* link.c */
void axl_pcie_update(AxlState *s);
void axl_pcie_config(AxlState *s, Error **errp);
void axl_pcie_reset(AxlState *s);
void axl_pcie_config_written(AxlState *s, uint32_t addr, uint32_t v, int len);

/* reset.c */
void axl_reset_device(AxlState *s);

/* faults.c */
void axl_faults_enabled(AxlState *s); /* the device is enabled: faults asked for at start */
void axl_faults_reset(AxlState *s);
void axl_faults_init(AxlState *s);
void axl_fault_throttle(AxlState *s);
void axl_fault_ecc(AxlState *s);
void axl_fault_clock_step(AxlState *s);
void axl_fault_removed(AxlState *s);

/* properties.c */
void axl_properties_init(ObjectClass *klass);

#endif /* AXL_PCI_STATE_H */
