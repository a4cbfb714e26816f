/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: a command's real work, done at its modelled end. The descriptor has been
 * checked by axl_decode(); what depends on data (gather indices) is checked here.
 */
#include "axl.h"

typedef struct AxlCopier {
    AxlState *s;
    bool h2d;
} AxlCopier;

static bool axl_exec_run(void *opaque, uint64_t host, uint64_t device, uint64_t bytes)
{
    AxlCopier *c = opaque;
    uint8_t *mem = axl_mem(c->s, device);

    return (c->h2d ? axl_dma_read(c->s, host, mem, bytes) :
                     axl_dma_write(c->s, host, mem, bytes)) == MEMTX_OK;
}

static unsigned axl_exec_copy(AxlState *s, AxlCmd *cmd)
{
    AxlCopier c = { .s = s, .h2d = cmd->desc.opcode == AXL_OP_COPY_H2D };

    return axl_copy_walk(cmd, axl_exec_run, &c) ? AXL_ST_OK : AXL_ST_DMA_ERROR;
}

/* What uses device memory and nothing else of the state: perhaps another thread. */
unsigned axl_exec_numbers(AxlState *s, const struct axl_desc *desc)
{
    if (desc->opcode == AXL_OP_MATMUL) {
        axl_exec_matmul(s, &desc->matmul);
        return AXL_ST_OK;
    }
    return axl_exec_vector(s, desc->opcode, &desc->vector);
}

unsigned axl_exec(AxlState *s, AxlCmd *cmd)
{
    bool copy = cmd->desc.opcode == AXL_OP_COPY_H2D || cmd->desc.opcode == AXL_OP_COPY_D2H;

    if (copy && s->fault.fail_dmas > 0) {
        s->fault.fail_dmas--;
        axl_truth_event(s, "fault", "\"fault\":\"failed-dma\",\"job\":%u,\"index\":%u",
                        cmd->desc.job, cmd->desc.index);
        return AXL_ST_DMA_ERROR;
    }
    if (s->fault.poison > 0) {
        s->fault.poison--;
        axl_truth_event(s, "fault", "\"fault\":\"poison\",\"job\":%u,\"index\":%u",
                        cmd->desc.job, cmd->desc.index);
        axl_trace_event(s, AXL_EV_ECC, cmd->ctx, cmd->operands ? cmd->operand[0].addr : 0, 1, 0);
        return AXL_ST_POISONED;
    }
    if (copy) {
        return axl_exec_copy(s, cmd);
    }
    return cmd->desc.opcode == AXL_OP_NOP ? AXL_ST_OK : axl_exec_numbers(s, &cmd->desc);
}
