/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: descriptor checks. The guest controls descriptors, so no field is used
 * before axl_decode() has bounded it. It also lists the command's operands in
 * device memory, for the timing model. Plain C.
 */
#include "qemu-device/frontend/decode.h"

#define F32 4

static bool axl_operand_ok(const AxlKnobs *k, const AxlOperand *o)
{
    bool scratch = o->addr >= AXL_SCRATCHPAD_BASE;
    uint64_t base = scratch ? AXL_SCRATCHPAD_BASE : 0;
    uint64_t size = scratch ? k->scratch_bytes : k->dram_bytes;
    unsigned __int128 end = (unsigned __int128)(o->addr - base) +
                            (unsigned __int128)(o->batch - 1) * o->batch_pitch +
                            (unsigned __int128)(o->rows - 1) * o->pitch + o->row_bytes;

    return end <= size;
}

static unsigned axl_decode_finish(const AxlKnobs *k, const AxlWork *w)
{
    for (unsigned i = 0; i < w->operands; i++) {
        const AxlOperand *o = &w->operand[i];

        if (o->rows == 0 || o->row_bytes == 0 || o->batch == 0 ||
            o->rows * o->batch > AXL_MAX_RUNS) {
            return AXL_ST_BAD_FIELD;
        }
        if (!axl_operand_ok(k, o)) {
            return AXL_ST_BAD_ADDRESS;
        }
    }
    return AXL_ST_OK;
}

static void axl_operand_add(AxlWork *w, uint64_t addr, uint64_t rows, uint64_t row_bytes,
                            uint64_t pitch, bool write)
{
    w->operand[w->operands++] = (AxlOperand) {
        .addr = addr, .rows = rows, .row_bytes = row_bytes, .pitch = pitch,
        .batch = 1, .passes = 1, .write = write,
    };
}

static unsigned axl_decode_copy(const AxlKnobs *k, const struct axl_desc *d, AxlWork *w)
{
    const struct axl_copy *c = &d->copy;
    bool sg = d->flags & AXL_DESC_F_SG;

    if (c->reserved0 | c->reserved[0] | c->reserved[1] | c->reserved[2]) {
        return AXL_ST_BAD_FIELD;
    }
    if (c->rows == 0 || c->rows > AXL_MAX_COPY_ROWS || c->bytes == 0 ||
        c->bytes > AXL_MAX_COPY_BYTES || c->bytes * c->rows > AXL_MAX_COPY_BYTES) {
        return AXL_ST_BAD_FIELD;
    }
    if (sg ? c->sg_count == 0 || c->sg_count > AXL_MAX_SG : c->sg_count || c->sg_offset) {
        return AXL_ST_BAD_FIELD;
    }
    if (sg && (c->host & 15)) {
        return AXL_ST_BAD_FIELD;
    }
    if (c->rows > 1 && (c->device_pitch < c->bytes || c->host_pitch < c->bytes)) {
        return AXL_ST_BAD_FIELD;
    }
    axl_operand_add(w, c->device, c->rows, c->bytes, c->device_pitch,
                    d->opcode == AXL_OP_COPY_H2D);
    return axl_decode_finish(k, w);
}

static unsigned axl_decode_matmul(const AxlKnobs *k, const struct axl_desc *d, AxlWork *w)
{
    const struct axl_matmul *m = &d->matmul;
    unsigned a_size = m->flags & AXL_MM_F_A_BF16 ? 2 : F32;
    unsigned b_size = m->flags & AXL_MM_F_B_BF16 ? 2 : F32;
    bool transposed = m->flags & AXL_MM_F_TRANSPOSE_B;
    uint64_t b_rows = transposed ? m->n : m->k, b_cols = transposed ? m->k : m->n;
    unsigned __int128 macs = (unsigned __int128)m->m * m->n * m->k;
    uint64_t a_bytes, strips;

    if ((m->flags & ~AXL_MM_F_ALL) || m->m == 0 || m->n == 0 || m->k == 0 || m->batch == 0) {
        return AXL_ST_BAD_FIELD;
    }
    if (m->m > AXL_MAX_DIM || m->n > AXL_MAX_DIM || m->k > AXL_MAX_DIM ||
        macs * m->batch > AXL_MAX_MACS) {
        return AXL_ST_BAD_FIELD;
    }
    if (m->lda < m->k || m->ldb < b_cols || m->ldc < m->n) {
        return AXL_ST_BAD_FIELD;
    }
    if ((m->a & (a_size - 1)) || (m->b & (b_size - 1)) || (m->c & (F32 - 1))) {
        return AXL_ST_BAD_FIELD;
    }
    axl_operand_add(w, m->a, m->m, (uint64_t)m->k * a_size, (uint64_t)m->lda * a_size, false);
    axl_operand_add(w, m->b, b_rows, b_cols * b_size, (uint64_t)m->ldb * b_size, false);
    if (m->flags & AXL_MM_F_ACCUMULATE) {
        axl_operand_add(w, m->c, m->m, (uint64_t)m->n * F32, (uint64_t)m->ldc * F32, false);
    }
    axl_operand_add(w, m->c, m->m, (uint64_t)m->n * F32, (uint64_t)m->ldc * F32, true);
    for (unsigned i = 0; i < w->operands; i++) {
        AxlOperand *o = &w->operand[i];

        o->batch = m->batch;
        o->batch_pitch = i == 0 ? (uint64_t)m->batch_stride_a * a_size :
                         i == 1 ? (uint64_t)m->batch_stride_b * b_size :
                                  (uint64_t)m->batch_stride_c * F32;
    }
    /* A is streamed once for each strip of columns unless the buffer holds it. */
    a_bytes = (uint64_t)m->m * m->k * a_size;
    strips = DIV_ROUND_UP(m->n, k->matrix_cols);
    w->operand[0].passes = a_bytes <= k->matrix_buffer ? 1 : strips;
    return axl_decode_finish(k, w);
}

