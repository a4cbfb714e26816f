/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: misbehaviour on request, as properties that can be set at start or by
 * QMP qom-set. Counted faults hit the next so many events and then stop. What
 * the driver must see of each is in docs/device.md.
 */
#include "axl.h"
#include "props.h"

static void axl_fault_throttle(AxlState *s)
{
    bool on = s->fault.throttle_permille < 1000;

    axl_trace_event(s, AXL_EV_THROTTLE, -1, on, s->fault.throttle_permille, 0);
    axl_truth_event(s, "throttle", "\"permille\":%" PRId64, s->fault.throttle_permille);
    axl_int_raise(s, AXL_INT_THROTTLE);
}

static void axl_fault_ecc(AxlState *s)
{
    if (s->fault.ecc <= 0) {
        return;
    }
    axl_count(s, AXL_CTR_ECC_CORRECTED, s->fault.ecc);
    axl_trace_event(s, AXL_EV_ECC, -1, 0, 0, 0);
    axl_truth_event(s, "ecc", "\"corrected\":%" PRId64, s->fault.ecc);
    axl_int_raise(s, AXL_INT_ECC);
    s->fault.ecc = 0;
}

static void axl_fault_clock_step(AxlState *s)
{
    axl_clock_step(s, s->fault.clock_step);
    s->fault.clock_step = 0;
}

#define FAULT(prop, field, lo, hi, hook, words) \
    { .name = prop, .offset = offsetof(AxlState, fault.field), .min = lo, .max = hi, .live = true, \
      .apply = hook, .text = words }

static AxlProp axl_fault_props[] = {
    FAULT("fault-lose-irqs", lose_irqs, 0, 1000000, NULL, "completion interrupts to lose"),
    FAULT("fault-late-irqs", late_irqs, 0, 1000000, NULL, "completion interrupts to delay"),
    FAULT("fault-late-irq-ns", late_irq_ns, 0, 60000000000, NULL, "by this much"),
    FAULT("fault-dup-completions", dup_completions, 0, 1000000, NULL, "completions to write twice"),
    FAULT("fault-corrupt-completions", corrupt_completions, 0, 1000000, NULL,
          "completions to spoil"),
    FAULT("fault-hang-engine", hang_engine, -1, AXL_NUM_ENGINES - 1, NULL,
          "engine whose next command never ends, -1 = none"),
    FAULT("fault-fail-dmas", fail_dmas, 0, 1000000, NULL, "copies to fail with a bus error"),
    FAULT("fault-poison", poison, 0, 1000000, NULL, "commands to fail with poisoned data"),
    FAULT("fault-ecc", ecc, 0, 1000000, axl_fault_ecc, "corrected memory errors, now"),
    FAULT("fault-trace-stall", trace_stall, 0, 1, NULL, "1 = trace rings take no record"),
    FAULT("fault-clock-step", clock_step, -1000000000000, 1000000000000, axl_fault_clock_step,
          "ticks the clock jumps, now"),
    FAULT("throttle-permille", throttle_permille, 1, 1000, axl_fault_throttle,
          "engine speed left, 1000 = all"),
};

void axl_faults_class_init(ObjectClass *klass)
{
    for (unsigned i = 0; i < ARRAY_SIZE(axl_fault_props); i++) {
        axl_prop_add(klass, &axl_fault_props[i]);
    }
}
