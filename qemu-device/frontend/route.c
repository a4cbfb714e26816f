/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: moves commands from a queue's window to the engines, and starts fetches
 * that keep the window filled. A full FIFO or window only blocks its own queue.
 */
#include "qemu-device/frontend/state.h"
#include "qemu-device/host/trace.h"

bool axl_context_runs(const AxlDevice *s, unsigned c)
{
    return (s->front->ctx[c].ctrl & AXL_CTX_ENABLE) && !(s->front->ctx[c].status & AXL_CTX_HALTED);
}

/* Starts the next fetch if there is something to fetch and the window has space. */
void axl_queue_pump(AxlDevice *s, unsigned n)
{
    AxlQueue *q = &s->front->queue[n];
    uint32_t size, count;

    if (!(q->status & AXL_Q_STATUS_ENABLED) || !s->front->enabled ||
        !axl_context_runs(s, q->context)) {
        return;
    }
    while (q->route != q->tail) {
        uint32_t slot = q->route % AXL_WINDOW;
        AxlCmd *cmd = &q->window[slot];
        AxlFifo *f = &s->front->engine[cmd->engine].fifo[n];

        if (f->tail - f->head == AXL_FIFO) {
            break;
        }
        if (f->tail == f->head) {
            cmd->arrived_ns = s->now;
        }
        f->slot[f->tail++ % AXL_FIFO] = slot;
        cmd->state = AXL_CMD_QUEUED;
        q->route++;
    }
    size = axl_sq_size(q);
    count = MIN(q->sq_tail - q->sq_head, size - (q->sq_head & (size - 1)));
    count = MIN(count, AXL_FETCH_BATCH);
    if (q->fetching || count == 0 || AXL_WINDOW - (q->tail - q->retire) < count) {
        return;
    }
    trace_axl_fetch(s->id, n, q->sq_head, count);
    q->fetching = count;
    axl_sim_at(s, AXL_EV_FETCH + n,
               s->now + axl_link_read_ns(&s->timing, count * sizeof(struct axl_desc)));
}

void axl_queue_pump_all(AxlDevice *s)
{
    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        axl_queue_pump(s, q);
    }
}
