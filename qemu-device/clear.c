/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: zeroing device memory by registers, for a driver that gives it to a new
 * owner. The bytes are zero at once; when nobody may use them yet, that cannot
 * be told from later.
 */
#include "axl.h"

#include <sys/mman.h>

#define AXL_CLEAR_PAGE 4096

static bool axl_clear_valid(const AxlState *s)
{
    uint64_t base = s->clear_base, bytes = s->clear_bytes, size = s->knob.dram_bytes;

    if (base >= AXL_SCRATCHPAD_BASE) {
        base -= AXL_SCRATCHPAD_BASE;
        size = s->knob.scratch_bytes;
    }
    return bytes && !((base | bytes) & (AXL_CLEAR_PAGE - 1)) && base < size &&
           bytes <= size - base;
}

void axl_clear_start(AxlState *s)
{
    double ns;
    uint8_t *p;

    if (s->now < s->clear_done_ns) {
        qemu_log_mask(LOG_GUEST_ERROR, "axl: clears memory already\n");
        return;
    }
    s->clear_error = !axl_clear_valid(s);
    if (s->clear_error) {
        return;
    }
    p = axl_mem(s, s->clear_base);
    /* Pages that nobody touched cost the host nothing, and again do not. */
    if (madvise(p, s->clear_bytes, MADV_DONTNEED) != 0) {
        memset(p, 0, s->clear_bytes);
    }
    ns = s->functional ? 1 : s->clear_bytes * 1e3 / s->knob.dram_bandwidth;
    s->clear_done_ns = s->now + (int64_t)MIN(ns, 1e15);
}

uint32_t axl_clear_status(const AxlState *s)
{
    return (s->now < s->clear_done_ns ? AXL_CLEAR_BUSY : 0) |
           (s->clear_error ? AXL_CLEAR_ERROR : 0);
}

void axl_clear_reset(AxlState *s)
{
    s->clear_base = s->clear_bytes = 0;
    s->clear_done_ns = 0;
    s->clear_error = false;
}
