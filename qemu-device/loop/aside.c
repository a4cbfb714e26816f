/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: computes the results of a large command on a thread of their own.
 *
 * A command's results are due at its modelled end, and the host may need
 * seconds to compute them, which would block QEMU's monitor and other devices.
 * So the device pauses at that instant, the thread computes without QEMU's
 * lock, and then the device continues. Its times do not change, only when the
 * host reaches them; a register access meanwhile waits for the end. Under
 * icount virtual time is stopped too, so that nothing depends on the host.
 */
#include "qemu-device/loop/loop.h"

#include "hw/core/cpu.h"

/* When the VM resumes, take the results that were computed while it was stopped. */
static void axl_aside_vm_changed(void *opaque, bool running, RunState state)
{
    AxlLoop *l = opaque;

    if (running && l->worker.active) {
        qemu_bh_schedule(l->worker.bh);
    }
}

/* Hands a command over if it is large; the device then pauses at the command's end. */
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
 * Waits for the thread. `unlocked` is for a CPU that waits in its own register
 * access: others may then access the device, and the monitor runs.
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

/* Runs on the CPU's thread, between instructions. */
static void axl_aside_hold(CPUState *cpu, run_on_cpu_data data)
{
    AxlLoop *l = data.host_ptr;

    if (l->worker.active && l->timer) {
        /* A due timer keeps virtual time from advancing. */
        l->armed_ns = l->dev->now;
        timer_mod(l->timer, l->dev->now);
        axl_aside_wait(l, true);
    }
    object_unref(l->owner);
}

/* Called under icount after a timer that left a command under way. */
void axl_aside_stop_time(AxlLoop *l)
{
    object_ref(l->owner);
    async_run_on_cpu(qemu_get_cpu(0), axl_aside_hold, RUN_ON_CPU_HOST_PTR(l));
}
