/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the numbers of a large command, on a thread of their own.
 *
 * A command's results are due at its modelled end, and the host may need seconds
 * for them: QEMU's monitor and other devices would wait as long. So the device
 * stands still at that instant, the thread computes without QEMU's lock, and the
 * device goes on from there. Its times do not change, only when the host comes to
 * them; whoever touches a register meanwhile waits for the end. Under icount
 * virtual time stands still too, so that nothing at all depends on the host.
 */
#include "qemu-device/loop/loop.h"

#include "hw/core/cpu.h"

/* The VM goes on: so does what was done while it stood. */
static void axl_aside_vm_changed(void *opaque, bool running, RunState state)
{
    AxlLoop *l = opaque;

    if (running && l->worker.active) {
        qemu_bh_schedule(l->worker.bh);
    }
}

/* Hands a command over if it is large; the device then stands at its end. */
bool axl_aside_begin(AxlLoop *l, unsigned engine, const struct axl_desc *d)
{
    AxlWorker *w = &l->worker;

    if (!w->work || axl_numbers_steps(d) < w->work) {
        return false;
    }
    if (!l->vm_changed) {
        l->vm_changed = qemu_add_vm_change_state_handler(axl_aside_vm_changed, l);
    }
    l->engine = engine;
    object_ref(l->owner); /* until it is taken: unplugging does not wait */
    axl_worker_begin(w, d);
    return true;
}

unsigned axl_aside_take(AxlLoop *l)
{
    unsigned status = axl_worker_take(&l->worker);

    object_unref(l->owner);
    return status;
}

/*
 * Until the thread is done. unlocked: for a CPU that waits in an access of its
 * own to a register; others may then access the device, and the monitor runs.
 */
void axl_aside_wait(AxlLoop *l, bool unlocked)
{
    MemReentrancyGuard *guard = &DEVICE(l->owner)->mem_reentrancy_guard;
    bool engaged = guard->engaged_in_io;

    if (!unlocked) {
        axl_worker_wait(&l->worker);
        return;
    }
    guard->engaged_in_io = false;
    axl_unlock();
    axl_worker_wait(&l->worker);
    axl_lock();
    guard->engaged_in_io = engaged;
}

/* On the CPU's thread, between instructions. */
static void axl_aside_hold(CPUState *cpu, run_on_cpu_data data)
{
    AxlLoop *l = data.host_ptr;

    if (l->worker.active && l->timer) {
        /* A timer that is due keeps virtual time from being moved on. */
        l->armed_ns = l->dev->now;
        timer_mod(l->timer, l->dev->now);
        axl_aside_wait(l, true);
    }
    object_unref(l->owner);
}

/* After a timer that left a command under way, under icount. */
void axl_aside_stop_time(AxlLoop *l)
{
    object_ref(l->owner);
    async_run_on_cpu(qemu_get_cpu(0), axl_aside_hold, RUN_ON_CPU_HOST_PTR(l));
}
