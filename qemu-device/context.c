/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: contexts. An error stops the context it happened in and nothing else;
 * a reset makes it as new.
 */
#include "axl.h"
#include "trace.h"

bool axl_context_runs(const AxlState *s, unsigned c)
{
    return (s->ctx[c].ctrl & AXL_CTX_ENABLE) && !(s->ctx[c].status & AXL_CTX_HALTED);
}

static bool axl_queue_busy(const AxlQueue *q)
{
    return q->retire != q->tail || q->sq_head != q->sq_tail || q->comp_head != q->comp_tail;
}

uint32_t axl_context_status(const AxlState *s, unsigned c)
{
    uint32_t status = s->ctx[c].status;

    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        if ((s->queue[q].status & AXL_Q_STATUS_ENABLED) && s->queue[q].context == c &&
            axl_queue_busy(&s->queue[q])) {
            status |= AXL_CTX_BUSY;
        }
    }
    return status;
}

void axl_context_halt(AxlState *s, unsigned c, unsigned status, uint32_t job, uint32_t index)
{
    AxlContext *ctx = &s->ctx[c];

    if (ctx->status & AXL_CTX_HALTED) {
        return;
    }
    trace_axl_context_halt(axl_id(s), c, status, job, index);
    ctx->status |= AXL_CTX_HALTED;
    ctx->error = status;
    ctx->err_job = job;
    ctx->err_index = index;
    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        if ((s->queue[q].status & AXL_Q_STATUS_ENABLED) && s->queue[q].context == c) {
            axl_queue_clear(s, q, AXL_ST_CANCELED);
        }
    }
    axl_trace_event(s, AXL_EV_CTX_ERROR, c, status, job, index);
    axl_truth_event(s, "ctx-error", "\"ctx\":%u,\"status\":%u,\"job\":%u,\"index\":%u", c, status,
                    job, index);
    axl_int_raise(s, AXL_INT_CTX_ERROR);
}

void axl_context_reset(AxlState *s, unsigned c)
{
    AxlContext *ctx = &s->ctx[c];
    uint32_t priority = ctx->priority, ctrl = ctx->ctrl;

    trace_axl_context_reset(axl_id(s), c);
    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        if (s->queue[q].context == c) {
            axl_queue_enable(s, q, 0);
            s->queue[q].status = 0;
            s->queue[q].error = 0;
            s->queue[q].sq_head = s->queue[q].sq_tail = 0;
            s->queue[q].cq_head = s->queue[q].cq_tail = 0;
        }
    }
    memset(&s->sem[c * AXL_SEMS_PER_CONTEXT], 0, AXL_SEMS_PER_CONTEXT * sizeof(s->sem[0]));
    *ctx = (AxlContext) { .priority = priority, .ctrl = ctrl };
}
