/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the device's own event loop.
 *
 * Every future event has a slot in due[]. Slots run in time order, each at its
 * own instant (s->now), whenever the QEMU timer fires or the guest accesses a
 * register. So the guest reads the device's state at that virtual time, and no
 * timestamp depends on the host's timer latency. Therefore the timer need not
 * fire for every event; foresight.c says when it must.
 */
#include "qemu-device/frontend/frontend.h"
#include "qemu-device/loop/loop.h"
#include "qemu-device/observe/observe.h"

/*
 * A late host must not neglect its other devices for long. Where virtual time
 * is stopped meanwhile, it is never late, so there is no limit.
 */
#define AXL_EVENTS_PER_CALL 4096

static unsigned axl_sim_next(const AxlDevice *s)
{
    unsigned best = 0;

    for (unsigned i = 1; i < AXL_NUM_EVENTS; i++) {
        if (s->due[i] < s->due[best]) {
            best = i;
        }
    }
    return best;
}

static void axl_sim_event(AxlDevice *s, unsigned event)
{
    if (event < AXL_EV_FETCH) {
        axl_engine_phase_end(s, event);
    } else if (event < AXL_EV_COMPLETION) {
        axl_queue_fetched(s, event - AXL_EV_FETCH);
    } else if (event < AXL_EV_WRITEBACK) {
        axl_completion_due(s, event - AXL_EV_COMPLETION);
    } else if (event < AXL_EV_SAMPLE) {
        axl_ring_writeback(s, event - AXL_EV_WRITEBACK);
    } else if (event < AXL_EV_IRQ) {
        axl_ring_sample(s, event - AXL_EV_SAMPLE);
    } else if (event == AXL_EV_IRQ) {
        axl_irq_due(s);
    } else if (event == AXL_EV_RAMP) {
        axl_clock_ramp(s);
    } else if (event == AXL_EV_LINK_UP) {
        axl_flow_update(s);
    }
}

static void axl_sim_rearm(AxlLoop *l)
{
    AxlDevice *s = l->dev;
    int64_t next = s->due[axl_sim_next(s)];

    if (l->worker.active) {
        l->promised_ns = 0; /* the thread's end wakes the device */
        return;
    }
    if (next != AXL_NEVER && !l->eager) {
        next = axl_foresight(s, next);
    }
    l->promised_ns = next;
    if (axl_truth_pending(s) && axl_front_idle(s)) {
        axl_truth_flush(s);
    }
    if (next == l->armed_ns || !l->timer) {
        return;
    }
    l->armed_ns = next;
    if (next == AXL_NEVER) {
        timer_del(l->timer);
    } else {
        timer_mod(l->timer, next);
    }
}

/*
 * Returns false if the device pauses at the end of a command that the thread
 * still computes.
 */
static bool axl_sim_settle(AxlLoop *l, AxlWait wait)
{
    while (l->worker.active) {
        if (axl_worker_done(&l->worker)) {
            unsigned engine = l->engine, status = axl_aside_take(l);

            if (l->timer) {
                axl_engine_end(l->dev, engine, status);
            }
        } else if (wait == AXL_WAIT_NOT) {
            return false;
        } else {
            /* Not running between two events, so that others may run them. */
            l->running = wait != AXL_WAIT_UNLOCKED;
            axl_aside_wait(l, wait == AXL_WAIT_UNLOCKED);
            l->running = true;
        }
    }
    return true;
}

/*
 * Begins an access from outside: a register, a property, the timer. Returns
 * false if the device is running already; then the access is the device's own
 * write or message that was routed back to it, and is dropped.
 */
bool axl_sim_enter_as(AxlLoop *l, AxlWait wait)
{
    AxlDevice *s = l->dev;
    int64_t until = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    unsigned budget = icount_enabled() || qtest_enabled() ? UINT_MAX : AXL_EVENTS_PER_CALL;

    if (l->running) {
        return false;
    }
    /* A write by the device itself may power its slot off. */
    object_ref(l->owner);
    l->running = true;
    for (;;) {
        unsigned event;
        int64_t due;

        if (!axl_sim_settle(l, wait)) {
            return true;
        }
        event = axl_sim_next(s);
        due = s->due[event];
        if (due > until || !budget-- || !l->timer) {
            break;
        }
        s->due[event] = AXL_NEVER;
        s->now = MAX(s->now, due);
        axl_sim_event(s, event);
    }
    s->now = MAX(s->now, until);
    l->promised_ns = 0; /* what follows is caused from outside */
    return true;
}

bool axl_sim_enter(AxlLoop *l)
{
    return axl_sim_enter_as(l, AXL_WAIT_LOCKED);
}

void axl_sim_leave(AxlLoop *l)
{
    if (l->reset_wanted) {
        l->reset_wanted = false;
        axl_sim_settle(l, AXL_WAIT_LOCKED);
        l->bus_reset(l->dev);
    }
    l->running = false;
    axl_sim_rearm(l);
    object_unref(l->owner);
}

void axl_sim_catch_up(AxlLoop *l)
{
    if (axl_sim_enter(l)) {
        axl_sim_leave(l);
    }
}

static void axl_sim_timer(void *opaque)
{
    AxlLoop *l = opaque;

    l->armed_ns = AXL_NEVER;
    if (axl_sim_enter_as(l, AXL_WAIT_NOT)) {
        if (l->worker.active && icount_enabled()) {
            axl_aside_stop_time(l);
        }
        axl_sim_leave(l);
    }
}

/* The thread has finished a command. */
static void axl_sim_aside_done(void *opaque)
{
    AxlLoop *l = opaque;

    /* The result may have been taken already, or another command may have begun since. */
    if (!axl_worker_done(&l->worker)) {
        return;
    }
    if (l->dev->removed) {
        axl_aside_take(l);
    } else if (!icount_enabled() && runstate_is_running()) {
        axl_sim_timer(l);
    }
}

void axl_loop_init(AxlLoop *l)
{
    AxlDevice *s = l->dev;

    for (unsigned i = 0; i < AXL_NUM_EVENTS; i++) {
        s->due[i] = AXL_NEVER;
    }
    l->armed_ns = AXL_NEVER;
    l->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, axl_sim_timer, l);
    l->worker.mem = &s->mem;
    l->worker.bh = qemu_bh_new(axl_sim_aside_done, l);
    s->now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

void axl_loop_stop(AxlLoop *l)
{
    timer_free(l->timer);
    l->timer = NULL;
}

void axl_loop_end(AxlLoop *l)
{
    axl_worker_end(&l->worker);
    if (l->vm_changed) {
        qemu_del_vm_change_state_handler(l->vm_changed);
    }
    if (l->worker.bh) {
        qemu_bh_delete(l->worker.bh);
        l->worker.bh = NULL;
    }
}
