/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: where the device moves virtual time itself.
 *
 * A register read holds the CPU while its request and its completion
 * travel, as it does on a real bus. Under icount virtual time is moved on the
 * way QEMU itself does when it skips idle time; without icount it passes by
 * itself and is waited for. Only a CPU can be held: a peer's DMA or the monitor
 * reads at once, and under qtest time belongs to the test.
 *
 * And when every CPU sleeps under `-icount ...,sleep=off`, virtual time jumps to
 * the next timer anyway; the device then goes from one of its events to the next
 * in one go, where QEMU would pass the baton between two threads for each.
 */
#include "axl.h"
#include "hw/core/cpu.h"
#include "qemu/config-file.h"
#include "qemu/option.h"
#include "qemu/seqlock.h"
#include "qemu/thread.h"
#if __has_include("system/cpu-timers-internal.h")
#include "system/cpu-timers-internal.h"
#include "system/cpus.h"
#else
#include "softmmu/timers-state.h"
#include "sysemu/cpus.h"
#endif

static void axl_advance(int64_t ns)
{
    seqlock_write_lock(&timers_state.vm_clock_seqlock, &timers_state.vm_clock_lock);
    qatomic_set_i64(&timers_state.qemu_icount_bias, timers_state.qemu_icount_bias + ns);
    seqlock_write_unlock(&timers_state.vm_clock_seqlock, &timers_state.vm_clock_lock);
}

/* Whether idle time costs nothing: -icount with sleep=off. */
static bool axl_idle_jumps(void)
{
    QemuOpts *opts;

    if (!icount_enabled()) {
        return false;
    }
    opts = qemu_opts_find(qemu_find_opts("icount"), NULL);
    return opts && !qemu_opt_get_bool(opts, "sleep", true);
}

/* From a timer: true if virtual time is now `ns`, because nothing else could happen before. */
bool axl_skip_idle(int64_t ns)
{
    static int jumps = -1;
    int64_t now, deadline;

    if (jumps < 0) {
        jumps = axl_idle_jumps();
    }
    if (!jumps || !runstate_is_running() || !all_cpu_threads_idle()) {
        return false;
    }
    now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    deadline = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL);
    if (deadline >= 0 && now + deadline <= ns) {
        return false;
    }
    if (ns > now) {
        axl_advance(ns - now);
    }
    return true;
}

void axl_stall_cpu(int64_t ns)
{
    int64_t until;

    if (ns <= 0 || qtest_enabled() || !current_cpu) {
        return;
    }
    if (icount_enabled()) {
        axl_advance(ns);
        /* The CPU's instruction budget was for timers that are nearer now. */
        icount_notify_exit();
        return;
    }
    until = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns;
    while (qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) < until && runstate_is_running()) {
        cpu_relax();
    }
}
