/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: properties. Every number of the model (knobs/knobs.def) and every fault
 * (knobs/faults.def) is a QOM property of its own: set on the command line, and those
 * marked LIVE at run time too (QMP qom-set), where they take effect at once.
 */
#include "qemu-device/frontend/frontend.h"
#include "qemu-device/observe/observe.h"
#include "qemu-device/pci/state.h"

typedef struct AxlProp {
    const char *name;
    size_t offset; /* of an int64_t in AxlState */
    int64_t min, max;
    bool live;     /* may be set at run time */
    bool size;     /* takes suffixes: 512M */
    bool pow2;     /* 0, or a power of two not below `least` */
    int64_t least;
    void (*apply)(AxlState *s); /* after a change at run time */
    const char *text;
} AxlProp;

enum { START, LIVE };

static void axl_prop_get(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
    const AxlProp *p = opaque;

    visit_type_int64(v, name, (int64_t *)((char *)obj + p->offset), errp);
}

static void axl_prop_set(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
    const AxlProp *p = opaque;
    AxlState *s = AXL(obj);
    bool live = DEVICE(obj)->realized;
    int64_t value;

    if (live && !p->live) {
        error_setg(errp, "axl: '%s' is fixed once the device exists", name);
        return;
    }
    if (p->size) {
        uint64_t size;

        if (!visit_type_size(v, name, &size, errp)) {
            return;
        }
        value = MIN(size, INT64_MAX);
    } else if (!visit_type_int64(v, name, &value, errp)) {
        return;
    }
    if (value < p->min || value > p->max) {
        error_setg(errp, "axl: '%s' must be %" PRId64 " to %" PRId64, name, p->min, p->max);
        return;
    }
    if (p->pow2 && value && (!is_power_of_2(value) || value < p->least)) {
        error_setg(errp, "axl: '%s' must be a power of two from %" PRId64, name,
                   MAX(p->least, 1));
        return;
    }
    if (!live) {
        *(int64_t *)((char *)obj + p->offset) = value;
        return;
    }
    if (!axl_sim_enter(&s->loop)) {
        error_setg(errp, "axl: the device is at work");
        return;
    }
    axl_account(&s->dev);
    *(int64_t *)((char *)obj + p->offset) = value;
    axl_truth_event(&s->dev, "knob", "\"name\":\"%s\",\"value\":%" PRId64, name, value);
    if (p->apply) {
        p->apply(s);
    }
    axl_flow_update(&s->dev);
    axl_sim_leave(&s->loop);
}

static void axl_prop_add(ObjectClass *klass, AxlProp *p)
{
    object_class_property_add(klass, p->name, p->size ? "size" : "int", axl_prop_get, axl_prop_set,
                              NULL, p);
    object_class_property_set_description(klass, p->name, p->text);
}

static void axl_late_wakes_get(Object *obj, Visitor *v, const char *name, void *opaque,
                               Error **errp)
{
    visit_type_uint64(v, name, &AXL(obj)->loop.late_wakes, errp);
}

static void axl_aside_commands_get(Object *obj, Visitor *v, const char *name, void *opaque,
                                   Error **errp)
{
    visit_type_uint64(v, name, &AXL(obj)->loop.worker.commands, errp);
}

static bool axl_aside_now_get(Object *obj, Error **errp)
{
    return AXL(obj)->loop.worker.active;
}

static AxlProp axl_knob_props[] = {
#define AXL_KNOB(field, prop, def, lo, hi, when, words) \
    { .name = prop, .offset = offsetof(AxlState, dev.knob.field), .min = lo, .max = hi, \
      .live = when, .text = words },
#include "qemu-device/knobs/knobs.def"
#undef AXL_KNOB
};

static void axl_knob_pow2(AxlProp *p)
{
    static const struct {
        const char *name;
        int64_t least;
    } pow2[] = {
        { "dram-banks", 1 }, { "dram-row-bytes", 1 }, { "dram-burst-bytes", 1 },
        { "pcie-mps", 128 }, { "pcie-mrrs", 128 }, { "pcie-rcb", 64 }, { "pcie-width", 1 },
        { "link-width", 1 }, { "window-bytes", 4 * KiB },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(pow2); i++) {
        if (!strcmp(p->name, pow2[i].name)) {
            p->pow2 = true;
            p->least = pow2[i].least;
        }
    }
}

static AxlProp axl_fault_props[] = {
#define AXL_FAULT(field, prop, def, lo, hi, words) \
    { .name = prop, .offset = offsetof(AxlState, dev.fault.field), .min = lo, .max = hi, \
      .live = true, .text = words },
#include "qemu-device/knobs/faults.def"
#undef AXL_FAULT
};

static void axl_clock_changed_rate(AxlState *s)
{
    axl_clock_set_rate(&s->dev);
}

/* Actions that a change triggers immediately. */
static const struct {
    const char *prefix;
    void (*apply)(AxlState *s);
} axl_prop_hooks[] = {
    { "clock-hz", axl_clock_changed_rate },
    { "clock-ppm", axl_clock_changed_rate },
    { "clock-ppb", axl_clock_changed_rate },
    { "pcie-", axl_pcie_update },
    { "link-", axl_pcie_update },
    { "fault-ecc", axl_fault_ecc },
    { "fault-clock-step", axl_fault_clock_step },
    { "fault-removed", axl_fault_removed },
    { "throttle-permille", axl_fault_throttle },
};

static void axl_prop_hook(AxlProp *p)
{
    for (unsigned i = 0; i < ARRAY_SIZE(axl_prop_hooks); i++) {
        if (g_str_has_prefix(p->name, axl_prop_hooks[i].prefix)) {
            p->apply = axl_prop_hooks[i].apply;
        }
    }
}

void axl_properties_init(ObjectClass *klass)
{
    object_class_property_add(klass, "late-wakes", "uint64", axl_late_wakes_get, NULL, NULL, NULL);
    object_class_property_set_description(klass, "late-wakes",
                                          "wake-ups that came too late, always 0");
    object_class_property_add(klass, "aside-commands", "uint64", axl_aside_commands_get, NULL, NULL,
                              NULL);
    object_class_property_set_description(klass, "aside-commands",
                                          "commands computed on a thread of their own");
    object_class_property_add_bool(klass, "aside-now", axl_aside_now_get, NULL);
    object_class_property_set_description(klass, "aside-now", "one is under way");
    for (unsigned i = 0; i < ARRAY_SIZE(axl_knob_props); i++) {
        AxlProp *p = &axl_knob_props[i];

        p->size = g_str_has_suffix(p->name, "-bytes");
        axl_prop_hook(p);
        axl_knob_pow2(p);
        axl_prop_add(klass, p);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(axl_fault_props); i++) {
        axl_prop_hook(&axl_fault_props[i]);
        axl_prop_add(klass, &axl_fault_props[i]);
    }
}
