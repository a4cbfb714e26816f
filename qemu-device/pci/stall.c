/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: a register read holds the CPU while its request and its completion
 * travel, as it does on a real bus. Under icount virtual time is moved on the
 * way QEMU itself does when it skips idle time; without icount it passes by
 * itself and is waited for. Only a CPU can be held: a peer's DMA or the monitor
 * reads at once, and under qtest time belongs to the test.
 */
#include "qemu-device/pci/state.h"
#include "hw/core/cpu.h"
#include "qemu/seqlock.h"
#include "qemu/thread.h"
#if __has_include("system/cpu-timers-internal.h")
#include "system/cpu-timers-internal.h"
#else
#include "softmmu/timers-state.h"
#endif

void axl_stall_cpu(int64_t ns)
{
    int64_t until;

    if (ns <= 0 || qtest_enabled() || !current_cpu) {
        return;
    }
    if (icount_enabled()) {
        seqlock_write_lock(&timers_state.vm_clock_seqlock, &timers_state.vm_clock_lock);
        qatomic_set_i64(&timers_state.qemu_icount_bias, timers_state.qemu_icount_bias + ns);
        seqlock_write_unlock(&timers_state.vm_clock_seqlock, &timers_state.vm_clock_lock);
        /* The CPU's instruction budget was for timers that are nearer now. */
        icount_notify_exit();
        return;
    }
    until = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns;
    while (qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) < until && runstate_is_running()) {
        cpu_relax();
    }
}
