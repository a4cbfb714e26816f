/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: makes trace records of commands and events. */
#include "qemu-device/observe/observe.h"

static bool axl_cmd_is_dma(const AxlCmd *cmd)
{
    return cmd->engine == AXL_ENGINE_H2D || cmd->engine == AXL_ENGINE_D2H;
}

/*
 * TLPs of a copy, or multiply-accumulates or elements of other commands, up to
 * their progress.
 */
uint64_t axl_cmd_work(const AxlCmd *cmd)
{
    return axl_cmd_is_dma(cmd) ?
           cmd->work.done[AXL_T_MRD] + cmd->work.done[AXL_T_CPLD] + cmd->work.done[AXL_T_MWR] :
           cmd->work.done[AXL_T_WORK];
}

/* Payload of a copy, or DRAM bytes that other commands requested. */
uint64_t axl_cmd_bytes(const AxlCmd *cmd)
{
    return axl_cmd_is_dma(cmd) ? cmd->work.done[AXL_T_PAYLOAD] :
                                 cmd->work.done[AXL_T_DRAM_USEFUL];
}

void axl_trace_cmd(AxlDevice *s, const AxlCmd *cmd)
{
    union axl_record rec = { 0 };
    struct axl_rec_cmd *r = &rec.cmd;

    r->h.type = AXL_REC_CMD;
    r->h.engine = cmd->engine;
    r->h.queue = cmd->queue;
    r->h.context = cmd->ctx;
    r->h.time = axl_now(s).ts;
    r->fetched = cmd->fetched.ts;
    r->head = axl_clock_before(s, cmd->start.ts, cmd->work.ticks[AXL_STALL_SEMAPHORE]);
    r->start = cmd->start.ts;
    r->end = cmd->end.ts;
    r->correlation = cmd->desc.correlation;
    r->job = cmd->desc.job;
    r->index = cmd->desc.index;
    r->opcode = cmd->desc.opcode;
    r->status = cmd->status;
    r->tag = cmd->desc.tag;
    for (unsigned i = 0; i < AXL_NUM_STALLS; i++) {
        r->stall[i] = MIN(cmd->work.ticks[i], UINT32_MAX);
    }
    r->limiter = axl_work_limiter(&cmd->work);
    r->work = axl_cmd_work(cmd);
    r->bytes = axl_cmd_bytes(cmd);
    r->dram_bytes = cmd->work.done[AXL_T_DRAM_READ] + cmd->work.done[AXL_T_DRAM_WRITE];
    r->row_hits = MIN(cmd->work.done[AXL_T_ROW_HITS], UINT32_MAX);
    r->row_misses = MIN(cmd->work.done[AXL_T_ROW_MISSES] + cmd->work.done[AXL_T_ROW_CONFLICTS],
                        UINT32_MAX);
    axl_ring_record(s, &rec, cmd->ctx);
}

void axl_trace_event(AxlDevice *s, unsigned event, int ctx, uint64_t a0, uint64_t a1, uint64_t a2)
{
    union axl_record rec = { 0 };

    rec.h.type = AXL_REC_EVENT;
    rec.h.engine = rec.h.queue = 0xff;
    rec.h.context = ctx >= 0 ? ctx : 0xff;
    rec.h.time = axl_now(s).ts;
    rec.event.event = event;
    rec.event.arg[0] = a0;
    rec.event.arg[1] = a1;
    rec.event.arg[2] = a2;
    axl_ring_record(s, &rec, ctx);
}
