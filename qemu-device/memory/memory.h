/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: device memory, DRAM and scratchpad, and the unit that zeroes it. Plain C. */
#ifndef AXL_MEMORY_MEMORY_H
#define AXL_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "kmod/uapi/axl_hw.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct AxlMemory {
    uint8_t *dram, *scratch;
    uint64_t dram_bytes, scratch_bytes;
} AxlMemory;

/*
 * Maps both; returns 0, or the number of bytes that could not be mapped (errno
 * has the reason).
 */
uint64_t axl_memory_map(AxlMemory *m, uint64_t dram_bytes, uint64_t scratch_bytes);
void axl_memory_unmap(AxlMemory *m);

/* The decoder has checked the address. */
static inline uint8_t *axl_mem(const AxlMemory *m, uint64_t addr)
{
    return addr >= AXL_SCRATCHPAD_BASE ? m->scratch + (addr - AXL_SCRATCHPAD_BASE) : m->dram + addr;
}

/* The clear unit: AXL_REG_CLEAR_*. */
typedef struct AxlClear {
    uint64_t base, bytes;
    int64_t done_ns;
    bool error;
} AxlClear;

/* Returns false if a clear is under way. `bandwidth` is in MB/s, 0 = takes no time. */
bool axl_clear_start(AxlClear *c, const AxlMemory *m, int64_t now_ns, int64_t bandwidth);
uint32_t axl_clear_status(const AxlClear *c, int64_t now_ns);

#ifdef __cplusplus
}
#endif

#endif /* AXL_MEMORY_MEMORY_H */
