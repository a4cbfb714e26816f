/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: a register read stalls the CPU while its request and its completion
 * travel, as on a real bus. Under icount virtual time is advanced the way QEMU
 * does when it skips idle time; without icount the CPU waits for it. Only a CPU
 * can be stalled: a peer's DMA or the monitor reads immediately, and under
 * qtest the test controls time.
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
        /* The CPU's instruction budget was computed before time advanced. */
        icount_notify_exit();
        return;
    }
    until = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns;
    while (qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) < until && runstate_is_running()) {
        cpu_relax();
    }
}
