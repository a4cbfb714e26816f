/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the timestamp clock. Ticks are counted in 64.64 fixed point from the
 * last change of frequency, so that no rounding accumulates. Durations (the
 * counters) use raw ticks; what the guest reads has the offset added and wraps.
 */
#include "axl.h"

#define AXL_RAMP_STEPS 64

static uint64_t axl_clock_ticks(const AxlClock *c, int64_t ns, uint64_t *frac)
{
    uint64_t d = ns - c->base_ns;
    unsigned __int128 low = (unsigned __int128)d * c->inc_frac + c->base_frac;

    if (frac) {
        *frac = (uint64_t)low;
    }
    return c->base_raw + d * c->inc + (uint64_t)(low >> 64);
}

AxlStamp axl_clock_stamp(const AxlState *s, int64_t ns)
{
    const AxlClock *c = &s->clock;
    AxlStamp t = { .ns = ns };

    t.raw = axl_clock_ticks(c, MAX(ns, c->base_ns), &t.frac);
    t.ts = (t.raw + c->offset) & c->mask;
    return t;
}

/* From s->now on the clock runs at hz. */
static void axl_clock_run_at(AxlState *s, double hz)
{
    AxlClock *c = &s->clock;
    uint64_t frac;
    uint64_t raw = axl_clock_ticks(c, s->now, &frac);
    uint64_t uhz = hz * 1e6 + 0.5;
    const uint64_t uhz_per_tick_ns = 1000000000000000ULL;

    c->base_raw = raw;
    c->base_frac = frac;
    c->base_ns = s->now;
    c->inc = uhz / uhz_per_tick_ns;
    /* Rounded up: a whole number of ticks is never one short, and 2^63 ns gain half of one. */
    c->inc_frac = ((((unsigned __int128)(uhz % uhz_per_tick_ns) << 64) + uhz_per_tick_ns - 1) /
                   uhz_per_tick_ns);
    c->rate_mhz = uhz / 1000;
}

static double axl_clock_target_hz(const AxlState *s)
{
    return s->knob.clock_hz * (1.0 + s->knob.clock_ppm * 1e-6 + s->knob.clock_ppb * 1e-9);
}

/* `before`: what the clock read right before a jump, 0 for a change of rate. */
static void axl_clock_changed(AxlState *s, uint64_t before)
{
    axl_trace_event(s, AXL_EV_CLOCK, -1, s->clock.rate_mhz, before, 0);
    axl_truth_event(s, "clock",
                    "\"rate_mhz\":%" PRIu64 ",\"ticks\":%" PRIu64 ",\"ticks_before\":%" PRIu64,
                    s->clock.rate_mhz, axl_now(s).ts, before);
}

/* Power-on only: a device reset leaves the clock alone. */
void axl_clock_reset(AxlState *s)
{
    AxlClock *c = &s->clock;

    memset(c, 0, sizeof(*c));
    c->mask = s->knob.clock_bits >= 64 ? UINT64_MAX : (1ULL << s->knob.clock_bits) - 1;
    c->offset = s->knob.clock_offset;
    axl_clock_run_at(s, axl_clock_target_hz(s));
    /* Ticks at virtual time 0 are the offset, whenever the device was plugged. */
    c->base_raw = s->now * c->inc + (uint64_t)(((unsigned __int128)s->now * c->inc_frac) >> 64);
}

/* A frequency knob changed: at once, or along a ramp. */
void axl_clock_set_rate(AxlState *s)
{
    AxlClock *c = &s->clock;

    axl_account(s);
    if (s->knob.clock_ramp_ns == 0) {
        c->ramp_left = 0;
        axl_sim_at(s, AXL_EV_RAMP, AXL_NEVER);
        axl_clock_run_at(s, axl_clock_target_hz(s));
        axl_clock_changed(s, 0);
        return;
    }
    c->from_hz = c->rate_mhz * 1e-3;
    c->to_hz = axl_clock_target_hz(s);
    c->ramp_left = AXL_RAMP_STEPS;
    c->ramp_step_ns = MAX(s->knob.clock_ramp_ns / AXL_RAMP_STEPS, 1);
    axl_sim_at(s, AXL_EV_RAMP, s->now + c->ramp_step_ns);
}

void axl_clock_ramp(AxlState *s)
{
    AxlClock *c = &s->clock;

    axl_account(s);
    c->ramp_left--;
    axl_clock_run_at(s, c->to_hz + (c->from_hz - c->to_hz) * c->ramp_left / AXL_RAMP_STEPS);
    axl_clock_changed(s, 0);
    if (c->ramp_left) {
        axl_sim_at(s, AXL_EV_RAMP, s->now + c->ramp_step_ns);
    }
}

/* A jump of what the guest reads; counters do not move. */
void axl_clock_step(AxlState *s, int64_t ticks)
{
    uint64_t before = axl_now(s).ts;

    s->clock.offset += ticks;
    axl_clock_changed(s, before);
}

/* Virtual time and the guest's TSC at one instant: the narrowest of a few brackets. */
int64_t axl_clock_pair(uint64_t *tsc)
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
 * both run together; elsewhere it is told from pairs at most AXL_TSC_PAIR_NS
 * old, along the rate seen since the device was made.
 */
#define AXL_TSC_PAIR_NS 1000000

uint64_t axl_clock_tsc(AxlState *s, int64_t ns)
{
    double rate;

    if (qtest_enabled() || icount_enabled()) {
        return ns;
    }
    if (s->tsc_pair_ns == 0 || llabs(ns - s->tsc_pair_ns) > AXL_TSC_PAIR_NS) {
        s->tsc_pair_ns = axl_clock_pair(&s->tsc_pair);
    }
    if (s->tsc_pair_ns - s->tsc_ref_ns < AXL_TSC_PAIR_NS) {
        return s->tsc_pair;
    }
    rate = (double)(s->tsc_pair - s->tsc_ref) / (s->tsc_pair_ns - s->tsc_ref_ns);
    return s->tsc_pair + (int64_t)(rate * (ns - s->tsc_pair_ns));
}
