/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the rates of all running commands.
 *
 * While commands stream they share DRAM and both directions of the link. The
 * progress per ns of each grows, in proportion to its priority's weight over
 * its dominant demand, until a resource that it uses is exhausted (progressive
 * filling: weighted max-min fairness of the dominant share). Its lost time is
 * charged to that resource. Rates change only when a command starts or ends, or
 * a property changes, so there is no work per burst or TLP.
 */
#include "qemu-device/timing/timing.h"

#include <math.h>

enum { RES_DRAM, RES_RX, RES_TX, NUM_RES };

static const uint8_t axl_resource_stall[NUM_RES] = {
    [RES_DRAM] = AXL_STALL_MEMORY,
    [RES_RX] = AXL_STALL_PCIE,
    [RES_TX] = AXL_STALL_PCIE,
};

typedef struct AxlFlow {
    AxlRun *run;
    double use[NUM_RES]; /* ns of each resource for the whole command */
    double own_ns;       /* of the engine, not throttled */
    double cap;          /* fastest progress by its own means */
    double throttle;
    double grow;
    double rate;
    unsigned cause;
    bool frozen;
} AxlFlow;

static void axl_flow_cap(AxlFlow *f, double ns, unsigned cause)
{
    if (ns > 0 && 1 / ns < f->cap) {
        f->cap = 1 / ns;
        f->cause = cause;
    }
}

static void axl_flow_init(const AxlTiming *t, AxlFlow *f, AxlRun *run, int64_t now_ns)
{
    const AxlDemand *d = &run->work->demand;
    double dominant;

    *f = (AxlFlow) {
        .run = run,
        .use = { d->dram_ns, d->rx_bytes * t->link.rx_ns_per_byte,
                 d->tx_bytes * t->link.tx_ns_per_byte },
        .own_ns = d->cycles * axl_cycle_ns(t) / d->rate,
        .throttle = t->fault->throttle_permille * 1e-3,
        .cap = INFINITY,
        .cause = AXL_CAUSE_BUSY,
    };
    axl_flow_cap(f, f->own_ns / f->throttle,
                 f->throttle < 1 ? AXL_STALL_THROTTLE : AXL_CAUSE_BUSY);
    axl_flow_cap(f, d->tag_ns, AXL_STALL_TAG);
    axl_flow_cap(f, d->scratch_ns, AXL_STALL_MEMORY);
    if (axl_link_down(t, now_ns) && (d->rx_bytes > 0 || d->tx_bytes > 0)) {
        f->cause = AXL_STALL_PCIE;
        f->frozen = true;
        return;
    }
    dominant = MAX(f->use[RES_DRAM], MAX(f->use[RES_RX], f->use[RES_TX]));
    if (dominant > 0) {
        f->grow = (1 << run->priority) / dominant;
    } else {
        f->rate = isinf(f->cap) ? 1 : f->cap;
        f->frozen = true;
    }
}

static void axl_flow_fill(AxlFlow *flow, unsigned n)
{
    double left[NUM_RES] = { 1, 1, 1 };
    unsigned active = 0;

    for (unsigned i = 0; i < n; i++) {
        active += !flow[i].frozen;
    }
    while (active) {
        double step = INFINITY, load[NUM_RES] = { 0 };
        int resource = -1, limited = -1;

        for (unsigned i = 0; i < n; i++) {
            if (flow[i].frozen) {
                continue;
            }
            for (unsigned r = 0; r < NUM_RES; r++) {
                load[r] += flow[i].grow * flow[i].use[r];
            }
            if ((flow[i].cap - flow[i].rate) / flow[i].grow < step) {
                step = (flow[i].cap - flow[i].rate) / flow[i].grow;
                limited = i;
            }
        }
        for (unsigned r = 0; r < NUM_RES; r++) {
            if (load[r] > 0 && left[r] / load[r] < step) {
                step = left[r] / load[r];
                resource = r;
            }
        }
        for (unsigned i = 0; i < n; i++) {
            AxlFlow *f = &flow[i];

            if (f->frozen) {
                continue;
            }
            f->rate += f->grow * step;
            for (unsigned r = 0; r < NUM_RES; r++) {
                left[r] = MAX(left[r] - f->grow * step * f->use[r], 0);
            }
            if (resource >= 0 ? f->use[resource] > 0 : (int)i == limited) {
                if (resource >= 0) {
                    f->cause = axl_resource_stall[resource];
                }
                f->frozen = true;
                active--;
            }
        }
    }
}

static int64_t axl_flow_end(const AxlFlow *f, int64_t now_ns)
{
    double left_ns = (1 - f->run->work->progress) / f->rate;

    return f->rate > 0 && left_ns < 1e15 ? now_ns + (int64_t)ceil(left_ns - 1e-6) : AXL_NEVER;
}

bool axl_run_streams(const AxlRun *r)
{
    return r->work && r->phase == AXL_PHASE_STREAM;
}

void axl_share(const AxlTiming *t, AxlRun *const run[], unsigned count, int64_t now_ns)
{
    AxlFlow flow[AXL_NUM_ENGINES];
    unsigned n = 0;

    for (unsigned i = 0; i < count; i++) {
        if (axl_run_streams(run[i])) {
            axl_flow_init(t, &flow[n++], run[i], now_ns);
        }
    }
    axl_flow_fill(flow, n);
    for (unsigned i = 0; i < n; i++) {
        AxlFlow *f = &flow[i];

        f->run->rate = f->rate;
        f->run->cause = f->cause;
        f->run->busy_share = f->cause == AXL_CAUSE_BUSY ? 1 : MIN(f->rate * f->own_ns, 1);
        f->run->end_ns = axl_flow_end(f, now_ns);
    }
}

static double *axl_run_bytes(const AxlRun *r, bool rx)
{
    return rx ? &r->work->demand.rx_bytes : &r->work->demand.tx_bytes;
}

bool axl_run_uses(const AxlRun *r, bool rx)
{
    return axl_run_streams(r) && *axl_run_bytes(r, rx) != 0;
}

/* A run that streams in the same direction is delayed by the small transfer's time. */
bool axl_run_delay(AxlRun *r, uint64_t wire_bytes, bool rx)
{
    if (r->work->progress >= 1 - 1e-6) {
        return false;
    }
    *axl_run_bytes(r, rx) += wire_bytes / (1 - r->work->progress);
    return true;
}
