/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: selects the engine's arithmetic and estimates its cost. */
#include "qemu-device/numerics/numerics.h"

unsigned axl_numbers(const AxlMemory *mem, const struct axl_desc *d)
{
    if (d->opcode == AXL_OP_MATMUL) {
        axl_matmul(mem, &d->matmul);
        return AXL_ST_OK;
    }
    return axl_vector(mem, d->opcode, &d->vector);
}

uint64_t axl_numbers_steps(const struct axl_desc *d)
{
    const struct axl_matmul *m = &d->matmul;

    if (d->opcode == AXL_OP_MATMUL) {
        uint64_t cols = m->m <= 2 ? m->n : ROUND_UP((uint64_t)m->n, 16);

        /* At most 2^36, with a minimum for each matrix of a batch. */
        return ((uint64_t)m->m * m->k * cols + 1024) * m->batch;
    }
    if (d->opcode >= AXL_OP_VEC_FILL && d->opcode <= AXL_OP_VEC_SUM) {
        return 16 * (uint64_t)d->vector.rows * d->vector.cols;
    }
    return 0;
}
