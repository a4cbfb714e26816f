/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: submission queues. Descriptors are fetched in order, a few at a time,
 * into an on-chip window of AXL_WINDOW commands, decoded, and routed in order
 * to their engines' FIFOs. A full FIFO or window holds the queue back, not the
 * others. See retire.c for the way out.
 */
#include "axl.h"
#include "qemu-device/frontend/decode.h"
#include "trace.h"

static uint32_t axl_sq_size(const AxlQueue *q)
{
    return 1u << q->sq_log2;
}

static bool axl_queue_valid(AxlState *s, const AxlQueue *q)
{
    return q->sq_log2 >= 4 && q->sq_log2 <= 12 && q->cq_log2 >= 4 && q->cq_log2 <= 12 &&
           !(q->sq_base & (sizeof(struct axl_desc) - 1)) &&
           !(q->cq_base & (sizeof(struct axl_cqe) - 1)) && q->context < s->knob.contexts &&
           axl_dma_allowed(s, q->sq_base, sizeof(struct axl_desc) << q->sq_log2) &&
           axl_dma_allowed(s, q->cq_base, sizeof(struct axl_cqe) << q->cq_log2);
}

/* Drops what the queue has in flight; each command's record says so. */
void axl_queue_clear(AxlState *s, unsigned n, unsigned status)
{
    AxlQueue *q = &s->queue[n];

    axl_sim_at(s, AXL_EV_FETCH + n, AXL_NEVER);
    q->fetching = 0;
    axl_engine_drop(s, n);
    for (; q->retire != q->tail; q->retire++) {
        AxlCmd *cmd = &q->window[q->retire % AXL_WINDOW];

        g_free(cmd->sg);
        cmd->sg = NULL;
        if (cmd->state == AXL_CMD_DONE) {
            continue;
        }
        cmd->end = axl_now(s);
        if (cmd->state != AXL_CMD_RUNNING) {
            cmd->start = cmd->end;
        }
        cmd->state = AXL_CMD_DONE;
        cmd->status = status;
        axl_trace_cmd(s, cmd);
        axl_truth_cmd(s, cmd);
    }
    q->route = q->tail;
    q->job_open = false;
}

/* A ring that cannot be trusted any more stops its context. */
void axl_queue_error(AxlState *s, unsigned n, unsigned status)
{
    AxlQueue *q = &s->queue[n];

    trace_axl_queue_error(axl_id(s), n, status);
    qemu_log_mask(LOG_GUEST_ERROR, "axl: queue %u: ring error %u\n", n, status);
    q->status |= AXL_Q_STATUS_ERROR;
    q->error = status;
    if (q->status & AXL_Q_STATUS_ENABLED) {
        axl_context_halt(s, q->context, status, 0, 0);
    }
}

void axl_queue_enable(AxlState *s, unsigned n, uint32_t ctrl)
{
    AxlQueue *q = &s->queue[n];
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

void axl_queue_doorbell(AxlState *s, unsigned n, uint32_t tail)
{
    AxlQueue *q = &s->queue[n];
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
    trace_axl_doorbell(axl_id(s), n, tail, previous);
    q->sq_tail = tail;
    axl_count_ctx(s, AXL_CTR_DOORBELLS, q->context, 1);
    rec.h.type = AXL_REC_DOORBELL;
    rec.h.engine = 0xff;
    rec.h.queue = n;
    rec.h.context = q->context;
    rec.h.time = now.ts;
    rec.doorbell.tail = tail;
    rec.doorbell.previous_tail = previous;
    axl_trace_record(s, &rec, q->context);
    axl_truth_doorbell(s, n, tail, previous);
    axl_queue_pump(s, n);
}

/* Starts the next fetch if there is something to fetch and room for it. */
void axl_queue_pump(AxlState *s, unsigned n)
{
    AxlQueue *q = &s->queue[n];
    uint32_t size, count;

    if (!(q->status & AXL_Q_STATUS_ENABLED) || !(s->ctrl & AXL_CTRL_ENABLE) ||
        !axl_context_runs(s, q->context)) {
        return;
    }
    while (q->route != q->tail) {
        uint32_t slot = q->route % AXL_WINDOW;
        AxlCmd *cmd = &q->window[slot];
        AxlFifo *f = &s->engine[cmd->engine].fifo[n];

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
    trace_axl_fetch(axl_id(s), n, q->sq_head, count);
    q->fetching = count;
    axl_sim_at(s, AXL_EV_FETCH + n,
               s->now + axl_link_read_ns(&s->timing, count * sizeof(struct axl_desc)));
}

void axl_queue_pump_all(AxlState *s)
{
    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        axl_queue_pump(s, q);
    }
}

void axl_queue_fetched(AxlState *s, unsigned n)
{
    AxlQueue *q = &s->queue[n];
    struct axl_desc desc[AXL_FETCH_BATCH];
    uint32_t count = q->fetching, mask = axl_sq_size(q) - 1;
    uint64_t addr = q->sq_base + (uint64_t)(q->sq_head & mask) * sizeof(desc[0]);

    if (axl_link_down(&s->timing, s->now)) {
        axl_sim_at(s, AXL_EV_FETCH + n, s->timing.link.up_ns);
        return;
    }
    q->fetching = 0;
    if (axl_dma_read(s, addr, desc, count * sizeof(desc[0])) != MEMTX_OK) {
        axl_queue_error(s, n, AXL_ST_DMA_ERROR);
        return;
    }
    axl_dma_count_read(s, addr, count * sizeof(desc[0]));
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
            /* An engine that does not exist: the last one reports it. */
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
