/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: the host memory that backs device memory. */
#include "qemu-device/memory/memory.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

/* Guard pages around device memory: a wrong address faults instead of corrupting QEMU. */
#define AXL_MEMORY_GUARD (UINT64_C(1) << 30)

static uint8_t *axl_memory_new(uint64_t bytes)
{
    uint64_t whole = bytes + 2 * AXL_MEMORY_GUARD;
    uint8_t *p = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int error;

    if (p == MAP_FAILED) {
        return NULL;
    }
    /* Untouched pages cost the host no memory. */
    if (mprotect(p + AXL_MEMORY_GUARD, bytes, PROT_READ | PROT_WRITE) == 0) {
        return p + AXL_MEMORY_GUARD;
    }
    error = errno;
    munmap(p, whole);
    errno = error;
    return NULL;
}

uint64_t axl_memory_map(AxlMemory *m, uint64_t dram_bytes, uint64_t scratch_bytes)
{
    m->dram_bytes = dram_bytes;
    m->scratch_bytes = scratch_bytes;
    m->dram = axl_memory_new(dram_bytes);
    m->scratch = m->dram ? axl_memory_new(scratch_bytes) : NULL;
    return !m->dram ? dram_bytes : !m->scratch ? scratch_bytes : 0;
}

static void axl_memory_free(uint8_t *p, uint64_t bytes)
{
    if (p) {
        munmap(p - AXL_MEMORY_GUARD, bytes + 2 * AXL_MEMORY_GUARD);
    }
}

void axl_memory_unmap(AxlMemory *m)
{
    axl_memory_free(m->dram, m->dram_bytes);
    axl_memory_free(m->scratch, m->scratch_bytes);
    m->dram = m->scratch = NULL;
}
