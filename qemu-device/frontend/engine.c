/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the engines. Each has a FIFO for every queue. When free, it takes among
 * the FIFO heads whose semaphores are satisfied the one with the highest
 * context priority, round robin among equals, so a waiting queue never blocks
 * another. When only waiting heads are left, the engine's time is charged to
 * one of them (highest priority, then longest waiting) as semaphore stall.
 */
#include "qemu-device/frontend/state.h"
#include "qemu-device/host/trace.h"

static AxlCmd *axl_fifo_head(AxlDevice *s, unsigned e, unsigned q)
{
    AxlFifo *f = &s->front->engine[e].fifo[q];

    return f->head == f->tail ? NULL : &s->front->queue[q].window[f->slot[f->head % AXL_FIFO]];
}

static bool axl_cmd_ready(const AxlDevice *s, const AxlCmd *cmd)
{
    const struct axl_desc *d = &cmd->desc;

    if (cmd->status != AXL_ST_OK) {
        return true; /* semaphore numbers may be bad: the error shows at once */
    }
    for (unsigned i = 0; i < 2; i++) {
        if (d->wait_sem[i] != AXL_SEM_NONE && s->front->sem[d->wait_sem[i]] < d->wait_value[i]) {
            return false;
        }
    }
    return true;
}

static void axl_sem_signal(AxlDevice *s, unsigned sem, uint64_t value, unsigned ctx)
{
    s->front->sem[sem] = MAX(s->front->sem[sem], value);
    axl_count_ctx(s, AXL_CTR_SEM_SIGNALS, ctx, 1);
}

void axl_engine_end(AxlDevice *s, unsigned e, unsigned status)
{
    AxlEngine *eng = &s->front->engine[e];
    AxlCmd *cmd = eng->cmd;

    g_free(cmd->sg);
    cmd->sg = NULL;
    cmd->status = status;
    cmd->state = AXL_CMD_DONE;
    cmd->end = axl_now(s);
    eng->cmd = NULL;
    axl_run_stop(&eng->run);
    axl_sim_at(s, AXL_EV_ENGINE_ + e, AXL_NEVER);
    axl_flow_update(s);
    axl_count_ctx(s, AXL_CTR_ENGINE(e) + AXL_CTR_H2D_COMMANDS, cmd->ctx, 1);
    axl_trace_cmd(s, cmd);
    axl_truth_cmd(s, cmd);
    if (status != AXL_ST_OK) {
        axl_retire_error(s, cmd);
        s->up->halt(s, cmd->ctx, status, cmd->desc.job, cmd->desc.index);
    } else {
        if (cmd->desc.signal_sem != AXL_SEM_NONE) {
            axl_sem_signal(s, cmd->desc.signal_sem, cmd->desc.signal_value, cmd->ctx);
        }
        axl_retire(s, cmd->queue);
    }
    axl_engine_kick(s);
}

static void axl_engine_finish(AxlDevice *s, unsigned e, unsigned status)
{
    AxlCmd *cmd = s->front->engine[e].cmd;

    axl_account_engine(s, e);
    if (status == AXL_ST_OK) {
        axl_account_finish(s, cmd);
        if (s->fault.poison <= 0 && s->up->aside(s, e, &cmd->desc)) {
            return; /* axl_engine_end() follows, at this very instant */
        }
        status = axl_exec(s, cmd);
    }
    axl_engine_end(s, e, status);
}

