/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: completions. An entry reaches host memory half a round trip after its
 * command retired, followed by its MSI-X message. Faults of both are injected
 * here: lost and late interrupts, repeated or corrupted completions.
 */
#include "qemu-device/frontend/state.h"
#include "qemu-device/host/trace.h"

static void axl_irq_sent(AxlDevice *s, AxlIrq *irq, bool sent)
{
    AxlStamp now = axl_now(s);

    irq->rec.h.time = now.ts;
    irq->rec.irq = sent ? now.ts : 0;
    trace_axl_interrupt(s->id, irq->queue, irq->rec.job, sent);
    axl_ring_record(s, (union axl_record *)&irq->rec, irq->ctx);
    axl_truth_job(s, irq->queue, &irq->rec, irq->completion_ns, sent ? now.ns : 0);
}

/* Sends the late interrupts that are due. */
void axl_irq_due(AxlDevice *s)
{
    int64_t next = AXL_NEVER;

    for (unsigned i = 0; i < s->front->irqs;) {
        AxlIrq irq = s->front->irq[i];

        if (irq.due_ns > s->now) {
            next = MIN(next, irq.due_ns);
            i++;
            continue;
        }
        s->front->irqs--;
        memmove(&s->front->irq[i], &s->front->irq[i + 1], (s->front->irqs - i) * sizeof(irq));
        axl_irq_sent(s, &irq, s->up->msix(s, AXL_MSIX_QUEUE(irq.queue)));
    }
    axl_sim_at(s, AXL_EV_IRQ, next);
}

static void axl_irq(AxlDevice *s, unsigned n, const AxlCompletion *c)
{
    AxlIrq irq = { .queue = n, .ctx = c->ctx, .completion_ns = s->now, .rec = c->rec };

    if (!c->irq || !(s->front->queue[n].ctrl & AXL_Q_IRQ_ENABLE)) {
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
    if (s->fault.late_irqs > 0 && s->front->irqs < AXL_IRQ_PENDING) {
        s->fault.late_irqs--;
        axl_truth_event(s, "fault", "\"fault\":\"late-irq\",\"queue\":%u,\"job\":%u", n,
                        c->rec.job);
        irq.due_ns = s->now + s->fault.late_irq_ns;
        s->front->irq[s->front->irqs++] = irq;
        axl_sim_at(s, AXL_EV_IRQ, MIN(s->due[AXL_EV_IRQ], irq.due_ns));
        return;
    }
    axl_irq_sent(s, &irq, s->up->msix(s, AXL_MSIX_QUEUE(n)));
}

static bool axl_cqe_write(AxlDevice *s, unsigned n, struct axl_cqe *cqe)
{
    AxlQueue *q = &s->front->queue[n];
    uint32_t size = 1u << q->cq_log2;
    uint64_t addr = q->cq_base + (uint64_t)(q->cq_tail & (size - 1)) * sizeof(*cqe);

    if (q->cq_tail - q->cq_head >= size) {
        axl_queue_error(s, n, AXL_ST_RING_ERROR);
        return false;
    }
    cqe->time = axl_now(s).ts;
    cqe->sq_head = q->sq_head;
    cqe->phase = !(q->cq_tail >> q->cq_log2 & 1);
    if (!s->up->store(s, addr, cqe, sizeof(*cqe))) {
        axl_queue_error(s, n, AXL_ST_DMA_ERROR);
        return false;
    }
    trace_axl_completion(s->id, n, cqe->job, cqe->status);
    q->cq_tail++;
    return true;
}

/* The oldest completion of the queue reaches the host. */
void axl_completion_due(AxlDevice *s, unsigned n)
{
    AxlQueue *q = &s->front->queue[n];
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
    axl_retire(s, n); /* it may have waited for a free entry */
}
