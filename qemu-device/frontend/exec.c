/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the data transfer of a command, done at its modelled end. axl_decode()
 * has checked the descriptor; checks that depend on data (gather indices) are
 * made here.
 */
#include "qemu-device/frontend/state.h"
#include "qemu-device/numerics/numerics.h"

typedef struct AxlCopier {
    AxlDevice *s;
    bool h2d;
} AxlCopier;

static bool axl_exec_run(void *opaque, uint64_t host, uint64_t device, uint64_t bytes)
{
    AxlCopier *c = opaque;
    uint8_t *mem = axl_mem(&c->s->mem, device);

    return c->h2d ? c->s->up->read(c->s, host, mem, bytes) :
                    c->s->up->write(c->s, host, mem, bytes);
}

static unsigned axl_exec_copy(AxlDevice *s, AxlCmd *cmd)
{
    AxlCopier c = { .s = s, .h2d = cmd->desc.opcode == AXL_OP_COPY_H2D };

    return axl_copy_walk(&cmd->desc.copy, cmd->sg, axl_exec_run, &c) ? AXL_ST_OK : AXL_ST_DMA_ERROR;
}

/*
 * Reads the scatter list, AXL_SG_BATCH entries at a time, up to the entry with
 * the copy's last byte; later entries are not read.
 */
#define AXL_SG_BATCH 64

unsigned axl_exec_fetch_sg(AxlDevice *s, AxlCmd *cmd)
{
    const struct axl_copy *c = &cmd->desc.copy;
    uint64_t pitch = c->rows > 1 ? c->host_pitch : 0;
    uint64_t need = c->sg_offset + (c->rows - 1ULL) * pitch + c->bytes, sum = 0;
    uint32_t space = MIN(c->sg_count, 4 * AXL_SG_BATCH), n = 0;

    cmd->sg = g_new(struct axl_sg, space);
    while (sum < need && n < c->sg_count) {
        uint32_t batch = MIN(AXL_SG_BATCH, c->sg_count - n);
        uint64_t at = c->host + (uint64_t)n * sizeof(struct axl_sg);
        uint64_t bytes = batch * sizeof(struct axl_sg);

        if (n + batch > space) {
            space = MIN(2 * space, c->sg_count);
            cmd->sg = g_renew(struct axl_sg, cmd->sg, space);
        }
        if (!s->up->fetch(s, at, &cmd->sg[n], bytes)) {
            return AXL_ST_DMA_ERROR;
        }
        for (; batch; batch--, n++) {
            struct axl_sg *sg = &cmd->sg[n];

            sg->addr = le64_to_cpu(sg->addr);
            sg->bytes = le32_to_cpu(sg->bytes);
            if (sg->bytes == 0 || sg->reserved || sg->addr + sg->bytes < sg->addr) {
                return AXL_ST_BAD_FIELD;
            }
            sum += sg->bytes;
        }
    }
    axl_cost_list(&s->timing, &cmd->work, n);
    return sum >= need ? AXL_ST_OK : AXL_ST_BAD_FIELD;
}

unsigned axl_exec(AxlDevice *s, AxlCmd *cmd)
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
        axl_trace_event(s, AXL_EV_ECC, cmd->ctx,
                        cmd->work.operands ? cmd->work.operand[0].addr : 0, 1, 0);
        return AXL_ST_POISONED;
    }
    if (copy) {
        return axl_exec_copy(s, cmd);
    }
    return cmd->desc.opcode == AXL_OP_NOP ? AXL_ST_OK : axl_numbers(&s->mem, &cmd->desc);
}
