/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: what a copy covers on the bus, run by run: rows of host memory, or of
 * the stream that a scatter list makes. The cost model and the copy itself walk
 * the same runs.
 */
#include "axl.h"

typedef struct AxlSgCursor {
    const struct axl_sg *sg;
    uint32_t entry;
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
    AxlSgCursor at = { .sg = cmd->sg };
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

/*
 * Reads the scatter list, AXL_SG_BATCH entries at a time, up to the entry that
 * holds the copy's last byte; what follows is not looked at.
 */
#define AXL_SG_BATCH 64

unsigned axl_copy_fetch_sg(AxlState *s, AxlCmd *cmd)
{
    const struct axl_copy *c = &cmd->desc.copy;
    uint64_t pitch = c->rows > 1 ? c->host_pitch : 0;
    uint64_t need = c->sg_offset + (c->rows - 1ULL) * pitch + c->bytes, sum = 0;
    uint32_t room = MIN(c->sg_count, 4 * AXL_SG_BATCH), n = 0;

    cmd->sg = g_new(struct axl_sg, room);
    while (sum < need && n < c->sg_count) {
        uint32_t batch = MIN(AXL_SG_BATCH, c->sg_count - n);
        uint64_t at = c->host + (uint64_t)n * sizeof(struct axl_sg);
        uint64_t bytes = batch * sizeof(struct axl_sg);

        if (n + batch > room) {
            room = MIN(2 * room, c->sg_count);
            cmd->sg = g_renew(struct axl_sg, cmd->sg, room);
        }
        if (axl_dma_read(s, at, &cmd->sg[n], bytes) != MEMTX_OK) {
            return AXL_ST_DMA_ERROR;
        }
        axl_dma_count_read(s, at, bytes);
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
    cmd->demand.pcie_latency_ns =
        s->knob.pcie_latency_ns + (int64_t)ceil(n * sizeof(struct axl_sg) * s->rx_ns_per_byte);
    return sum >= need ? AXL_ST_OK : AXL_ST_BAD_FIELD;
}
