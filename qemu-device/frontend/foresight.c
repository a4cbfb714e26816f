/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: until when the front end does nothing visible by itself
 * (loop/foresight.c says why). Every time here is a lower bound, derived from
 * these facts: nothing changes before the device's next event; commands of one
 * queue on one engine run in sequence; a command that waits for a semaphore
 * does not start before one that signals it ends; a command takes at least its
 * dispatch, its first access, and the streaming time that it would need alone.
 */
#include "qemu-device/frontend/state.h"

#define AXL_SLOTS (AXL_MAX_QUEUES * AXL_WINDOW)
#define AXL_PASSES 3 /* over the queues: each carries the bounds one hop further */

typedef struct AxlAhead {
    const AxlDevice *s;
    int64_t next;                     /* the device's next event */
    int64_t free_ns[AXL_NUM_ENGINES]; /* the running command ends no earlier */
    int64_t end[AXL_SLOTS];           /* nor does the command of a window's slot */
    uint16_t first[AXL_MAX_SEMS];     /* 1 + slot that will signal it, 0 = none */
    uint16_t more[AXL_SLOTS];         /* the same, another one */
} AxlAhead;

static void axl_ahead_add(AxlAhead *a, unsigned n)
{
    const AxlQueue *q = &a->s->front->queue[n];

    for (uint32_t i = q->retire; i != q->tail; i++) {
        unsigned slot = n * AXL_WINDOW + i % AXL_WINDOW;
        const AxlCmd *cmd = &q->window[i % AXL_WINDOW];
        uint16_t sem = cmd->desc.signal_sem;

        a->end[slot] = a->next;
        if (cmd->state != AXL_CMD_DONE && cmd->status == AXL_ST_OK && sem != AXL_SEM_NONE) {
            a->more[slot] = a->first[sem];
            a->first[sem] = slot + 1;
        }
    }
}

/*
 * Lower bound of when a command's semaphores are satisfied: when a command in a
 * window signals them. A command that has not been fetched cannot signal before
 * its fetch, which is a wake-up anyway.
 */
static int64_t axl_ahead_signal(const AxlAhead *a, const AxlCmd *cmd)
{
    int64_t go = a->next;

    for (unsigned w = 0; w < 2; w++) {
        uint16_t sem = cmd->desc.wait_sem[w];
        int64_t signal = AXL_FAR;

        if (sem == AXL_SEM_NONE || a->s->front->sem[sem] >= cmd->desc.wait_value[w]) {
            continue;
        }
        for (unsigned slot = a->first[sem]; slot; slot = a->more[slot - 1]) {
            const AxlQueue *q = &a->s->front->queue[(slot - 1) / AXL_WINDOW];

            if (q->window[(slot - 1) % AXL_WINDOW].desc.signal_value >= cmd->desc.wait_value[w]) {
                signal = MIN(signal, a->end[slot - 1]);
            }
        }
        go = MAX(go, signal);
    }
    return go;
}

/* Whether the end of a command may be visible by itself. */
static bool axl_ahead_shows(const AxlDevice *s, const AxlCmd *cmd)
{
    switch (cmd->desc.opcode) {
    case AXL_OP_COPY_H2D:
    case AXL_OP_COPY_D2H:
    case AXL_OP_VEC_GATHER: /* an index may be bad: an error interrupt */
        return true;
    default:
        return s->fault.poison > 0;
    }
}

/* Number of descriptors that the next fetch will take, 0 if one is under way. */
static uint32_t axl_ahead_batch(const AxlQueue *q)
{
    uint32_t size, count;

    if (q->fetching || !(q->status & AXL_Q_STATUS_ENABLED)) {
        return 0; /* of a queue that is off, not even the size can be trusted */
    }
    size = 1u << q->sq_log2;
    count = MIN(q->sq_tail - q->sq_head, size - (q->sq_head & (size - 1)));
    return MIN(count, AXL_FETCH_BATCH);
}

static int64_t axl_ahead_queue(AxlAhead *a, unsigned n)
{
    const AxlDevice *s = a->s;
    const AxlQueue *q = &s->front->queue[n];
    uint32_t batch = axl_ahead_batch(q), space = q->tail + batch - AXL_WINDOW;
    int64_t fetch_ns = s->timing.functional ? 1 : s->knob.pcie_latency_ns;
    int64_t complete_ns = s->timing.functional ? 1 : s->knob.pcie_latency_ns / 2;
    int64_t retired = a->next, shows = AXL_FAR, free_ns[AXL_NUM_ENGINES];

    if (batch && q->tail - q->retire + batch <= AXL_WINDOW) {
        shows = a->next + fetch_ns;
    }
    memcpy(free_ns, a->free_ns, sizeof(free_ns));
    for (uint32_t i = q->retire; i != q->tail; i++) {
        const AxlCmd *cmd = &q->window[i % AXL_WINDOW];
        int64_t *end = &free_ns[cmd->engine];

        if (cmd->state == AXL_CMD_FETCHED || cmd->state == AXL_CMD_QUEUED) {
            bool ok = cmd->status == AXL_ST_OK; /* else its semaphores may be bad too */

            *end = ok ? MAX(*end, axl_ahead_signal(a, cmd)) : *end;
            if (!ok || (cmd->desc.flags & AXL_DESC_F_SG)) {
                shows = MIN(shows, *end);
            } else {
                *end = MIN(*end + axl_least_ns(&s->timing, &cmd->desc, &cmd->work), AXL_FAR);
            }
        }
        a->end[n * AXL_WINDOW + i % AXL_WINDOW] = *end;
        if (cmd->state != AXL_CMD_DONE) {
            if (axl_ahead_shows(s, cmd)) {
                shows = MIN(shows, *end);
            }
            retired = MAX(retired, *end);
        }
        if (cmd->desc.flags & AXL_DESC_F_COMPLETE) {
            shows = MIN(shows, retired + complete_ns);
        }
        if (batch && i + 1 == space) {
            shows = MIN(shows, retired + fetch_ns);
        }
    }
    return shows;
}

/* `next` is the device's next event, before `wake`. The result is between the two. */
int64_t axl_front_shows(const AxlDevice *s, int64_t next, int64_t wake)
{
    unsigned active[AXL_MAX_QUEUES], n = 0;
    AxlAhead a;

    a.s = s;
    a.next = next;
    memset(a.first, 0, sizeof(a.first));
    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        const AxlEngine *eng = &s->front->engine[e];

        a.free_ns[e] = eng->cmd ? axl_run_least_end(&s->timing, &eng->run,
                                                   s->due[AXL_EV_ENGINE_ + e], next,
                                                   eng->accounted.ns) :
                                 next;
        a.free_ns[e] = CLAMP(a.free_ns[e], next, AXL_FAR);
    }
    for (unsigned i = 0; i < AXL_MAX_QUEUES; i++) {
        const AxlQueue *q = &s->front->queue[i];

        if (q->retire != q->tail || q->sq_head != q->sq_tail) {
            axl_ahead_add(&a, i);
            active[n++] = i;
        }
    }
    /* Bounds derived from bounds are bounds; the last pass has the best ones. */
    for (unsigned pass = 0; pass < AXL_PASSES; pass++) {
        int64_t shows = AXL_FAR;

        for (unsigned i = 0; i < n; i++) {
            shows = MIN(shows, axl_ahead_queue(&a, active[i]));
        }
        if (pass == AXL_PASSES - 1 || shows >= wake) {
            return CLAMP(shows, next, wake);
        }
    }
    return next;
}
