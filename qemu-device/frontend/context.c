/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: an error stops the context it happened in and nothing else. Commands
 * that its queues have in flight are dropped.
 */
#include "qemu-device/frontend/state.h"
#include "qemu-device/host/trace.h"

/* Drops the commands in flight; each command's record has the status. */
void axl_queue_clear(AxlDevice *s, unsigned n, unsigned status)
{
    AxlQueue *q = &s->front->queue[n];

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

void axl_context_halt(AxlDevice *s, unsigned c, unsigned status, uint32_t job, uint32_t index)
{
    AxlContext *ctx = &s->front->ctx[c];

    if (ctx->status & AXL_CTX_HALTED) {
        return;
    }
    trace_axl_context_halt(s->id, c, status, job, index);
    ctx->status |= AXL_CTX_HALTED;
    ctx->error = status;
    ctx->err_job = job;
    ctx->err_index = index;
    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        if ((s->front->queue[q].status & AXL_Q_STATUS_ENABLED) && s->front->queue[q].context == c) {
            axl_queue_clear(s, q, AXL_ST_CANCELED);
        }
    }
    axl_trace_event(s, AXL_EV_CTX_ERROR, c, status, job, index);
    axl_truth_event(s, "ctx-error", "\"ctx\":%u,\"status\":%u,\"job\":%u,\"index\":%u", c, status,
                    job, index);
    s->up->interrupt(s, AXL_INT_CTX_ERROR);
}

/* A ring that can no longer be trusted stops its context. */
void axl_queue_error(AxlDevice *s, unsigned n, unsigned status)
{
    AxlQueue *q = &s->front->queue[n];

    trace_axl_queue_error(s->id, n, status);
    qemu_log_mask(LOG_GUEST_ERROR, "axl: queue %u: ring error %u\n", n, status);
    q->status |= AXL_Q_STATUS_ERROR;
    q->error = status;
    if (q->status & AXL_Q_STATUS_ENABLED) {
        axl_context_halt(s, q->context, status, 0, 0);
    }
}
