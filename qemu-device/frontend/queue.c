/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: submission queues. Descriptors are fetched in order, a few at a time,
 * into an on-chip window of AXL_WINDOW commands, decoded, and routed in order
 * to their engines' FIFOs. A full FIFO or window only blocks its own queue.
 * retire.c has the end of their life.
 */
#include "qemu-device/frontend/state.h"

#include "qemu-device/frontend/decode.h"
#include "qemu-device/host/trace.h"

static bool axl_queue_valid(AxlDevice *s, const AxlQueue *q)
{
    return q->sq_log2 >= 4 && q->sq_log2 <= 12 && q->cq_log2 >= 4 && q->cq_log2 <= 12 &&
           !(q->sq_base & (sizeof(struct axl_desc) - 1)) &&
           !(q->cq_base & (sizeof(struct axl_cqe) - 1)) && q->context < s->knob.contexts &&
           s->up->allowed(s, q->sq_base, sizeof(struct axl_desc) << q->sq_log2) &&
           s->up->allowed(s, q->cq_base, sizeof(struct axl_cqe) << q->cq_log2);
}

void axl_queue_enable(AxlDevice *s, unsigned n, uint32_t ctrl)
{
    AxlQueue *q = &s->front->queue[n];
    bool was = q->ctrl & AXL_Q_ENABLE, is = ctrl & AXL_Q_ENABLE;

    q->ctrl = ctrl & (AXL_Q_ENABLE | AXL_Q_IRQ_ENABLE);
    if (was == is) {
        return;
    }
    if (!is) {
        axl_queue_clear(s, n, AXL_ST_CANCELED);
        axl_sim_at(s, AXL_EV_COMPLETION + n, AXL_NEVER);
        q->comp_head = q->comp_tail = 0;
        q->status &= ~AXL_Q_STATUS_ENABLED;
        return;
    }
    q->status = 0;
    q->error = 0;
    if (!axl_queue_valid(s, q)) {
        q->ctrl &= ~AXL_Q_ENABLE;
        axl_queue_error(s, n, AXL_ST_RING_ERROR);
        return;
    }
    q->sq_head = q->sq_tail = q->cq_head = q->cq_tail = 0;
    q->retire = q->route = q->tail = 0;
    q->comp_head = q->comp_tail = 0;
    if (!q->window) {
        q->window = g_new0(AxlCmd, AXL_WINDOW);
    }
    g_free(q->doorbells);
    q->doorbells = g_new0(AxlStamp, axl_sq_size(q));
    q->status = AXL_Q_STATUS_ENABLED;
}

void axl_queue_doorbell(AxlDevice *s, unsigned n, uint32_t tail)
{
    AxlQueue *q = &s->front->queue[n];
    AxlStamp now = axl_now(s);
    union axl_record rec = { 0 };
    uint32_t previous = q->sq_tail;

    if (!(q->status & AXL_Q_STATUS_ENABLED) || !axl_context_runs(s, q->context)) {
        qemu_log_mask(LOG_GUEST_ERROR, "axl: doorbell of stopped queue %u\n", n);
        return;
    }
    if (tail - q->sq_head > axl_sq_size(q) || tail - previous > axl_sq_size(q)) {
        axl_queue_error(s, n, AXL_ST_RING_ERROR);
        return;
    }
    for (uint32_t i = previous; i != tail; i++) {
        q->doorbells[i & (axl_sq_size(q) - 1)] = now;
    }
    trace_axl_doorbell(s->id, n, tail, previous);
    q->sq_tail = tail;
    axl_count_ctx(s, AXL_CTR_DOORBELLS, q->context, 1);
    rec.h.type = AXL_REC_DOORBELL;
    rec.h.engine = 0xff;
    rec.h.queue = n;
    rec.h.context = q->context;
    rec.h.time = now.ts;
    rec.doorbell.tail = tail;
    rec.doorbell.previous_tail = previous;
    axl_ring_record(s, &rec, q->context);
    axl_truth_event(s, "doorbell", "\"queue\":%u,\"ctx\":%u,\"tail\":%u,\"previous_tail\":%u", n,
                    q->context, tail, previous);
    axl_queue_pump(s, n);
}

void axl_queue_fetched(AxlDevice *s, unsigned n)
{
    AxlQueue *q = &s->front->queue[n];
    struct axl_desc desc[AXL_FETCH_BATCH];
    uint32_t count = q->fetching, mask = axl_sq_size(q) - 1;
    uint64_t addr = q->sq_base + (uint64_t)(q->sq_head & mask) * sizeof(desc[0]);

    if (axl_link_down(&s->timing, s->now)) {
        axl_sim_at(s, AXL_EV_FETCH + n, s->timing.link.up_ns);
        return;
    }
    q->fetching = 0;
    if (!s->up->fetch(s, addr, desc, count * sizeof(desc[0]))) {
        axl_queue_error(s, n, AXL_ST_DMA_ERROR);
        return;
    }
    axl_count_ctx(s, AXL_CTR_DESC_FETCHED, q->context, count);
    for (uint32_t i = 0; i < count; i++) {
        AxlCmd *cmd = &q->window[q->tail % AXL_WINDOW];

        *cmd = (AxlCmd) {
            .desc = desc[i],
            .state = AXL_CMD_FETCHED,
            .queue = n,
            .ctx = q->context,
            .sq_index = q->sq_head,
            .doorbell = q->doorbells[q->sq_head & mask],
            .fetched = axl_now(s),
            /* The last engine reports a command for an engine that does not exist. */
            .engine = MIN(desc[i].engine, AXL_NUM_ENGINES - 1),
        };
        cmd->status = axl_decode(&s->knob, &cmd->desc, &cmd->work);
        if (cmd->status == AXL_ST_OK) {
            axl_cost_least(&s->timing, &cmd->desc, &cmd->work);
        }
        q->tail++;
        q->sq_head++;
    }
    axl_queue_pump(s, n);
    axl_engine_kick(s);
}
