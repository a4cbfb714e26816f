/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: the registers of contexts, queues, engines and semaphores, by their offset in a block. */
#include "qemu-device/frontend/state.h"

static bool axl_queue_busy(const AxlQueue *q)
{
    return q->retire != q->tail || q->sq_head != q->sq_tail || q->comp_head != q->comp_tail;
}

static uint32_t axl_context_status(const AxlDevice *s, unsigned c)
{
    uint32_t status = s->front->ctx[c].status;

    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        if ((s->front->queue[q].status & AXL_Q_STATUS_ENABLED) && s->front->queue[q].context == c &&
            axl_queue_busy(&s->front->queue[q])) {
            status |= AXL_CTX_BUSY;
        }
    }
    return status;
}

uint32_t axl_context_read32(const AxlDevice *s, unsigned c, unsigned reg)
{
    const AxlContext *ctx = &s->front->ctx[c];

    switch (reg) {
    case 0x00:
        return ctx->ctrl;
    case 0x04:
        return axl_context_status(s, c);
    case 0x08:
        return ctx->error;
    case 0x0c:
        return ctx->err_job;
    case 0x10:
        return ctx->err_index;
    case 0x14:
        return ctx->priority;
    }
    return 0;
}

void axl_context_write32(AxlDevice *s, unsigned c, unsigned reg, uint32_t v)
{
    AxlContext *ctx = &s->front->ctx[c];

    switch (reg) {
    case 0x00:
        /* Stuck: only a reset of the device ends this state. */
        if (ctx->ctrl & AXL_CTX_RESET) {
            break;
        }
        if ((v & AXL_CTX_RESET) && s->fault.stuck_ctx_resets > 0) {
            s->fault.stuck_ctx_resets--;
            ctx->ctrl |= AXL_CTX_RESET;
            axl_truth_event(s, "fault", "\"fault\":\"stuck-ctx-reset\",\"ctx\":%u", c);
            break;
        }
        if (v & AXL_CTX_RESET) {
            axl_context_reset(s, c);
            axl_truth_event(s, "ctx-reset", "\"ctx\":%u", c);
        }
        ctx->ctrl = v & AXL_CTX_ENABLE;
        axl_queue_pump_all(s);
        axl_engine_kick(s);
        break;
    case 0x14:
        axl_account(s);
        ctx->priority = MIN(v, 3);
        axl_flow_update(s);
        break;
    }
}

uint32_t axl_queue_read32(const AxlDevice *s, unsigned n, unsigned reg)
{
    const AxlQueue *q = &s->front->queue[n];

    switch (reg) {
    case 0x10:
        return q->sq_log2;
    case 0x14:
        return q->cq_log2;
    case 0x18:
        return q->context;
    case 0x1c:
        return q->ctrl;
    case 0x20:
        return q->status;
    case 0x24:
        return q->sq_head;
    case 0x2c:
        return q->cq_tail;
    case 0x34:
        return q->error;
    }
    return 0;
}

void axl_queue_write32(AxlDevice *s, unsigned n, unsigned reg, uint32_t v)
{
    AxlQueue *q = &s->front->queue[n];
    bool locked = q->status & AXL_Q_STATUS_ENABLED;

    if (locked && (reg == 0x10 || reg == 0x14 || reg == 0x18)) {
        qemu_log_mask(LOG_GUEST_ERROR, "axl: set-up of enabled queue %u written\n", n);
        return;
    }
    switch (reg) {
    case 0x10:
        q->sq_log2 = v;
        break;
    case 0x14:
        q->cq_log2 = v;
        break;
    case 0x18:
        q->context = v;
        break;
    case 0x1c:
        axl_queue_enable(s, n, v);
        break;
    case 0x28:
        axl_queue_doorbell(s, n, v);
        break;
    case 0x30:
        /* An index beyond the device's would let the device overrun the ring. */
        if (q->cq_tail - v <= q->cq_tail - q->cq_head) {
            q->cq_head = v;
        } else if (locked) {
            axl_queue_error(s, n, AXL_ST_RING_ERROR);
        }
        break;
    }
}

static uint64_t *axl_queue_reg64(AxlQueue *q, unsigned reg)
{
    switch (reg) {
    case 0x00:
        return &q->sq_base;
    case 0x08:
        return &q->cq_base;
    }
    return NULL;
}

bool axl_queue_read64(const AxlDevice *s, unsigned n, unsigned reg, uint64_t *v)
{
    const uint64_t *rw = axl_queue_reg64(&s->front->queue[n], reg);

    if (rw) {
        *v = *rw;
    }
    return rw;
}

bool axl_queue_write64(AxlDevice *s, unsigned n, unsigned reg, unsigned shift, unsigned bits,
                       uint64_t v)
{
    AxlQueue *q = &s->front->queue[n];
    uint64_t *rw = axl_queue_reg64(q, reg);

    if (!rw) {
        return false;
    }
    if (q->status & AXL_Q_STATUS_ENABLED) {
        qemu_log_mask(LOG_GUEST_ERROR, "axl: base of a running ring written\n");
    } else {
        *rw = deposit64(*rw, shift, bits, v);
    }
    return true;
}

static uint32_t axl_engine_depth(const AxlDevice *s, unsigned e)
{
    uint32_t depth = 0;

    for (unsigned q = 0; q < AXL_MAX_QUEUES; q++) {
        depth += s->front->engine[e].fifo[q].tail - s->front->engine[e].fifo[q].head;
    }
    return depth;
}

uint32_t axl_engine_read32(const AxlDevice *s, unsigned e, unsigned reg)
{
    const AxlCmd *cmd = s->front->engine[e].cmd;

    switch (reg) {
    case 0x00:
        return cmd ? cmd->desc.job : 0;
    case 0x04:
        return cmd ? cmd->desc.index : 0;
    case 0x08:
        return axl_engine_depth(s, e);
    }
    return 0;
}

uint64_t axl_semaphore_read64(const AxlDevice *s, unsigned sem)
{
    return s->front->sem[sem];
}

void axl_front_enable(AxlDevice *s, bool enabled)
{
    s->front->enabled = enabled;
    axl_queue_pump_all(s);
    axl_engine_kick(s);
}