/* The sources that an opcode reads, and the shape of what it writes. */
static bool axl_vector_reads1(unsigned opcode)
{
    return opcode == AXL_OP_VEC_ADD || opcode == AXL_OP_VEC_MUL || opcode == AXL_OP_VEC_SILU_MUL;
}

static unsigned axl_decode_vector(const AxlKnobs *k, const struct axl_desc *d, AxlWork *w)
{
    const struct axl_vector *v = &d->vector;
    unsigned op = d->opcode;
    uint64_t row = (uint64_t)v->cols * F32;
    bool scalar_dst = op == AXL_OP_VEC_ARGMAX || op == AXL_OP_VEC_SUM;
    bool flag_ok = !(v->flags & ~AXL_VEC_F_ALL) && v->reserved == 0;

    if ((v->flags & AXL_VEC_F_CAUSAL) && op != AXL_OP_VEC_SOFTMAX) {
        flag_ok = false;
    }
    if ((v->flags & AXL_VEC_F_BROADCAST1) && !axl_vector_reads1(op) && op != AXL_OP_VEC_RMSNORM) {
        flag_ok = false;
    }
    if (!flag_ok || v->rows == 0 || v->cols == 0 || v->rows > AXL_MAX_DIM ||
        (uint64_t)v->rows * v->cols > AXL_MAX_ELEMENTS) {
        return AXL_ST_BAD_FIELD;
    }
    if ((v->src0 | v->src1 | v->dst) & (F32 - 1)) {
        return AXL_ST_BAD_FIELD;
    }
    if (op == AXL_OP_VEC_ROPE && (v->arg1 == 0 || (v->arg1 & 1) || v->cols % v->arg1)) {
        return AXL_ST_BAD_FIELD;
    }
    if (v->rows > 1 && !scalar_dst && v->dst_stride < v->cols) {
        return AXL_ST_BAD_FIELD;
    }
    if (op == AXL_OP_VEC_GATHER) {
        /* The rows are known once the indices are; see timing/dram.c. */
        axl_operand_add(w, v->src0, v->rows, F32, (uint64_t)MAX(v->src0_stride, 1) * F32, false);
        if (v->arg0 == 0 || (v->arg0 > 1 && v->src1_stride < v->cols)) {
            return AXL_ST_BAD_FIELD;
        }
    } else if (op != AXL_OP_VEC_FILL) {
        axl_operand_add(w, v->src0, v->rows, row, (uint64_t)v->src0_stride * F32, false);
    }
    if (op == AXL_OP_VEC_RMSNORM || (axl_vector_reads1(op) && (v->flags & AXL_VEC_F_BROADCAST1))) {
        axl_operand_add(w, v->src1, 1, row, row, false);
    } else if (axl_vector_reads1(op)) {
        axl_operand_add(w, v->src1, v->rows, row, (uint64_t)v->src1_stride * F32, false);
    }
    if (scalar_dst) {
        axl_operand_add(w, v->dst, v->rows, F32, (uint64_t)MAX(v->dst_stride, 1) * F32, true);
    } else {
        axl_operand_add(w, v->dst, v->rows, row, (uint64_t)v->dst_stride * F32, true);
    }
    if (op == AXL_OP_VEC_GATHER) {
        AxlOperand table = { .addr = v->src1, .rows = v->arg0, .row_bytes = row, .batch = 1,
                             .pitch = (uint64_t)v->src1_stride * F32 };

        if (!axl_operand_ok(k, &table)) {
            return AXL_ST_BAD_ADDRESS;
        }
    }
    return axl_decode_finish(k, w);
}

unsigned axl_decode(const AxlKnobs *k, const struct axl_desc *d, AxlWork *w)
{
    bool copy = d->opcode == AXL_OP_COPY_H2D || d->opcode == AXL_OP_COPY_D2H;

    w->operands = 0;
    if (d->engine >= AXL_NUM_ENGINES) {
        return AXL_ST_BAD_OPCODE;
    }
    if ((d->flags & ~AXL_DESC_F_ALL) || d->reserved || d->job == 0 || d->index > UINT16_MAX ||
        ((d->flags & AXL_DESC_F_SG) && !copy)) {
        return AXL_ST_BAD_FIELD;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (d->wait_sem[i] != AXL_SEM_NONE && d->wait_sem[i] >= AXL_MAX_SEMS) {
            return AXL_ST_BAD_FIELD;
        }
    }
    if (d->signal_sem != AXL_SEM_NONE && d->signal_sem >= AXL_MAX_SEMS) {
        return AXL_ST_BAD_FIELD;
    }
    if (d->opcode == AXL_OP_NOP) {
        return AXL_ST_OK;
    }
    switch (d->engine) {
    case AXL_ENGINE_H2D:
        return d->opcode == AXL_OP_COPY_H2D ? axl_decode_copy(k, d, w) : AXL_ST_BAD_OPCODE;
    case AXL_ENGINE_D2H:
        return d->opcode == AXL_OP_COPY_D2H ? axl_decode_copy(k, d, w) : AXL_ST_BAD_OPCODE;
    case AXL_ENGINE_MATRIX:
        return d->opcode == AXL_OP_MATMUL ? axl_decode_matmul(k, d, w) : AXL_ST_BAD_OPCODE;
    default:
        return d->opcode >= AXL_OP_VEC_FILL && d->opcode <= AXL_OP_VEC_SUM ?
               axl_decode_vector(k, d, w) : AXL_ST_BAD_OPCODE;
    }
}
