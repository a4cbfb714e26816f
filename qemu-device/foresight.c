/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the earliest time at which a completion can come. The host need not run
 * the device before (sim.c): a completion must never be late, a wake-up that
 * finds none only costs time. So everything here is a lower bound, over what the
 * queues' windows hold, from the device's next event on; before that nothing
 * changes.
 *
 * A command ends no earlier than its engine's earlier work of the same queue and
 * the signals it waits for allow, plus the least it can run. Signals come from
 * commands in windows, whose own bounds are taken from this pass or the one
 * before, or from commands still in host memory: those have a horizon.
 */
#include "axl.h"

#define SHARED 0xfe
#define PASSES 2

typedef struct AxlForesight {
    const AxlState *s;
    int64_t next;                                /* the device's next event */
    int64_t horizon[AXL_MAX_QUEUES];             /* what is not fetched cannot end before */
    int64_t end[AXL_MAX_QUEUES][AXL_WINDOW];     /* by window slot */
} AxlForesight;

/* Remembers which queue signals a semaphore: 0 = none yet, queue + 1, or several. */
void axl_foresight_learn(AxlState *s, const AxlCmd *cmd)
{
    uint16_t sem = cmd->desc.signal_sem;

    if (sem != AXL_SEM_NONE) {
        s->sem_owner[sem] = s->sem_owner[sem] && s->sem_owner[sem] != cmd->queue + 1 ?
                            SHARED : cmd->queue + 1;
    }
}

/* How long a command runs at the least, whatever it finds. */
static int64_t axl_foresight_run(const AxlState *s, const AxlCmd *cmd)
{
    double ns = cmd->least.cycles * axl_engine_cycle_ns(s);

    if (s->functional) {
        return 1;
    }
    if (cmd->engine == AXL_ENGINE_MATRIX) {
        ns *= 1e3 / s->knob.matrix_rate;
    } else if (cmd->engine == AXL_ENGINE_VECTOR) {
        ns *= 1e3 / s->knob.vector_rate;
    }
    ns = MAX(ns, cmd->least.link_bytes * MIN(s->rx_ns_per_byte, s->tx_ns_per_byte));
    ns = MAX(ns, cmd->least.dram_bytes * 1e3 / s->knob.dram_bandwidth);
    return s->knob.dispatch_ns + (int64_t)ns;
}

/* When wait number w of a command can be satisfied. */
static int64_t axl_foresight_signal(const AxlForesight *f, const AxlCmd *waiter, unsigned w)
{
    uint16_t sem = waiter->desc.wait_sem[w];
    uint64_t value = waiter->desc.wait_value[w];
    const AxlState *s = f->s;
    unsigned owner = s->sem_owner[sem];
    const AxlQueue *q;
    int64_t ready = AXL_NEVER;

    if (owner == 0 || owner == SHARED) {
        return f->next;
    }
    for (unsigned other = 0; other < AXL_MAX_QUEUES; other++) {
        /* What follows in its own queue cannot be what it waits for: that would hang. */
        ready = other == waiter->queue ? ready : MIN(ready, f->horizon[other]);
    }
    q = &s->queue[owner - 1];
    for (uint32_t i = q->retire; i != q->tail; i++) {
        const AxlCmd *cmd = &q->window[i % AXL_WINDOW];

        if (cmd->desc.signal_sem == sem && cmd->desc.signal_value >= value &&
            cmd->state != AXL_CMD_DONE && cmd != waiter) {
            ready = MIN(ready, f->end[owner - 1][i % AXL_WINDOW]);
        }
    }
    return ready == AXL_NEVER ? f->next : ready;
}

static int64_t axl_foresight_end(AxlForesight *f, const AxlCmd *cmd, int64_t engine_free)
{
    const AxlState *s = f->s;
    int64_t ready = engine_free;

    if (cmd->state == AXL_CMD_RUNNING) {
        return axl_engine_earliest_end(s, cmd->engine, f->next);
    }
    for (unsigned w = 0; w < 2; w++) {
        uint16_t sem = cmd->desc.wait_sem[w];

        if (sem != AXL_SEM_NONE && s->sem[sem] < cmd->desc.wait_value[w]) {
            ready = MAX(ready, axl_foresight_signal(f, cmd, w));
        }
    }
    return ready + axl_foresight_run(s, cmd);
}

static int64_t axl_foresight_queue(AxlForesight *f, unsigned n)
{
    const AxlState *s = f->s;
    const AxlQueue *q = &s->queue[n];
    int64_t engine_free[AXL_NUM_ENGINES] = { f->next, f->next, f->next, f->next };
    int64_t earliest = f->next, completion = AXL_NEVER;

    for (uint32_t i = q->retire; i != q->tail; i++) {
        const AxlCmd *cmd = &q->window[i % AXL_WINDOW];
        int64_t *end = &f->end[n][i % AXL_WINDOW];

        if (cmd->status != AXL_ST_OK && cmd->state != AXL_CMD_DONE) {
            completion = f->next; /* an error completes out of order */
        }
        if (cmd->state == AXL_CMD_DONE) {
            *end = f->next;
        } else {
            *end = axl_foresight_end(f, cmd, engine_free[cmd->engine]);
            engine_free[cmd->engine] = *end;
        }
        earliest = MAX(earliest, *end);
        if ((cmd->desc.flags & AXL_DESC_F_COMPLETE) && completion == AXL_NEVER) {
            completion = earliest;
        }
    }
    /* The one that completes may still be in host memory. */
    return MIN(completion, MAX(earliest, f->horizon[n])) + axl_completion_ns(s);
}

/* What a queue has not fetched yet ends no earlier than a fetch and a dispatch. */
static int64_t axl_foresight_horizon(const AxlForesight *f, unsigned n)
{
    const AxlState *s = f->s;
    const AxlQueue *q = &s->queue[n];

    if (q->sq_head == q->sq_tail) {
        return AXL_NEVER;
    }
    if (s->functional) {
        return f->next + 1;
    }
    return (q->fetching ? s->due[AXL_EV_FETCH + n] : f->next + s->knob.pcie_latency_ns) +
           s->knob.dispatch_ns;
}

static bool axl_foresight_active(const AxlState *s, unsigned n)
{
    const AxlQueue *q = &s->queue[n];

    return (q->status & AXL_Q_STATUS_ENABLED) && axl_context_runs(s, q->context) &&
           (q->retire != q->tail || q->sq_head != q->sq_tail);
}

int64_t axl_foresight(const AxlState *s, int64_t next)
{
    AxlForesight f;
    int64_t earliest = AXL_NEVER;

    f.s = s;
    f.next = next;
    for (unsigned n = 0; n < AXL_MAX_QUEUES; n++) {
        const AxlQueue *q = &s->queue[n];

        f.horizon[n] = axl_foresight_active(s, n) ? axl_foresight_horizon(&f, n) : AXL_NEVER;
        for (uint32_t i = q->retire; i != q->tail; i++) {
            f.end[n][i % AXL_WINDOW] = next;
        }
    }
    for (unsigned pass = 0; pass < PASSES; pass++) {
        earliest = AXL_NEVER;
        for (unsigned n = 0; n < AXL_MAX_QUEUES; n++) {
            if (axl_foresight_active(s, n)) {
                earliest = MIN(earliest, axl_foresight_queue(&f, n));
            }
        }
    }
    return earliest;
}
