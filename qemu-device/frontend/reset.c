/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: creation and destruction of the front end; resets of a context and of
 * the device.
 */
#include "qemu-device/frontend/state.h"
#include "qemu-device/host/trace.h"

void axl_context_reset(AxlDevice *s, unsigned c)
{
    AxlContext *ctx = &s->front->ctx[c];
    uint32_t priority = ctx->priority, ctrl = ctx->ctrl;

    trace_axl_context_reset(s->id, c);
    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        if (s->front->queue[q].context == c) {
            axl_queue_enable(s, q, 0);
            s->front->queue[q].status = 0;
            s->front->queue[q].error = 0;
            s->front->queue[q].sq_head = s->front->queue[q].sq_tail = 0;
            s->front->queue[q].cq_head = s->front->queue[q].cq_tail = 0;
        }
    }
    memset(&s->front->sem[c * AXL_SEMS_PER_CONTEXT], 0,
           AXL_SEMS_PER_CONTEXT * sizeof(s->front->sem[0]));
    *ctx = (AxlContext) { .priority = priority, .ctrl = ctrl };
}

void axl_front_init(AxlDevice *s)
{
    s->front = g_new0(AxlFrontEnd, 1);
}

void axl_front_free(AxlDevice *s)
{
    for (unsigned q = 0; s->front && q < AXL_MAX_QUEUES; q++) {
        AxlQueue *queue = &s->front->queue[q];

        for (uint32_t i = queue->retire; i != queue->tail; i++) {
            g_free(queue->window[i % AXL_WINDOW].sg);
        }
        g_free(queue->window);
        g_free(queue->doorbells);
    }
    g_free(s->front);
    s->front = NULL;
}

bool axl_front_idle(const AxlDevice *s)
{
    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        const AxlQueue *queue = &s->front->queue[q];

        if (queue->retire != queue->tail || queue->comp_head != queue->comp_tail ||
            queue->fetching) {
            return false;
        }
    }
    return true;
}

void axl_front_drop(AxlDevice *s)
{
    for (unsigned c = 0; c < AXL_MAX_CONTEXTS; c++) {
        s->front->ctx[c].ctrl = 0;
        axl_context_reset(s, c);
        s->front->ctx[c] = (AxlContext) { 0 };
    }
    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        AxlQueue *queue = &s->front->queue[q];
        AxlCmd *window = queue->window;

        axl_queue_enable(s, q, 0);
        g_free(queue->doorbells);
        *queue = (AxlQueue) { .window = window };
    }
}

void axl_front_reset(AxlDevice *s)
{
    memset(s->front->sem, 0, sizeof(s->front->sem));
    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        s->front->engine[e].last_queue = 0;
    }
    s->front->irqs = 0;
    axl_sim_at(s, AXL_EV_IRQ, AXL_NEVER);
    s->front->enabled = false;
}
