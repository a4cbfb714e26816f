/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: changes of the timestamp clock: power-on, rate, ramp, step. Each is recorded. */
#include "qemu-device/observe/state.h"
#include "qemu-device/observe/clock.h"

#define AXL_RAMP_STEPS 64

static double axl_clock_target_hz(const AxlDevice *s)
{
    return s->knob.clock_hz * (1.0 + s->knob.clock_ppm * 1e-6 + s->knob.clock_ppb * 1e-9);
}

/* `before` is the clock's value right before a jump, 0 for a change of rate. */
static void axl_clock_changed(AxlDevice *s, uint64_t before)
{
    axl_trace_event(s, AXL_EV_CLOCK, -1, s->observe->clock.rate_mhz, before, 0);
    axl_truth_event(s, "clock",
                    "\"rate_mhz\":%" PRIu64 ",\"ticks\":%" PRIu64 ",\"ticks_before\":%" PRIu64,
                    s->observe->clock.rate_mhz, axl_now(s).ts, before);
}

/* Called at power-on only, since a device reset leaves the clock alone. */
void axl_clock_reset(AxlDevice *s)
{
    AxlClock *c = &s->observe->clock;

    memset(c, 0, sizeof(*c));
    c->mask = s->knob.clock_bits >= 64 ? UINT64_MAX : (1ULL << s->knob.clock_bits) - 1;
    c->offset = s->knob.clock_offset;
    axl_clock_run_at(s, axl_clock_target_hz(s));
    /* Ticks at virtual time 0 are the offset, whenever the device was plugged in. */
    c->base_raw = s->now * c->inc + (uint64_t)(((unsigned __int128)s->now * c->inc_frac) >> 64);
}

/* A frequency knob changed: applies it immediately or along a ramp. */
void axl_clock_set_rate(AxlDevice *s)
{
    AxlClock *c = &s->observe->clock;

    s->up->settle(s);
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

void axl_clock_ramp(AxlDevice *s)
{
    AxlClock *c = &s->observe->clock;

    s->up->settle(s);
    c->ramp_left--;
    axl_clock_run_at(s, c->to_hz + (c->from_hz - c->to_hz) * c->ramp_left / AXL_RAMP_STEPS);
    axl_clock_changed(s, 0);
    if (c->ramp_left) {
        axl_sim_at(s, AXL_EV_RAMP, s->now + c->ramp_step_ns);
    }
}

/* Makes the value that the guest reads jump; counters do not move. */
void axl_clock_step(AxlDevice *s, int64_t ticks)
{
    uint64_t before = axl_now(s).ts;

    s->observe->clock.offset += ticks;
    axl_clock_changed(s, before);
}
