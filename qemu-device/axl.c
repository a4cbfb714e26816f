/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: an emulated PCIe machine-learning accelerator. QOM type, PCI set-up,
 * reset. Built as a shared object for the distribution's own QEMU:
 *
 *   LD_PRELOAD=build/qemu-device/axl.so qemu-system-x86_64 -device axl
 */
#include "axl.h"
#include "trace.h"
#include "abi.h"

static unsigned axl_instances;

bool axl_idle(const AxlState *s)
{
    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        const AxlQueue *queue = &s->queue[q];

        if (queue->retire != queue->tail || queue->comp_head != queue->comp_tail ||
            queue->fetching) {
            return false;
        }
    }
    return true;
}

/* CTRL.RESET and bus resets: everything but the clock and DRAM contents. */
void axl_reset_device(AxlState *s)
{
    trace_axl_reset(axl_id(s));
    for (unsigned c = 0; c < AXL_MAX_CONTEXTS; c++) {
        s->ctx[c].ctrl = 0;
        axl_context_reset(s, c);
        s->ctx[c] = (AxlContext) { 0 };
    }
    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        AxlQueue *queue = &s->queue[q];
        AxlCmd *window = queue->window;

        axl_queue_enable(s, q, 0);
        g_free(queue->doorbells);
        *queue = (AxlQueue) { .window = window };
    }
    axl_trace_event(s, AXL_EV_RESET, -1, 0, 0, 0);
    axl_trace_reset(s);
    memset(s->sem, 0, sizeof(s->sem));
    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        s->engine[e].last_queue = 0;
    }
    s->irqs = 0;
    axl_sim_at(s, AXL_EV_IRQ, AXL_NEVER);
    s->ctrl = 0;
    s->int_status = s->int_mask = 0;
    s->ptm_valid = false;
    s->clear = (AxlClear) { 0 };
    axl_dram_reset(&s->timing.dram);
    axl_account_reset(s);
    axl_truth_event(s, "reset", "\"instance\":%u", s->index);
    axl_truth_flush(s);
}

/* What happened before still reaches the bus, before anything is taken away. */
static void axl_reset_enter(Object *obj, ResetType type)
{
    axl_sim_catch_up(AXL(obj));
}

static void axl_reset_hold(AXL_RESET_HOLD_ARGS)
{
    AxlState *s = AXL(obj);

    s->reset_wanted = true;
    axl_sim_catch_up(s);
}

static void axl_config_write(PCIDevice *pdev, uint32_t addr, uint32_t v, int len)
{
    AxlState *s = AXL(pdev);

    if (s->removed || !axl_sim_enter(s)) {
        return;
    }
    /* Catching up may have taken it off its bus, and its configuration space with it. */
    if (!s->removed) {
        pci_default_write_config(pdev, addr, v, len);
        if (pdev->exp.exp_cap &&
            ranges_overlap(addr, len, pdev->exp.exp_cap + PCI_EXP_DEVCTL, 2)) {
            axl_pcie_update(s);
        }
    }
    object_ref(OBJECT(s));
    axl_sim_leave(s);
    if (!s->removed) {
        axl_pcie_config_written(s, addr, v, len);
    }
    object_unref(OBJECT(s));
}

static uint32_t axl_config_read(PCIDevice *pdev, uint32_t addr, int len)
{
    return AXL(pdev)->removed ? UINT32_MAX : pci_default_read_config(pdev, addr, len);
}

static void axl_init_bars(AxlState *s)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    Object *obj = OBJECT(s);

    memory_region_init_io(&s->regs, obj, &axl_regs_ops, s, "axl-regs", AXL_REGS_BYTES);
    pci_register_bar(pdev, AXL_BAR_REGS, PCI_BASE_ADDRESS_SPACE_MEMORY, &s->regs);
    if (s->knob.window_bytes) {
        s->knob.window_bytes = MIN(s->knob.window_bytes, (int64_t)pow2floor(s->knob.dram_bytes));
        memory_region_init_ram_ptr(&s->window, obj, "axl-window", s->knob.window_bytes,
                                   s->mem.dram);
        pci_register_bar(pdev, AXL_BAR_WINDOW,
                         PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64 |
                             PCI_BASE_ADDRESS_MEM_PREFETCH, &s->window);
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
    s->timing.functional = s->model && !strcmp(s->model, "functional");
    wrong = axl_knobs_check(&s->knob);
    if (wrong) {
        error_setg(errp, "axl: %s", wrong);
        return;
    }
    s->index = axl_instances++;
    lacking = axl_memory_map(&s->mem, s->knob.dram_bytes, s->knob.scratch_bytes);
    if (lacking) {
        error_setg_errno(errp, errno, "axl: no room for %" PRIu64 " bytes of memory", lacking);
    }
    if (lacking || !axl_truth_open(s, errp)) {
        axl_memory_unmap(&s->mem);
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
        axl_truth_close(s);
        axl_memory_unmap(&s->mem);
        return;
    }
    for (unsigned v = 0; v < AXL_NUM_MSIX; v++) {
        msix_vector_use(pdev, v);
    }
    for (unsigned i = 0; i < AXL_NUM_EVENTS; i++) {
        s->due[i] = AXL_NEVER;
    }
    s->armed_ns = AXL_NEVER;
    s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, axl_sim_timer, s);
    s->now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    s->tsc_ref_ns = axl_clock_pair(&s->tsc_ref);
    axl_clock_reset(s);
    axl_account_reset(s);
    axl_dram_reset(&s->timing.dram);
    axl_pcie_update(s);
    axl_faults_init(s);
}

static void axl_exit(PCIDevice *pdev)
{
    AxlState *s = AXL(pdev);

    /* What is computed aside is not waited for: its results go with the device. */
    if (!s->aside.cmd) {
        axl_sim_catch_up(s);
    }
    /* It may be at work, see axl_sim_enter(): what that uses stays until it is done. */
    s->removed = true;
    timer_free(s->timer);
    s->timer = NULL;
    axl_truth_close(s);
    if (pdev->exp.aer_cap) {
        pcie_aer_exit(pdev);
    }
    msix_uninit_exclusive_bar(pdev);
}

static void axl_finalize(Object *obj)
{
    AxlState *s = AXL(obj);

    axl_aside_end(s);
    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        AxlQueue *queue = &s->queue[q];

        for (uint32_t i = queue->retire; i != queue->tail; i++) {
            g_free(queue->window[i % AXL_WINDOW].sg);
        }
        g_free(queue->window);
        g_free(queue->doorbells);
    }
    /* Not before: the window's mapping may outlive unplugging by a grace period. */
    axl_memory_unmap(&s->mem);
}

static void axl_instance_init(Object *obj)
{
    AxlState *s = AXL(obj);

    axl_knobs_init(&s->knob, &s->fault);
    s->timing.knob = &s->knob;
    s->timing.fault = &s->fault;
    s->timing.memory = &s->mem;
}

static AxlProperty axl_properties[] = {
    DEFINE_PROP_STRING("truth", AxlState, truth_path),
    DEFINE_PROP_STRING("model", AxlState, model),
    DEFINE_PROP_BOOL("eager", AxlState, eager, false),
    DEFINE_PROP_UINT64("aside-work", AxlState, aside.work, 1 << 24),
    AXL_PROP_END
};

/* Device memory and work in flight are not carried over. */
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
    axl_knobs_class_init(klass);
    axl_faults_class_init(klass);
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
    /* What QEMU starts is not QEMU and could not resolve our symbols. */
    unsetenv("LD_PRELOAD");
    type_register_static(&axl_type);
}

type_init(axl_register_types)
