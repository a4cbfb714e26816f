/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the contiguous runs of a copy on the bus: rows of host memory, or of the
 * stream that a scatter list describes. The cost model and the copy itself walk
 * the same runs.
 */
#include "qemu-device/timing/timing.h"

typedef struct AxlSgCursor {
    const struct axl_sg *sg;
    uint32_t entry;
    uint64_t base; /* stream offset of the entry's first byte */
} AxlSgCursor;

/* One row of the stream; rows come in ascending order, so the cursor only advances. */
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

bool axl_copy_walk(const struct axl_copy *c, const struct axl_sg *sg, AxlCopyRun run, void *opaque)
{
    AxlSgCursor at = { .sg = sg };
    bool flat = c->rows == 1 || (c->host_pitch == c->bytes && c->device_pitch == c->bytes);
    uint64_t rows = flat ? 1 : c->rows, bytes = flat ? c->bytes * c->rows : c->bytes;

    for (uint64_t r = 0; r < rows; r++) {
        uint64_t device = c->device + r * c->device_pitch;
        bool ok;

        if (sg) {
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
