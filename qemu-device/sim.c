/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the device's own event loop.
 *
 * Every future happening has a slot in due[]. Slots run in time order, each at
 * its own instant (s->now), whenever the QEMU timer fires or the guest touches
 * a register. What the guest reads is therefore what the device was at that
 * virtual time, and no time stamp depends on the host's timer latency. So the
 * timer need not fire for every event; foresight.c says when it must.
 */
#include "axl.h"

/*
 * A late host must not be kept from its other devices for long; where virtual
 * time stands still meanwhile, it is never late.
 */
#define AXL_EVENTS_PER_CALL 4096

void axl_sim_at(AxlState *s, unsigned event, int64_t ns)
{
    s->due[event] = ns;
}

static unsigned axl_sim_next(const AxlState *s)
{
    unsigned best = 0;

    for (unsigned i = 1; i < AXL_NUM_EVENTS; i++) {
        if (s->due[i] < s->due[best]) {
            best = i;
        }
    }
    return best;
}

static void axl_sim_event(AxlState *s, unsigned event)
{
    if (event < AXL_EV_FETCH) {
        axl_engine_phase_end(s, event);
    } else if (event < AXL_EV_COMPLETION) {
        axl_queue_fetched(s, event - AXL_EV_FETCH);
    } else if (event < AXL_EV_WRITEBACK) {
        axl_completion_due(s, event - AXL_EV_COMPLETION);
    } else if (event < AXL_EV_SAMPLE) {
        axl_trace_writeback(s, event - AXL_EV_WRITEBACK);
    } else if (event < AXL_EV_IRQ) {
        axl_trace_sample(s, event - AXL_EV_SAMPLE);
    } else if (event == AXL_EV_IRQ) {
        axl_irq_due(s);
    } else if (event == AXL_EV_RAMP) {
        axl_clock_ramp(s);
    } else if (event == AXL_EV_LINK_UP) {
        axl_fluid_update(s);
    }
}

static void axl_sim_rearm(AxlState *s)
{
    int64_t next = s->due[axl_sim_next(s)];

    if (s->aside.cmd) {
        s->promised_ns = 0; /* the thread's end wakes the device */
        return;
    }
    if (next != AXL_NEVER && !s->eager) {
        next = axl_foresight(s, next);
    }
    s->promised_ns = next;
    if (s->truth_dirty && axl_idle(s)) {
        axl_truth_flush(s);
    }
    if (next == s->armed_ns || !s->timer) {
        return;
    }
    s->armed_ns = next;
    if (next == AXL_NEVER) {
        timer_del(s->timer);
    } else {
        timer_mod(s->timer, next);
    }
}

/* False: the device stands at the end of a command that is computed aside. */
static bool axl_sim_settle(AxlState *s, AxlWait wait)
{
    while (s->aside.cmd) {
        if (axl_aside_done(s)) {
            unsigned engine = s->aside.engine, status = axl_aside_take(s);

            if (s->timer) {
                axl_engine_end(s, engine, status);
            }
        } else if (wait == AXL_WAIT_NOT) {
            return false;
        } else {
            /* Between two events, so that others may run them. */
            s->running = wait != AXL_WAIT_UNLOCKED;
            axl_aside_wait(s, wait == AXL_WAIT_UNLOCKED);
            s->running = true;
        }
    }
    return true;
}

/*
 * Begins whatever comes from outside: a register access, a property, the timer.
 * False when the device is at work already: what came is then a write or a
 * message of its own, by whatever way, and goes nowhere.
 */
bool axl_sim_enter_as(AxlState *s, AxlWait wait)
{
    int64_t until = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    unsigned budget = icount_enabled() || qtest_enabled() ? UINT_MAX : AXL_EVENTS_PER_CALL;

    if (s->running) {
        return false;
    }
    /* It may power its own slot off by a write. */
    object_ref(OBJECT(s));
    s->running = true;
    for (;;) {
        unsigned event;
        int64_t due;

        if (!axl_sim_settle(s, wait)) {
            return true;
        }
        event = axl_sim_next(s);
        due = s->due[event];
        if (due > until || !budget-- || !s->timer) {
            break;
        }
        s->due[event] = AXL_NEVER;
        s->now = MAX(s->now, due);
        axl_sim_event(s, event);
    }
    s->now = MAX(s->now, until);
    s->promised_ns = 0; /* what comes now is somebody else's doing */
    return true;
}

bool axl_sim_enter(AxlState *s)
{
    return axl_sim_enter_as(s, AXL_WAIT_LOCKED);
}

void axl_sim_leave(AxlState *s)
{
    if (s->reset_wanted) {
        s->reset_wanted = false;
        axl_sim_settle(s, AXL_WAIT_LOCKED);
        axl_reset_device(s);
        axl_pcie_reset(s);
        axl_pcie_update(s);
        axl_faults_reset(s);
    }
    s->running = false;
    axl_sim_rearm(s);
    object_unref(OBJECT(s));
}

void axl_sim_catch_up(AxlState *s)
{
    if (axl_sim_enter(s)) {
        axl_sim_leave(s);
    }
}

void axl_sim_timer(void *opaque)
{
    AxlState *s = opaque;

    s->armed_ns = AXL_NEVER;
    if (axl_sim_enter_as(s, AXL_WAIT_NOT)) {
        if (s->aside.cmd && icount_enabled()) {
            axl_aside_stop_time(s);
        }
        axl_sim_leave(s);
    }
}
