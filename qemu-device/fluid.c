/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: how fast the running commands go, together.
 *
 * While commands stream they share DRAM and both directions of the link. Each
 * one's progress per ns grows, in proportion to its priority's weight over its
 * dominant demand, until something it uses is used up (progressive filling:
 * weighted max-min fairness of the dominant share). What stopped it is what its
 * lost time is charged to. Rates change only when a command starts or ends, or
 * a knob turns: no work per burst or TLP.
 */
#include "axl.h"

enum { RES_DRAM, RES_RX, RES_TX, NUM_RES };

static const uint8_t axl_resource_stall[NUM_RES] = {
    [RES_DRAM] = AXL_STALL_MEMORY,
    [RES_RX] = AXL_STALL_PCIE,
    [RES_TX] = AXL_STALL_PCIE,
};

typedef struct AxlFlow {
    AxlEngine *eng;
    double use[NUM_RES]; /* ns of each resource for the whole command */
    double own_ns;       /* of the engine, not throttled */
    double cap;          /* fastest progress by its own means */
    double throttle;
    double grow;
    double rate;
    unsigned cause;
    bool frozen;
} AxlFlow;

double axl_engine_cycle_ns(const AxlState *s)
{
    return 1e3 / s->knob.clock_mhz;
}

static void axl_flow_cap(AxlFlow *f, double ns, unsigned cause)
{
    if (ns > 0 && 1 / ns < f->cap) {
        f->cap = 1 / ns;
        f->cause = cause;
    }
}

static void axl_flow_init(AxlState *s, AxlFlow *f, AxlEngine *eng)
{
    const AxlDemand *d = &eng->cmd->demand;
    double dominant;

    *f = (AxlFlow) {
        .eng = eng,
        .use = { d->dram_ns, d->rx_bytes * s->rx_ns_per_byte, d->tx_bytes * s->tx_ns_per_byte },
        .own_ns = d->cycles * axl_engine_cycle_ns(s) / d->rate,
        .throttle = s->fault.throttle_permille * 1e-3,
        .cap = INFINITY,
        .cause = AXL_CAUSE_BUSY,
    };
    axl_flow_cap(f, f->own_ns / f->throttle,
                 f->throttle < 1 ? AXL_STALL_THROTTLE : AXL_CAUSE_BUSY);
    axl_flow_cap(f, d->tag_ns, AXL_STALL_TAG);
    axl_flow_cap(f, d->scratch_ns, AXL_STALL_MEMORY);
    if (axl_link_down(s) && (d->rx_bytes > 0 || d->tx_bytes > 0)) {
        f->cause = AXL_STALL_PCIE;
        f->frozen = true;
        return;
    }
    dominant = MAX(f->use[RES_DRAM], MAX(f->use[RES_RX], f->use[RES_TX]));
    if (dominant > 0) {
        f->grow = (1 << s->ctx[eng->cmd->ctx].priority) / dominant;
    } else {
        f->rate = isinf(f->cap) ? 1 : f->cap;
        f->frozen = true;
    }
}

/* Streaming takes no less even with the chip to itself. */
double axl_fluid_alone_ns(const AxlState *s, const AxlDemand *d)
{
    double ns = d->rate > 0 ? d->cycles * axl_engine_cycle_ns(s) / d->rate : 0;

    ns = MAX(ns, MAX(d->tag_ns, d->scratch_ns));
    ns = MAX(ns, MAX(d->rx_bytes * s->rx_ns_per_byte, d->tx_bytes * s->tx_ns_per_byte));
    return MAX(ns, d->dram_ns);
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

static int64_t axl_flow_end(const AxlState *s, const AxlFlow *f)
{
    double left_ns = (1 - f->eng->cmd->progress) / f->rate;

    return f->rate > 0 && left_ns < 1e15 ? s->now + (int64_t)ceil(left_ns - 1e-6) : AXL_NEVER;
}

/* Call after anything that changes what streams or how fast it may. */
void axl_fluid_update(AxlState *s)
{
    AxlFlow flow[AXL_NUM_ENGINES];
    unsigned n = 0;

    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        if (s->engine[e].cmd && s->engine[e].phase == AXL_PHASE_STREAM) {
            axl_account_engine(s, e);
            axl_flow_init(s, &flow[n++], &s->engine[e]);
        }
    }
    axl_flow_fill(flow, n);
    for (unsigned i = 0; i < n; i++) {
        AxlFlow *f = &flow[i];
        AxlEngine *eng = f->eng;

        eng->rate = f->rate;
        eng->cause = f->cause;
        eng->busy_share = f->cause == AXL_CAUSE_BUSY ? 1 : MIN(f->rate * f->own_ns, 1);
        axl_sim_at(s, AXL_EV_ENGINE_ + (eng - s->engine), axl_flow_end(s, f));
    }
}

/* A small transfer goes first: what streams the same way gives up its bytes' time. */
static void axl_fluid_delay(AxlState *s, uint64_t wire_bytes, size_t demand)
{
    bool changed = false;

    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        AxlEngine *eng = &s->engine[e];
        double *bytes;

        if (!eng->cmd || eng->phase != AXL_PHASE_STREAM) {
            continue;
        }
        bytes = (double *)((char *)&eng->cmd->demand + demand);
        if (*bytes == 0) {
            continue;
        }
        axl_account_engine(s, e);
        if (eng->cmd->progress < 1 - 1e-6) {
            *bytes += wire_bytes / (1 - eng->cmd->progress);
            changed = true;
        }
    }
    if (changed) {
        axl_fluid_update(s);
    }
}

void axl_fluid_delay_tx(AxlState *s, uint64_t wire_bytes)
{
    axl_fluid_delay(s, wire_bytes, offsetof(AxlDemand, tx_bytes));
}

void axl_fluid_delay_rx(AxlState *s, uint64_t wire_bytes)
{
    axl_fluid_delay(s, wire_bytes, offsetof(AxlDemand, rx_bytes));
}
