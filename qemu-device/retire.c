/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the way out. Commands retire in the order of their queue; one with
 * AXL_DESC_F_COMPLETE makes a completion entry, which reaches host memory half
 * a round trip later, followed by its MSI-X message.
 */
#include "axl.h"
#include "trace.h"

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
    /* Earlier start, later end; ticks do not tell, since the clock may wrap or be set. */
    if (cmd->start.ns < q->job_start_ns) {
        q->job_start_ns = cmd->start.ns;
        job->first_start = cmd->start.ts;
    }
    if (cmd->end.ns > q->job_end_ns) {
        q->job_end_ns = cmd->end.ns;
        job->last_end = cmd->end.ts;
    }
}

static void axl_complete(AxlState *s, AxlQueue *q, const AxlCmd *cmd, bool irq)
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

/* Retires what is done at the head of the queue's window. */
void axl_retire(AxlState *s, unsigned n)
{
    AxlQueue *q = &s->queue[n];

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

/* The guilty job's completion, out of order: its context is about to halt. */
void axl_retire_error(AxlState *s, AxlCmd *cmd)
{
    AxlQueue *q = &s->queue[cmd->queue];

    if (q->comp_tail - q->comp_head == ARRAY_SIZE(q->completions)) {
        return; /* the context's error registers still tell */
    }
    axl_job_add(q, cmd);
    axl_complete(s, q, cmd, true);
}

static void axl_irq_sent(AxlState *s, AxlIrq *irq, bool sent)
{
    AxlStamp now = axl_now(s);

    irq->rec.h.time = now.ts;
    irq->rec.irq = sent ? now.ts : 0;
    trace_axl_interrupt(axl_id(s), irq->queue, irq->rec.job, sent);
    axl_trace_record(s, (union axl_record *)&irq->rec, irq->ctx);
    axl_truth_job(s, irq->queue, &irq->rec, irq->completion_ns, sent ? now.ns : 0);
}

/* Late interrupts whose time has come. */
void axl_irq_due(AxlState *s)
{
    int64_t next = AXL_NEVER;

    for (unsigned i = 0; i < s->irqs;) {
        AxlIrq irq = s->irq[i];

        if (irq.due_ns > s->now) {
            next = MIN(next, irq.due_ns);
            i++;
            continue;
        }
        s->irqs--;
        memmove(&s->irq[i], &s->irq[i + 1], (s->irqs - i) * sizeof(irq));
        axl_irq_sent(s, &irq, axl_msix(s, AXL_MSIX_QUEUE(irq.queue)));
    }
    axl_sim_at(s, AXL_EV_IRQ, next);
}

static void axl_irq(AxlState *s, unsigned n, const AxlCompletion *c)
{
    AxlIrq irq = { .queue = n, .ctx = c->ctx, .completion_ns = s->now, .rec = c->rec };

    if (!c->irq || !(s->queue[n].ctrl & AXL_Q_IRQ_ENABLE)) {
        axl_irq_sent(s, &irq, false);
        return;
    }
    if (s->fault.lose_irqs > 0) {
        s->fault.lose_irqs--;
        axl_truth_event(s, "fault", "\"fault\":\"lost-irq\",\"queue\":%u,\"job\":%u", n,
                        c->rec.job);
        axl_irq_sent(s, &irq, false);
        return;
    }
    if (s->fault.late_irqs > 0 && s->irqs < AXL_IRQ_PENDING) {
        s->fault.late_irqs--;
        axl_truth_event(s, "fault", "\"fault\":\"late-irq\",\"queue\":%u,\"job\":%u", n,
                        c->rec.job);
        irq.due_ns = s->now + s->fault.late_irq_ns;
        s->irq[s->irqs++] = irq;
        axl_sim_at(s, AXL_EV_IRQ, MIN(s->due[AXL_EV_IRQ], irq.due_ns));
        return;
    }
    axl_irq_sent(s, &irq, axl_msix(s, AXL_MSIX_QUEUE(n)));
}

static bool axl_cqe_write(AxlState *s, unsigned n, struct axl_cqe *cqe)
{
    AxlQueue *q = &s->queue[n];
    uint32_t size = 1u << q->cq_log2;
    uint64_t addr = q->cq_base + (uint64_t)(q->cq_tail & (size - 1)) * sizeof(*cqe);

    if (q->cq_tail - q->cq_head >= size) {
        axl_queue_error(s, n, AXL_ST_RING_ERROR);
        return false;
    }
    cqe->time = axl_now(s).ts;
    cqe->sq_head = q->sq_head;
    cqe->phase = !(q->cq_tail >> q->cq_log2 & 1);
    if (axl_dma_write(s, addr, cqe, sizeof(*cqe)) != MEMTX_OK) {
        axl_queue_error(s, n, AXL_ST_DMA_ERROR);
        return false;
    }
    axl_dma_count_write(s, addr, sizeof(*cqe));
    trace_axl_completion(axl_id(s), n, cqe->job, cqe->status);
    q->cq_tail++;
    return true;
}

/* The oldest completion of the queue reaches the host. */
void axl_completion_due(AxlState *s, unsigned n)
{
    AxlQueue *q = &s->queue[n];
    AxlCompletion c;

    if (q->comp_head == q->comp_tail) {
        return;
    }
    if (axl_link_down(&s->timing, s->now)) {
        axl_sim_at(s, AXL_EV_COMPLETION + n, s->timing.link.up_ns);
        return;
    }
    c = q->completions[q->comp_head++ % ARRAY_SIZE(q->completions)];
    if (q->comp_head != q->comp_tail) {
        axl_sim_at(s, AXL_EV_COMPLETION + n,
                   q->completions[q->comp_head % ARRAY_SIZE(q->completions)].due_ns);
    }
    if (s->fault.corrupt_completions > 0) {
        s->fault.corrupt_completions--;
        axl_truth_event(s, "fault", "\"fault\":\"corrupt-completion\",\"queue\":%u,\"job\":%u", n,
                        c.rec.job);
        c.cqe.job ^= 0xdeadbeef;
        c.cqe.status = 0xffff;
    }
    if (!axl_cqe_write(s, n, &c.cqe)) {
        return;
    }
    if (s->fault.dup_completions > 0) {
        s->fault.dup_completions--;
        axl_truth_event(s, "fault", "\"fault\":\"duplicate-completion\",\"queue\":%u,\"job\":%u", n,
                        c.rec.job);
        if (!axl_cqe_write(s, n, &c.cqe)) {
            return;
        }
    }
    axl_count_ctx(s, AXL_CTR_JOBS, c.ctx, 1);
    c.rec.completion = c.cqe.time;
    axl_irq(s, n, &c);
    axl_retire(s, n); /* it may have waited for room here */
}
