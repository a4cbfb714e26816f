/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the command that an engine runs: its phases, its progress, and the
 * causes that its time is charged to.
 *
 * A running command owes time to one cause or, while it streams, to computing
 * and to the resource that limits it. Each whole tick is charged to the cause
 * that is owed most, so a command's ticks of a cause differ from the actual
 * time by less than two, however often causes and shares change.
 */
#include "qemu-device/timing/timing.h"

#include <string.h>

int64_t axl_run_start(const AxlTiming *t, AxlRun *r, AxlWork *w)
{
    r->work = w;
    r->phase = AXL_PHASE_DISPATCH;
    return t->functional ? 1 : t->knob->dispatch_ns;
}

void axl_run_stop(AxlRun *r)
{
    r->work = NULL;
    r->phase = AXL_PHASE_NONE;
}

static bool axl_demand_streams(const AxlDemand *d)
{
    return d->cycles > 0 || d->dram_ns > 0 || d->scratch_ns > 0 || d->rx_bytes > 0 ||
           d->tx_bytes > 0;
}

static bool axl_run_enter(AxlRun *r, AxlPhase phase, int64_t phase_ns, int64_t *ns)
{
    if (phase_ns <= 0) {
        return false;
    }
    r->phase = phase;
    *ns = phase_ns;
    return true;
}

AxlNext axl_run_next(AxlRun *r, int64_t *ns)
{
    const AxlDemand *d = &r->work->demand;

    switch (r->phase) {
    case AXL_PHASE_DISPATCH:
        if (r->work->hung) {
            r->phase = AXL_PHASE_HUNG;
            return AXL_NEXT_HUNG;
        }
        if (axl_run_enter(r, AXL_PHASE_LATENCY_PCIE, d->pcie_latency_ns, ns)) {
            return AXL_NEXT_PHASE;
        }
        /* fall through */
    case AXL_PHASE_LATENCY_PCIE:
        if (axl_run_enter(r, AXL_PHASE_LATENCY_MEMORY, d->memory_latency_ns, ns)) {
            return AXL_NEXT_PHASE;
        }
        /* fall through */
    case AXL_PHASE_LATENCY_MEMORY:
        if (axl_demand_streams(d)) {
            r->phase = AXL_PHASE_STREAM;
            return AXL_NEXT_STREAM;
        }
        /* fall through */
    case AXL_PHASE_STREAM:
        return AXL_NEXT_END;
    default:
        return AXL_NEXT_HUNG;
    }
}

/* The cause that the present phase is charged to. */
static unsigned axl_run_cause(const AxlRun *r)
{
    switch (r->phase) {
    case AXL_PHASE_DISPATCH:
        return AXL_STALL_DISPATCH;
    case AXL_PHASE_LATENCY_PCIE:
        return AXL_STALL_PCIE;
    case AXL_PHASE_LATENCY_MEMORY:
        return AXL_STALL_MEMORY;
    case AXL_PHASE_STREAM:
        return r->cause;
    default:
        return AXL_CAUSE_BUSY;
    }
}

/*
 * Deals n whole ticks to the causes that are owed most, beginning with `first`
 * among equals. Most of the amount is dealt at once and the rest one by one.
 * The rest is small, since the amounts owed add up to what is dealt.
 */
static void axl_deal(double *owed, uint64_t n, unsigned first, uint64_t *dealt)
{
    const uint64_t one_by_one = AXL_NUM_CAUSES + 1;

    for (unsigned c = 0; c < AXL_NUM_CAUSES; c++) {
        dealt[c] = owed[c] > one_by_one ? MIN((uint64_t)owed[c] - one_by_one, n) : 0;
        owed[c] -= dealt[c];
        n -= dealt[c];
    }
    while (n--) {
        unsigned most = first;

        for (unsigned c = 0; c < AXL_NUM_CAUSES; c++) {
            if (owed[c] > owed[most]) {
                most = c;
            }
        }
        dealt[most]++;
        owed[most] -= 1;
    }
}

