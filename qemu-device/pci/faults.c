/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: fault injection by properties that can be set at start or by QMP qom-set
 * (knobs/faults.def). This file has the faults that act immediately; the others
 * are injected where they take effect: grep for fault.NAME. docs/device.md says
 * what the driver must see of each.
 */
#include "qemu-device/observe/observe.h"
#include "qemu-device/pci/state.h"

#include "hw/pci/msi.h"
#include "hw/pci/pci_bridge.h"
#include "hw/pci/pci_bus.h"

void axl_fault_throttle(AxlState *s)
{
    bool on = s->dev.fault.throttle_permille < 1000;

    axl_trace_event(&s->dev, AXL_EV_THROTTLE, -1, on, s->dev.fault.throttle_permille, 0);
    axl_truth_event(&s->dev, "throttle", "\"permille\":%" PRId64, s->dev.fault.throttle_permille);
    axl_bus_interrupt(&s->dev, AXL_INT_THROTTLE);
}

void axl_fault_ecc(AxlState *s)
{
    if (s->dev.fault.ecc <= 0) {
        return;
    }
    axl_count(&s->dev, AXL_CTR_ECC_CORRECTED, s->dev.fault.ecc);
    axl_trace_event(&s->dev, AXL_EV_ECC, -1, 0, 0, 0);
    axl_truth_event(&s->dev, "ecc", "\"corrected\":%" PRId64, s->dev.fault.ecc);
    axl_bus_interrupt(&s->dev, AXL_INT_ECC);
    s->dev.fault.ecc = 0;
}

void axl_fault_clock_step(AxlState *s)
{
    axl_clock_step(&s->dev, s->dev.fault.clock_step);
    s->dev.fault.clock_step = 0;
}

/* The port above, or NULL if it is not a PCI Express port. */
static PCIDevice *axl_port(AxlState *s)
{
    PCIDevice *port = pci_bridge_get_device(pci_get_bus(PCI_DEVICE(s)));

    return port && port->exp.exp_cap ? port : NULL;
}

/*
 * QEMU's port does not report changes of its link, nor implement the bits that
 * enable and acknowledge such reports. So make them writable before the guest
 * reads them.
 */
void axl_faults_init(AxlState *s)
{
    PCIDevice *port = axl_port(s);

    if (port) {
        uint8_t cap = port->exp.exp_cap;

        pci_word_test_and_set_mask(port->wmask + cap + PCI_EXP_SLTCTL, PCI_EXP_SLTCTL_DLLSCE);
        pci_word_test_and_set_mask(port->w1cmask + cap + PCI_EXP_SLTSTA, PCI_EXP_SLTSTA_DLLSC);
    }
}

/* Presence and link of the slot changed, which its port reports. */
static void axl_fault_slot_event(AxlState *s, bool present)
{
    PCIDevice *port = axl_port(s);
    const uint16_t events = PCI_EXP_SLTSTA_PDC | PCI_EXP_SLTSTA_DLLSC;
    const uint16_t enables = PCI_EXP_SLTCTL_PDCE | PCI_EXP_SLTCTL_DLLSCE;
    uint8_t *cap;

    if (!port) {
        return;
    }
    cap = port->config + port->exp.exp_cap;
    if (present) {
        pci_word_test_and_set_mask(cap + PCI_EXP_SLTSTA, PCI_EXP_SLTSTA_PDS | events);
        pci_word_test_and_set_mask(cap + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_DLLLA);
    } else {
        pci_word_test_and_clear_mask(cap + PCI_EXP_SLTSTA, PCI_EXP_SLTSTA_PDS);
        pci_word_test_and_set_mask(cap + PCI_EXP_SLTSTA, events);
        pci_word_test_and_clear_mask(cap + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_DLLLA);
    }
    if (!(pci_get_word(cap + PCI_EXP_SLTCTL) & PCI_EXP_SLTCTL_HPIE) ||
        !(pci_get_word(cap + PCI_EXP_SLTCTL) & enables)) {
        return;
    }
    if (msix_enabled(port)) {
        msix_notify(port, pcie_cap_flags_get_vector(port));
    } else if (msi_enabled(port)) {
        msi_notify(port, pcie_cap_flags_get_vector(port));
    }
}

/* Removes the device, or puts it back in the state after power-on. */
void axl_fault_removed(AxlState *s)
{
    if (s->dev.removed == s->dev.fault.removed) {
        return;
    }
    axl_truth_event(&s->dev, "fault", "\"fault\":\"%s\"",
                    s->dev.fault.removed ? "removed" : "replugged");
    if (s->dev.fault.removed) {
        /* In this order, so that no dropped work reaches the bus. */
        s->dev.removed = true;
        axl_reset_device(s);
    } else {
        s->dev.removed = false;
    }
    if (s->dev.knob.window_bytes) {
        memory_region_set_enabled(&s->window, !s->dev.removed);
    }
    memory_region_set_enabled(&PCI_DEVICE(s)->msix_exclusive_bar, !s->dev.removed);
    axl_fault_slot_event(s, !s->dev.removed);
}

/* Applies one-time faults requested at start when the device is first enabled. */
void axl_faults_enabled(AxlState *s)
{
    axl_fault_ecc(s);
    if (s->dev.fault.clock_step) {
        axl_fault_clock_step(s);
    }
}

/* Applies removal requested at start, once the port has seen its slot. */
void axl_faults_reset(AxlState *s)
{
    if (s->dev.fault.removed && !s->dev.removed) {
        axl_fault_removed(s);
    }
}
