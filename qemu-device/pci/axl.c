/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: an emulated PCIe machine-learning accelerator. QOM type, PCI set-up,
 * reset. Built as a shared object for the distribution's own QEMU:
 *
 *   LD_PRELOAD=build/qemu-device/axl.so qemu-system-x86_64 -device axl
 */
#include "qemu-device/frontend/frontend.h"
#include "qemu-device/host/abi.h"
#include "qemu-device/observe/observe.h"
#include "qemu-device/pci/state.h"

static unsigned axl_instances;

static bool axl_aside(AxlDevice *d, unsigned engine, const struct axl_desc *desc)
{
    return axl_aside_begin(&axl_state(d)->loop, engine, desc);
}

static const AxlUpcalls axl_upcalls = {
    .allowed = axl_bus_allowed,
    .read = axl_bus_read,
    .write = axl_bus_write,
    .fetch = axl_bus_fetch,
    .store = axl_bus_store,
    .post = axl_bus_post,
    .msix = axl_bus_msix,
    .interrupt = axl_bus_interrupt,
    .settle = axl_account,
    .halt = axl_context_halt,
    .aside = axl_aside,
};

static void axl_bus_reset(AxlDevice *d)
{
    AxlState *s = axl_state(d);

    axl_reset_device(s);
    axl_pcie_reset(s);
    axl_pcie_update(s);
    axl_faults_reset(s);
}

/* Earlier events still reach the bus before the reset takes anything away. */
static void axl_reset_enter(Object *obj, ResetType type)
{
    axl_sim_catch_up(&AXL(obj)->loop);
}

static void axl_reset_hold(AXL_RESET_HOLD_ARGS)
{
    AxlState *s = AXL(obj);

    s->loop.reset_wanted = true;
    axl_sim_catch_up(&s->loop);
}

static void axl_config_write(PCIDevice *pdev, uint32_t addr, uint32_t v, int len)
{
    AxlState *s = AXL(pdev);

    if (s->dev.removed || !axl_sim_enter(&s->loop)) {
        return;
    }
    /*
     * Catching up may have removed it from its bus, and its configuration space
     * with it.
     */
    if (!s->dev.removed) {
        pci_default_write_config(pdev, addr, v, len);
        if (pdev->exp.exp_cap &&
            ranges_overlap(addr, len, pdev->exp.exp_cap + PCI_EXP_DEVCTL, 2)) {
            axl_pcie_update(s);
        }
    }
    object_ref(OBJECT(s));
    axl_sim_leave(&s->loop);
    if (!s->dev.removed) {
        axl_pcie_config_written(s, addr, v, len);
    }
    object_unref(OBJECT(s));
}

static uint32_t axl_config_read(PCIDevice *pdev, uint32_t addr, int len)
{
    return AXL(pdev)->dev.removed ? UINT32_MAX : pci_default_read_config(pdev, addr, len);
}

static void axl_init_bars(AxlState *s)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    Object *obj = OBJECT(s);

    memory_region_init_io(&s->regs, obj, &axl_regs_ops, s, "axl-regs", AXL_REGS_BYTES);
    pci_register_bar(pdev, AXL_BAR_REGS, PCI_BASE_ADDRESS_SPACE_MEMORY, &s->regs);
    if (s->dev.knob.window_bytes) {
        s->dev.knob.window_bytes = MIN(s->dev.knob.window_bytes,
                                       (int64_t)pow2floor(s->dev.knob.dram_bytes));
        memory_region_init_ram_ptr(&s->window, obj, "axl-window", s->dev.knob.window_bytes,
                                   s->dev.mem.dram);
        pci_register_bar(pdev, AXL_BAR_WINDOW,
                         PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64 |
                             PCI_BASE_ADDRESS_MEM_PREFETCH, &s->window);
    }
}

static void axl_quit(Notifier *n, void *unused)
{
    AxlState *s = container_of(n, AxlState, exit_notifier);

    axl_truth_flush(&s->dev);
}

static void axl_vm_changed(void *opaque, bool running, RunState state)
{
    AxlState *s = opaque;

    if (!running) {
        /* The monitor's `stop` does not wait for a command; shutting down does. */
        if (state != RUN_STATE_PAUSED || !s->loop.worker.active) {
            axl_sim_catch_up(&s->loop);
        }
        axl_truth_flush(&s->dev);
    }
}

/* Makes the truth log complete however QEMU ends. */
static bool axl_open_truth(AxlState *s, Error **errp)
{
    if (!s->truth_path || !*s->truth_path) {
        return true;
    }
    if (!axl_truth_open(&s->dev, s->truth_path, errp)) {
        return false;
    }
    s->exit_notifier.notify = axl_quit;
    qemu_add_exit_notifier(&s->exit_notifier);
    s->vmstate_entry = qemu_add_vm_change_state_handler(axl_vm_changed, s);
    return true;
}

static void axl_close_truth(AxlState *s)
{
    if (s->vmstate_entry) {
        qemu_remove_exit_notifier(&s->exit_notifier);
        qemu_del_vm_change_state_handler(s->vmstate_entry);
        s->vmstate_entry = NULL;
        axl_truth_close(&s->dev);
    }
}