/* Tallies the amounts up to the command's progress; everything at progress 1. */
static void axl_work_tally(AxlWork *w, AxlCharge *charge)
{
    for (unsigned t = 0; t < AXL_NUM_TALLIES; t++) {
        uint64_t to = w->progress >= 1 ? w->total[t] : w->progress * w->total[t];

        if (to > w->done[t]) {
            charge->amount[t] = to - w->done[t];
            w->done[t] = to;
        }
    }
}

void axl_run_elapse(AxlRun *r, double elapsed, uint64_t ticks, int64_t ns, AxlCharge *charge)
{
    AxlWork *w = r->work;
    bool streams = r->phase == AXL_PHASE_STREAM;
    unsigned cause = axl_run_cause(r);
    double busy = streams ? r->busy_share : 0;
    uint64_t ns_of[AXL_NUM_CAUSES];

    memset(charge, 0, sizeof(*charge));
    w->owed_ticks[AXL_CAUSE_BUSY] += elapsed * busy;
    w->owed_ticks[cause] += elapsed * (1 - busy);
    w->owed_ns[AXL_CAUSE_BUSY] += ns * busy;
    w->owed_ns[cause] += ns * (1 - busy);
    axl_deal(w->owed_ticks, ticks, cause, charge->ticks);
    axl_deal(w->owed_ns, ns, cause, ns_of);
    w->bound_ns[cause] += ns;
    for (unsigned c = 0; c < AXL_NUM_CAUSES; c++) {
        w->ticks[c] += charge->ticks[c];
        w->ns[c] += ns_of[c];
    }
    if (streams) {
        w->progress = MIN(w->progress + r->rate * ns, 1);
        axl_work_tally(w, charge);
    }
}

void axl_work_waited(AxlWork *w, uint64_t ticks, int64_t ns)
{
    w->ticks[AXL_STALL_SEMAPHORE] += ticks;
    w->ns[AXL_STALL_SEMAPHORE] += ns;
    w->bound_ns[AXL_STALL_SEMAPHORE] += ns;
}

void axl_work_finish(AxlWork *w, AxlCharge *charge)
{
    memset(charge, 0, sizeof(*charge));
    w->progress = 1;
    axl_work_tally(w, charge);
}

unsigned axl_work_limiting_cause(const AxlWork *w)
{
    unsigned best = AXL_CAUSE_BUSY;

    for (unsigned c = 0; c < AXL_NUM_STALLS; c++) {
        if (w->bound_ns[c] > w->bound_ns[best]) {
            best = c;
        }
    }
    return best;
}

unsigned axl_work_limiter(const AxlWork *w)
{
    unsigned cause = axl_work_limiting_cause(w);

    return cause == AXL_CAUSE_BUSY ? AXL_LIMIT_COMPUTE : cause + AXL_LIMIT_SEMAPHORE;
}

int64_t axl_run_least_end(const AxlTiming *t, const AxlRun *r, int64_t due, int64_t next,
                          int64_t accounted_ns)
{
    const AxlDemand *d = &r->work->demand;
    double alone_ns = axl_alone_ns(t, d), left;

    if (r->work->hung || r->phase == AXL_PHASE_HUNG) {
        return AXL_FAR;
    }
    switch (r->phase) {
    case AXL_PHASE_DISPATCH:
        return due + d->pcie_latency_ns + d->memory_latency_ns + axl_at_least(alone_ns);
    case AXL_PHASE_LATENCY_PCIE:
        return due + d->memory_latency_ns + axl_at_least(alone_ns);
    case AXL_PHASE_LATENCY_MEMORY:
        return due + axl_at_least(alone_ns);
    default:
        /*
         * Streaming: at the present rate until the next event, then at best as
         * if alone.
         */
        if (due <= next) {
            return due;
        }
        left = 1 - r->work->progress - r->rate * (next - accounted_ns);
        return next + axl_at_least(left * alone_ns);
    }
}
