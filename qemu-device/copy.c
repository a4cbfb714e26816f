/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: what a copy covers on the bus, run by run: rows of host memory, or of
 * the stream that a scatter list makes. The cost model and the copy itself walk
 * the same runs.
 */
#include "axl.h"

typedef struct AxlSgCursor {
    const struct axl_sg *sg;
    uint32_t entry, count;
    uint64_t base; /* stream offset of the entry's first byte */
} AxlSgCursor;

/* One row of the stream; rows come in rising order, so the cursor only advances. */
static bool axl_copy_sg_row(AxlSgCursor *at, uint64_t offset, uint64_t bytes, uint64_t device,
                            AxlCopyRun run, void *opaque)
{
    while (bytes) {
        const struct axl_sg *sg = &at->sg[at->entry];
        uint64_t skip = offset - at->base, n;

        if (skip >= sg->bytes) {
            at->base += sg->bytes;
            at->entry++;
            continue;
        }
        n = MIN(bytes, sg->bytes - skip);
        if (!run(opaque, sg->addr + skip, device, n)) {
            return false;
        }
        offset += n;
        device += n;
        bytes -= n;
    }
    return true;
}

/* False as soon as a run says so. The list was checked by axl_copy_fetch_sg(). */
bool axl_copy_walk(const AxlCmd *cmd, AxlCopyRun run, void *opaque)
{
    const struct axl_copy *c = &cmd->desc.copy;
    AxlSgCursor at = { .sg = cmd->sg, .count = c->sg_count };
    bool flat = c->rows == 1 || (c->host_pitch == c->bytes && c->device_pitch == c->bytes);
    uint64_t rows = flat ? 1 : c->rows, bytes = flat ? c->bytes * c->rows : c->bytes;

    for (uint64_t r = 0; r < rows; r++) {
        uint64_t device = c->device + r * c->device_pitch;
        bool ok;

        if (cmd->sg) {
            ok = axl_copy_sg_row(&at, c->sg_offset + r * c->host_pitch, bytes, device, run, opaque);
        } else {
            ok = run(opaque, c->host + r * c->host_pitch, device, bytes);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* Reads the scatter list and checks that it covers the copy. */
unsigned axl_copy_fetch_sg(AxlState *s, AxlCmd *cmd)
{
    const struct axl_copy *c = &cmd->desc.copy;
    uint64_t bytes = (uint64_t)c->sg_count * sizeof(struct axl_sg), sum = 0;

    cmd->sg = g_new(struct axl_sg, c->sg_count);
    if (axl_dma_read(s, c->host, cmd->sg, bytes) != MEMTX_OK) {
        return AXL_ST_DMA_ERROR;
    }
    axl_dma_count_read(s, c->host, bytes);
    for (uint32_t i = 0; i < c->sg_count; i++) {
        struct axl_sg *sg = &cmd->sg[i];

        sg->addr = le64_to_cpu(sg->addr);
        sg->bytes = le32_to_cpu(sg->bytes);
        if (sg->bytes == 0 || sg->reserved || sg->addr + sg->bytes < sg->addr) {
            return AXL_ST_BAD_FIELD;
        }
        sum += sg->bytes;
    }
    cmd->demand.pcie_latency_ns =
        s->knob.pcie_latency_ns + (int64_t)ceil(bytes * s->rx_ns_per_byte);
    return c->sg_offset + (c->rows - 1ULL) * (c->rows > 1 ? c->host_pitch : 0) + c->bytes <= sum ?
           AXL_ST_OK : AXL_ST_BAD_FIELD;
}