static void axl_realize(PCIDevice *pdev, Error **errp)
{
    AxlState *s = AXL(pdev);
    Error *err = NULL;
    const char *wrong;
    uint64_t lacking;

    if (s->model && strcmp(s->model, "full") && strcmp(s->model, "functional")) {
        error_setg(errp, "axl: 'model' is 'full' or 'functional'");
        return;
    }
    s->dev.timing.functional = s->model && !strcmp(s->model, "functional");
    wrong = axl_knobs_check(&s->dev.knob);
    if (wrong) {
        error_setg(errp, "axl: %s", wrong);
        return;
    }
    s->dev.id = DEVICE(s)->id ?: TYPE_AXL;
    s->dev.index = axl_instances++;
    lacking = axl_memory_map(&s->dev.mem, s->dev.knob.dram_bytes, s->dev.knob.scratch_bytes);
    if (lacking) {
        error_setg_errno(errp, errno, "axl: no room for %" PRIu64 " bytes of memory", lacking);
    }
    if (lacking || !axl_open_truth(s, errp)) {
        axl_memory_unmap(&s->dev.mem);
        return;
    }
    pci_config_set_interrupt_pin(pdev->config, 0);
    axl_init_bars(s);
    axl_pcie_config(s, &err);
    if (!err) {
        msix_init_exclusive_bar(pdev, AXL_NUM_MSIX, AXL_BAR_MSIX, &err);
    }
    if (err) {
        error_propagate(errp, err);
        if (pdev->exp.aer_cap) {
            pcie_aer_exit(pdev);
        }
        axl_close_truth(s);
        axl_memory_unmap(&s->dev.mem);
        return;
    }
    for (unsigned v = 0; v < AXL_NUM_MSIX; v++) {
        msix_vector_use(pdev, v);
    }
    axl_loop_init(&s->loop);
    axl_tsc_init(&s->dev);
    axl_clock_reset(&s->dev);
    axl_account_reset(&s->dev);
    axl_dram_reset(&s->dev.timing.dram);
    axl_pcie_update(s);
    axl_faults_init(s);
}

static void axl_exit(PCIDevice *pdev)
{
    AxlState *s = AXL(pdev);

    /* Do not wait for a command being computed: its results go with the device. */
    if (!s->loop.worker.active) {
        axl_sim_catch_up(&s->loop);
    }
    /*
     * The device may be running, see axl_sim_enter(): the state it uses stays
     * until it is done.
     */
    s->dev.removed = true;
    axl_loop_stop(&s->loop);
    axl_close_truth(s);
    if (pdev->exp.aer_cap) {
        pcie_aer_exit(pdev);
    }
    msix_uninit_exclusive_bar(pdev);
}

static void axl_finalize(Object *obj)
{
    AxlState *s = AXL(obj);

    axl_loop_end(&s->loop);
    axl_front_free(&s->dev);
    axl_observer_free(&s->dev);
    /* Not earlier: the window's mapping may outlive unplugging by a grace period. */
    axl_memory_unmap(&s->dev.mem);
}

static void axl_instance_init(Object *obj)
{
    AxlState *s = AXL(obj);

    axl_knobs_init(&s->dev.knob, &s->dev.fault);
    s->dev.timing.knob = &s->dev.knob;
    s->dev.timing.fault = &s->dev.fault;
    s->dev.timing.memory = &s->dev.mem;
    s->dev.up = &axl_upcalls;
    s->loop.dev = &s->dev;
    s->loop.owner = obj;
    s->loop.bus_reset = axl_bus_reset;
    axl_observer_init(&s->dev);
    axl_front_init(&s->dev);
}

static AxlProperty axl_properties[] = {
    DEFINE_PROP_STRING("truth", AxlState, truth_path),
    DEFINE_PROP_STRING("model", AxlState, model),
    DEFINE_PROP_BOOL("eager", AxlState, loop.eager, false),
    DEFINE_PROP_UINT64("aside-work", AxlState, loop.worker.work, 1 << 24),
    AXL_PROP_END
};

/* Device memory and work in flight are not migrated. */
static const VMStateDescription axl_vmstate = {
    .name = TYPE_AXL,
    .unmigratable = 1,
};

static void axl_class_init(ObjectClass *klass, AxlClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    axl_abi_check(klass);
    k->realize = axl_realize;
    k->exit = axl_exit;
    k->config_read = axl_config_read;
    k->config_write = axl_config_write;
    k->vendor_id = AXL_PCI_VENDOR_ID;
    k->device_id = AXL_PCI_DEVICE_ID;
    k->revision = AXL_PCI_REVISION;
    k->class_id = AXL_PCI_CLASS;
    rc->phases.enter = axl_reset_enter;
    rc->phases.hold = axl_reset_hold;
    dc->desc = "axl machine-learning accelerator";
    dc->vmsd = &axl_vmstate;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    device_class_set_props(dc, axl_properties);
    axl_properties_init(klass);
}

static const TypeInfo axl_type = {
    .name = TYPE_AXL,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(AxlState),
    .instance_init = axl_instance_init,
    .instance_finalize = axl_finalize,
    .class_init = axl_class_init,
    .interfaces = (AxlInterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { },
    },
};

static void axl_register_types(void)
{
    /* Programs that QEMU starts could not resolve the symbols of this library. */
    unsetenv("LD_PRELOAD");
    type_register_static(&axl_type);
}

type_init(axl_register_types)