static void axl_engine_start(AxlDevice *s, unsigned e, AxlCmd *cmd)
{
    AxlEngine *eng = &s->front->engine[e];
    AxlFifo *f = &eng->fifo[cmd->queue];
    AxlCmd *next;
    unsigned status = cmd->status;
    int64_t dispatch_ns;

    f->head++;
    next = axl_fifo_head(s, e, cmd->queue);
    if (next) {
        next->arrived_ns = s->now;
    }
    eng->last_queue = cmd->queue;
    eng->candidate = NULL;
    eng->cmd = cmd;
    cmd->state = AXL_CMD_RUNNING;
    cmd->start = axl_now(s);
    trace_axl_start(s->id, e, cmd->queue, cmd->desc.job, cmd->desc.index);
    dispatch_ns = axl_run_start(&s->timing, &eng->run, &cmd->work);
    if (status == AXL_ST_OK && (cmd->desc.flags & AXL_DESC_F_SG)) {
        status = axl_exec_fetch_sg(s, cmd);
    }
    if (status != AXL_ST_OK) {
        axl_engine_finish(s, e, status);
        return;
    }
    axl_cost(&s->timing, &cmd->desc, cmd->sg, &cmd->work);
    if (s->fault.hang_engine == (int)e) {
        s->fault.hang_engine = -1;
        cmd->work.hung = true;
        axl_truth_event(s, "fault", "\"fault\":\"hang\",\"engine\":%u,\"job\":%u,\"index\":%u", e,
                        cmd->desc.job, cmd->desc.index);
    }
    axl_sim_at(s, AXL_EV_ENGINE_ + e, s->now + dispatch_ns);
    axl_queue_pump(s, cmd->queue);
}

void axl_engine_phase_end(AxlDevice *s, unsigned e)
{
    AxlEngine *eng = &s->front->engine[e];
    int64_t ns;

    if (!eng->cmd) {
        return;
    }
    axl_account_engine(s, e);
    switch (axl_run_next(&eng->run, &ns)) {
    case AXL_NEXT_PHASE:
        axl_sim_at(s, AXL_EV_ENGINE_ + e, s->now + ns);
        break;
    case AXL_NEXT_STREAM:
        axl_flow_update(s);
        break;
    case AXL_NEXT_END:
        axl_engine_finish(s, e, AXL_ST_OK);
        break;
    case AXL_NEXT_HUNG:
        break;
    }
}

static void axl_engine_pick(AxlDevice *s, unsigned e)
{
    AxlEngine *eng = &s->front->engine[e];
    AxlCmd *best = NULL, *waiting = NULL;

    if (eng->cmd) {
        return;
    }
    axl_account_engine(s, e);
    for (unsigned i = 1; i <= AXL_MAX_QUEUES; i++) {
        AxlCmd *cmd = axl_fifo_head(s, e, (eng->last_queue + i) % AXL_MAX_QUEUES);
        uint32_t priority;

        if (!cmd || !axl_context_runs(s, cmd->ctx)) {
            continue;
        }
        priority = s->front->ctx[cmd->ctx].priority;
        if (axl_cmd_ready(s, cmd)) {
            if (!best || priority > s->front->ctx[best->ctx].priority) {
                best = cmd;
            }
        } else if (!waiting || priority > s->front->ctx[waiting->ctx].priority ||
                   (priority == s->front->ctx[waiting->ctx].priority &&
                    cmd->arrived_ns < waiting->arrived_ns)) {
            waiting = cmd;
        }
    }
    eng->candidate = waiting;
    if (best) {
        axl_engine_start(s, e, best);
    }
}

/* Called when work or a semaphore arrived, or an engine became free. */
void axl_engine_kick(AxlDevice *s)
{
    if (s->front->kicking) {
        s->front->kick_again = true;
        return;
    }
    s->front->kicking = true;
    do {
        s->front->kick_again = false;
        for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
            axl_engine_pick(s, e);
        }
    } while (s->front->kick_again);
    s->front->kicking = false;
}

/* Removes a queue's commands from the engines. */
void axl_engine_drop(AxlDevice *s, unsigned q)
{
    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        AxlEngine *eng = &s->front->engine[e];

        axl_account_engine(s, e);
        eng->fifo[q].head = eng->fifo[q].tail = 0;
        if (eng->candidate && eng->candidate->queue == q) {
            eng->candidate = NULL;
        }
        if (eng->cmd && eng->cmd->queue == q) {
            eng->cmd = NULL;
            axl_run_stop(&eng->run);
            axl_sim_at(s, AXL_EV_ENGINE_ + e, AXL_NEVER);
        }
    }
    axl_flow_update(s);
    axl_engine_kick(s);
}
