/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: until when the host may leave the device alone.
 *
 * The device's events keep their instants whenever they are run (sim.c), so the
 * host need not wake up for each event, only for effects that are visible
 * without an access to the device. These are its bus accesses other than
 * filling trace rings: descriptor and scatter-list reads, copies, completions,
 * interrupts, and reading a full ring's consumer index. A register access
 * catches up first. Only the contents of trace rings and of the window are
 * late, by AXL_LATE_NS at most, as posted writes may be on a real bus, and in
 * order: a register read, a completion or an interrupt finds everything that
 * precedes it.
 *
 * Every time here is a lower bound on the next such moment, so a wake-up may be
 * early, find nothing and compute a new bound, but is never late. The parts
 * give their own bounds; axl_foresight_check() compares every bus access with
 * the last promise.
 */
#include "qemu-device/frontend/frontend.h"
#include "qemu-device/loop/loop.h"
#include "qemu-device/observe/observe.h"

/* `next` is the device's next event, not AXL_NEVER. The result is at least `next`. */
int64_t axl_foresight(const AxlDevice *s, int64_t next)
{
    int64_t wake = next + AXL_LATE_NS;

    for (unsigned i = AXL_EV_FETCH; i < AXL_NUM_EVENTS; i++) {
        if (s->due[i] < wake && i != AXL_EV_LINK_UP &&
            (i < AXL_EV_WRITEBACK || i >= AXL_EV_IRQ)) {
            wake = s->due[i];
        }
    }
    for (unsigned r = 0; r < AXL_MAX_TRACE_RINGS && wake > next; r++) {
        wake = MIN(wake, axl_ring_shows(s, r, next));
    }
    return wake <= next ? next : axl_front_shows(s, next, wake);
}

/*
 * Called on every externally visible bus access: if it happens while the device
 * catches up, it must not be before the promised wake-up.
 */
void axl_foresight_check(AxlLoop *l)
{
    if (l->running && l->dev->now < l->promised_ns) {
        l->late_wakes++;
        error_report_once("axl: noticed at %" PRId64 " ns, wake-up was set for %" PRId64 " ns",
                          l->dev->now, l->promised_ns);
        g_assert(!qtest_enabled()); /* no test goes on with that */
    }
}
