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
 *
 * The thread sees a copy of the descriptor and device memory, nothing else.
 */
#include "axl.h"

#include "hw/core/cpu.h"
#include "qemu/main-loop.h"

/* Steps of the host's arithmetic, roughly a nanosecond for four of them. */
static uint64_t axl_aside_steps(const struct axl_desc *d)
{
    const struct axl_matmul *m = &d->matmul;

    if (d->opcode == AXL_OP_MATMUL) {
        uint64_t cols = m->m <= 2 ? m->n : ROUND_UP((uint64_t)m->n, 16);

        /* At most 2^36, and at least something for each of a batch. */
        return ((uint64_t)m->m * m->k * cols + 1024) * m->batch;
    }
    if (d->opcode >= AXL_OP_VEC_FILL && d->opcode <= AXL_OP_VEC_SUM) {
        return 16 * (uint64_t)d->vector.rows * d->vector.cols;
    }
    return 0;
}

static void *axl_aside_thread(void *opaque)
{
    AxlState *s = opaque;
    AxlAside *a = &s->aside;

    for (;;) {
        qemu_event_wait(&a->start);
        qemu_event_reset(&a->start);
        if (qatomic_load_acquire(&a->quit)) {
            return NULL;
        }
        a->status = axl_exec_numbers(&s->mem, &a->desc);
        qatomic_store_release(&a->finished, true);
        qemu_event_set(&a->done);
        qemu_bh_schedule(a->bh);
    }
}

static void axl_aside_bh(void *opaque)
{
    AxlState *s = opaque;

    /* It may be taken already, or another may have begun since. */
    if (!axl_aside_done(s)) {
        return;
    }
    if (s->removed) {
        axl_aside_take(s);
    } else if (!icount_enabled() && runstate_is_running()) {
        axl_sim_timer(s);
    }
}

/* The VM goes on: so does what was done while it stood. */
static void axl_aside_vm_changed(void *opaque, bool running, RunState state)
{
    AxlState *s = opaque;

    if (running && s->aside.cmd) {
        qemu_bh_schedule(s->aside.bh);
    }
}

/* Hands a command over if it is large; the device then stands at its end. */
bool axl_aside_begin(AxlState *s, unsigned e, AxlCmd *cmd)
{
    AxlAside *a = &s->aside;

    if (!a->work || s->fault.poison > 0 || axl_aside_steps(&cmd->desc) < a->work) {
        return false;
    }
    if (!a->bh) {
        a->bh = qemu_bh_new(axl_aside_bh, s);
        qemu_event_init(&a->start, false);
        qemu_event_init(&a->done, false);
        a->vm_changed = qemu_add_vm_change_state_handler(axl_aside_vm_changed, s);
        qemu_thread_create(&a->thread, "axl-numbers", axl_aside_thread, s, QEMU_THREAD_JOINABLE);
    }
    a->cmd = cmd;
    a->engine = e;
    a->desc = cmd->desc;
    a->commands++;
    a->finished = false;
    object_ref(OBJECT(s)); /* until it is taken: unplugging does not wait */
    qemu_event_reset(&a->done);
    qemu_event_set(&a->start);
    return true;
}

bool axl_aside_done(const AxlState *s)
{
    return s->aside.cmd && qatomic_load_acquire(&s->aside.finished);
}

/* What it ended with; the engine is free to go on. May be the device's end. */
unsigned axl_aside_take(AxlState *s)
{
    unsigned status = s->aside.status;

    s->aside.cmd = NULL;
    object_unref(OBJECT(s));
    return status;
}

/*
 * Until the thread is done. unlocked: for a CPU that waits in an access of its
 * own to a register; others may then come to the device, and the monitor to its turn.
 */
void axl_aside_wait(AxlState *s, bool unlocked)
{
    MemReentrancyGuard *guard = &DEVICE(s)->mem_reentrancy_guard;
    bool engaged = guard->engaged_in_io;

    if (!unlocked) {
        qemu_event_wait(&s->aside.done);
        return;
    }
    guard->engaged_in_io = false;
    axl_unlock();
    qemu_event_wait(&s->aside.done);
    axl_lock();
    guard->engaged_in_io = engaged;
}

/* On the CPU's thread, between instructions. */
static void axl_aside_hold(CPUState *cpu, run_on_cpu_data data)
{
    AxlState *s = data.host_ptr;

    if (s->aside.cmd && s->timer) {
        /* A timer that is due keeps virtual time from being moved on. */
        s->armed_ns = s->now;
        timer_mod(s->timer, s->now);
        axl_aside_wait(s, true);
    }
    object_unref(OBJECT(s));
}

/* After a timer that left a command under way, under icount. */
void axl_aside_stop_time(AxlState *s)
{
    object_ref(OBJECT(s));
    async_run_on_cpu(qemu_get_cpu(0), axl_aside_hold, RUN_ON_CPU_HOST_PTR(s));
}

void axl_aside_end(AxlState *s)
{
    AxlAside *a = &s->aside;

    if (!a->bh) {
        return;
    }
    qatomic_store_release(&a->quit, true);
    qemu_event_set(&a->start);
    qemu_thread_join(&a->thread);
    qemu_event_destroy(&a->start);
    qemu_event_destroy(&a->done);
    qemu_del_vm_change_state_handler(a->vm_changed);
    qemu_bh_delete(a->bh);
    a->bh = NULL;
}
