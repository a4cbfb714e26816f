/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: virtual time and the guest's TSC, for the truth log and the PTM registers. */
#include "qemu-device/observe/state.h"

/*
 * Reads virtual time and the guest's TSC at one instant: the narrowest of a few
 * brackets.
 */
int64_t axl_tsc_pair(uint64_t *tsc)
{
    uint64_t best = UINT64_MAX;
    int64_t ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

    if (qtest_enabled() || icount_enabled()) {
        *tsc = ns;
        return ns;
    }
    for (unsigned i = 0; i < 5; i++) {
        uint64_t before = cpus_get_elapsed_ticks();
        int64_t between = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
        uint64_t after = cpus_get_elapsed_ticks();

        if (after - before < best) {
            best = after - before;
            ns = between;
            *tsc = before + best / 2;
        }
    }
    return ns;
}

/*
 * The guest's TSC at a virtual time near the present. Under icount and qtest
 * both advance together; otherwise it is extrapolated from pairs at most
 * AXL_TSC_PAIR_NS old, at the rate measured since the device was created.
 */
#define AXL_TSC_PAIR_NS 1000000

uint64_t axl_tsc_at(AxlDevice *s, int64_t ns)
{
    AxlObserver *o = s->observe;
    double rate;

    if (qtest_enabled() || icount_enabled()) {
        return ns;
    }
    if (o->tsc_pair_ns == 0 || llabs(ns - o->tsc_pair_ns) > AXL_TSC_PAIR_NS) {
        o->tsc_pair_ns = axl_tsc_pair(&o->tsc_pair);
    }
    if (o->tsc_pair_ns - o->tsc_ref_ns < AXL_TSC_PAIR_NS) {
        return o->tsc_pair;
    }
    rate = (double)(o->tsc_pair - o->tsc_ref) / (o->tsc_pair_ns - o->tsc_ref_ns);
    return o->tsc_pair + (int64_t)(rate * (ns - o->tsc_pair_ns));
}

void axl_tsc_init(AxlDevice *s)
{
    s->observe->tsc_ref_ns = axl_tsc_pair(&s->observe->tsc_ref);
}
