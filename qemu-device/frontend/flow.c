/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: updates the running commands' rates after any change of what streams or
 * of the limits. The rates themselves come from timing/share.c.
 */
#include "qemu-device/frontend/state.h"

void axl_flow_update(AxlDevice *s)
{
    AxlRun *run[AXL_NUM_ENGINES];

    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        AxlEngine *eng = &s->front->engine[e];

        run[e] = &eng->run;
        if (axl_run_streams(run[e])) {
            axl_account_engine(s, e);
            run[e]->priority = s->front->ctx[eng->cmd->ctx].priority;
        }
    }
    axl_share(&s->timing, run, AXL_NUM_ENGINES, s->now);
    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        if (axl_run_streams(run[e])) {
            axl_sim_at(s, AXL_EV_ENGINE_ + e, run[e]->end_ns);
        }
    }
}

/* A small transfer has priority and delays commands that stream in the same direction. */
static void axl_flow_give(AxlDevice *s, uint64_t wire_bytes, bool rx)
{
    bool changed = false;

    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        AxlRun *run = &s->front->engine[e].run;

        if (axl_run_uses(run, rx)) {
            axl_account_engine(s, e);
            changed |= axl_run_delay(run, wire_bytes, rx);
        }
    }
    if (changed) {
        axl_flow_update(s);
    }
}

void axl_flow_delay(AxlDevice *s, uint64_t rx_wire, uint64_t tx_wire)
{
    axl_flow_give(s, rx_wire, true);
    axl_flow_give(s, tx_wire, false);
}
