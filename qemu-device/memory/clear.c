/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: zeroing device memory by registers, for a driver that gives it to a new
 * owner. The bytes are zero immediately, but no one may use them before the
 * unit is done, so the difference cannot be observed.
 */
#include "qemu-device/memory/memory.h"

#include <string.h>
#include <sys/mman.h>

#define AXL_CLEAR_PAGE 4096

static bool axl_clear_valid(const AxlClear *c, const AxlMemory *m)
{
    uint64_t base = c->base, bytes = c->bytes, size = m->dram_bytes;

    if (base >= AXL_SCRATCHPAD_BASE) {
        base -= AXL_SCRATCHPAD_BASE;
        size = m->scratch_bytes;
    }
    return bytes && !((base | bytes) & (AXL_CLEAR_PAGE - 1)) && base < size &&
           bytes <= size - base;
}

bool axl_clear_start(AxlClear *c, const AxlMemory *m, int64_t now_ns, int64_t bandwidth)
{
    double ns;
    uint8_t *p;

    if (now_ns < c->done_ns) {
        return false;
    }
    c->error = !axl_clear_valid(c, m);
    if (c->error) {
        return true;
    }
    p = axl_mem(m, c->base);
    /* Untouched pages cost the host no memory, and after this neither do these. */
    if (madvise(p, c->bytes, MADV_DONTNEED) != 0) {
        memset(p, 0, c->bytes);
    }
    ns = bandwidth ? c->bytes * 1e3 / bandwidth : 1;
    c->done_ns = now_ns + (int64_t)(ns < 1e15 ? ns : 1e15);
    return true;
}

uint32_t axl_clear_status(const AxlClear *c, int64_t now_ns)
{
    return (now_ns < c->done_ns ? AXL_CLEAR_BUSY : 0) | (c->error ? AXL_CLEAR_ERROR : 0);
}
