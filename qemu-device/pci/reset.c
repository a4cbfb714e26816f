/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: CTRL.RESET and the common part of a bus reset. */
#include "qemu-device/frontend/frontend.h"
#include "qemu-device/host/trace.h"
#include "qemu-device/observe/observe.h"
#include "qemu-device/pci/state.h"

/* Resets everything but the clock and the contents of DRAM. */
void axl_reset_device(AxlState *s)
{
    trace_axl_reset(s->dev.id);
    axl_front_drop(&s->dev);
    axl_trace_event(&s->dev, AXL_EV_RESET, -1, 0, 0, 0);
    axl_ring_reset(&s->dev);
    axl_front_reset(&s->dev);
    s->ctrl = 0;
    s->int_status = s->int_mask = 0;
    s->ptm_valid = false;
    s->clear = (AxlClear) { 0 };
    axl_dram_reset(&s->dev.timing.dram);
    axl_account_reset(&s->dev);
    axl_truth_event(&s->dev, "reset", "\"instance\":%u", s->dev.index);
    axl_truth_flush(&s->dev);
}
