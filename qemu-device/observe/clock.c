/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the timestamp clock. Ticks are counted in 64.64 fixed point from the
 * last change of frequency, so that no rounding accumulates. Durations (the
 * counters) use raw ticks; what the guest reads has the offset added and wraps.
 */
#include "qemu-device/observe/state.h"
#include "qemu-device/observe/clock.h"

static uint64_t axl_clock_ticks(const AxlClock *c, int64_t ns, uint64_t *frac)
{
    uint64_t d = ns - c->base_ns;
    unsigned __int128 low = (unsigned __int128)d * c->inc_frac + c->base_frac;

    if (frac) {
        *frac = (uint64_t)low;
    }
    return c->base_raw + d * c->inc + (uint64_t)(low >> 64);
}

/* Sets the clock's rate to hz from s->now on. */
void axl_clock_run_at(AxlDevice *s, double hz)
{
    AxlClock *c = &s->observe->clock;
    uint64_t frac;
    uint64_t raw = axl_clock_ticks(c, s->now, &frac);
    uint64_t uhz = hz * 1e6 + 0.5;
    const uint64_t uhz_per_tick_ns = 1000000000000000ULL;

    c->base_raw = raw;
    c->base_frac = frac;
    c->base_ns = s->now;
    c->inc = uhz / uhz_per_tick_ns;
    /* Rounded up, so that whole ticks are never one short; 2^63 ns gain half a tick. */
    c->inc_frac = ((((unsigned __int128)(uhz % uhz_per_tick_ns) << 64) + uhz_per_tick_ns - 1) /
                   uhz_per_tick_ns);
    c->rate_mhz = uhz / 1000;
}

AxlStamp axl_now(const AxlDevice *s)
{
    const AxlClock *c = &s->observe->clock;
    AxlStamp t = { .ns = s->now };

    t.raw = axl_clock_ticks(c, MAX(s->now, c->base_ns), &t.frac);
    t.ts = (t.raw + c->offset) & c->mask;
    return t;
}

/* The clock value that the guest would have read `ticks` ticks before ts. */
uint64_t axl_clock_before(const AxlDevice *s, uint64_t ts, uint64_t ticks)
{
    return (ts - ticks) & s->observe->clock.mask;
}
