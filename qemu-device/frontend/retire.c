/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: retirement. Commands retire in the order of their queue; one with
 * AXL_DESC_F_COMPLETE makes a completion entry, which completion.c sends.
 */
#include "qemu-device/frontend/state.h"

/* Adds a command to the record of the job that its queue is retiring. */
static void axl_job_add(AxlQueue *q, const AxlCmd *cmd)
{
    struct axl_rec_job *job = &q->job;

    if (!q->job_open || job->job != cmd->desc.job) {
        *job = (struct axl_rec_job) {
            .h.type = AXL_REC_JOB,
            .h.engine = 0xff,
            .h.queue = cmd->queue,
            .h.context = cmd->ctx,
            .fetched = cmd->fetched.ts,
            .first_start = cmd->start.ts,
            .last_end = cmd->end.ts,
            .job = cmd->desc.job,
        };
        q->job_start_ns = cmd->start.ns;
        q->job_end_ns = cmd->end.ns;
        q->job_open = true;
    }
    job->doorbell = cmd->doorbell.ts;
    job->correlation = cmd->desc.correlation;
    job->commands++;
    /* Earlier start, later end; compared in ns, since the clock may wrap or be set. */
    if (cmd->start.ns < q->job_start_ns) {
        q->job_start_ns = cmd->start.ns;
        job->first_start = cmd->start.ts;
    }
    if (cmd->end.ns > q->job_end_ns) {
        q->job_end_ns = cmd->end.ns;
        job->last_end = cmd->end.ts;
    }
}

static void axl_complete(AxlDevice *s, AxlQueue *q, const AxlCmd *cmd, bool irq)
{
    AxlCompletion *c = &q->completions[q->comp_tail % ARRAY_SIZE(q->completions)];
    int64_t due = s->now + axl_link_post_ns(&s->timing, sizeof(struct axl_cqe));

    if (q->comp_tail != q->comp_head) {
        const AxlCompletion *last =
            &q->completions[(q->comp_tail - 1) % ARRAY_SIZE(q->completions)];

        due = MAX(due, last->due_ns);
    } else {
        axl_sim_at(s, AXL_EV_COMPLETION + cmd->queue, due);
    }
    q->job.status = cmd->status;
    *c = (AxlCompletion) {
        .due_ns = due,
        .rec = q->job,
        .cqe = {
            .correlation = cmd->desc.correlation,
            .job = cmd->desc.job,
            .queue = cmd->queue,
            .status = cmd->status,
            .error_index = cmd->status ? cmd->desc.index : 0,
        },
        .ctx = cmd->ctx,
        .irq = irq,
    };
    q->comp_tail++;
    q->job_open = false;
}

/* Retires the completed commands at the head of the queue's window. */
void axl_retire(AxlDevice *s, unsigned n)
{
    AxlQueue *q = &s->front->queue[n];

    while (q->retire != q->tail) {
        AxlCmd *cmd = &q->window[q->retire % AXL_WINDOW];

        if (cmd->state != AXL_CMD_DONE ||
            q->comp_tail - q->comp_head == ARRAY_SIZE(q->completions)) {
            break;
        }
        axl_job_add(q, cmd);
        if (cmd->desc.flags & AXL_DESC_F_COMPLETE) {
            axl_complete(s, q, cmd, cmd->desc.flags & AXL_DESC_F_IRQ);
        }
        q->retire++;
    }
    axl_queue_pump(s, n);
}

/* The guilty job completes out of order, since its context is about to halt. */
void axl_retire_error(AxlDevice *s, AxlCmd *cmd)
{
    AxlQueue *q = &s->front->queue[cmd->queue];

    if (q->comp_tail - q->comp_head == ARRAY_SIZE(q->completions)) {
        return; /* the context's error registers report it */
    }
    axl_job_add(q, cmd);
    axl_complete(s, q, cmd, true);
}
