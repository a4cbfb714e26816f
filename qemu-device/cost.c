/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: what a command asks of each resource, computed once when it starts.
 * docs/device.md has every formula of this file with its source.
 */
#include "axl.h"

static const struct {
    uint8_t per_step;  /* cycles for one step of `lanes` elements */
    uint8_t reduction; /* passes that end in a tree over the lanes */
} axl_vector_cost[] = {
    [AXL_OP_VEC_FILL - AXL_OP_VEC_FILL] = { 1, 0 },
    [AXL_OP_VEC_COPY - AXL_OP_VEC_FILL] = { 1, 0 },
    [AXL_OP_VEC_ADD - AXL_OP_VEC_FILL] = { 1, 0 },
    [AXL_OP_VEC_MUL - AXL_OP_VEC_FILL] = { 1, 0 },
    [AXL_OP_VEC_SCALE - AXL_OP_VEC_FILL] = { 1, 0 },
    [AXL_OP_VEC_SILU - AXL_OP_VEC_FILL] = { 4, 0 },
    [AXL_OP_VEC_SILU_MUL - AXL_OP_VEC_FILL] = { 5, 0 },
    [AXL_OP_VEC_GELU - AXL_OP_VEC_FILL] = { 6, 0 },
    [AXL_OP_VEC_RMSNORM - AXL_OP_VEC_FILL] = { 3, 1 },
    [AXL_OP_VEC_SOFTMAX - AXL_OP_VEC_FILL] = { 6, 2 },
    [AXL_OP_VEC_ROPE - AXL_OP_VEC_FILL] = { 4, 0 },
    [AXL_OP_VEC_GATHER - AXL_OP_VEC_FILL] = { 1, 0 },
    [AXL_OP_VEC_ARGMAX - AXL_OP_VEC_FILL] = { 1, 1 },
    [AXL_OP_VEC_SUM - AXL_OP_VEC_FILL] = { 1, 1 },
};

/*
 * Reads with `tags` requests outstanding: request k goes out when k - tags has
 * come back. Time beyond the first round trip, or 0 if tags do not limit.
 */
static double axl_cost_tags(const AxlState *s, uint64_t reads, double each_ns)
{
    double latency = s->knob.pcie_latency_ns;
    uint64_t tags = s->knob.pcie_tags;
    uint64_t rounds;

    if (reads <= tags || tags * each_ns >= latency + each_ns) {
        return 0;
    }
    rounds = (reads - 1) / tags;
    return rounds * latency + (rounds + reads - rounds * tags) * each_ns;
}

typedef struct AxlCopyCost {
    AxlState *s;
    bool h2d;
    AxlTlps tlps;
} AxlCopyCost;

static bool axl_cost_run(void *opaque, uint64_t host, uint64_t device, uint64_t bytes)
{
    AxlCopyCost *c = opaque;

    if (c->h2d) {
        axl_pcie_read_tlps(c->s, &c->tlps, host, bytes);
    } else {
        axl_pcie_write_tlps(c->s, &c->tlps, host, bytes);
    }
    return true;
}

static void axl_cost_copy(AxlState *s, AxlCmd *cmd)
{
    bool h2d = cmd->desc.opcode == AXL_OP_COPY_H2D;
    uint64_t payload = cmd->desc.copy.bytes * cmd->desc.copy.rows;
    AxlCopyCost cost = { .s = s, .h2d = h2d };
    AxlTlps t;

    axl_copy_walk(cmd, axl_cost_run, &cost);
    t = cost.tlps;
    axl_pcie_wire(s, &t, h2d ? payload : 0, h2d ? 0 : payload);
    cmd->total[AXL_T_PAYLOAD] = payload;
    cmd->total[AXL_T_MRD] = t.mrd;
    cmd->total[AXL_T_CPLD] = t.cpld;
    cmd->total[AXL_T_MWR] = t.mwr;
    cmd->total[AXL_T_RX_WIRE] = t.rx_wire;
    cmd->total[AXL_T_TX_WIRE] = t.tx_wire;
    cmd->demand.rx_bytes = t.rx_wire;
    cmd->demand.tx_bytes = t.tx_wire;
    cmd->demand.cycles = (double)payload / s->knob.dma_bytes;
    if (h2d) {
        cmd->demand.tag_ns = axl_cost_tags(s, t.mrd, t.rx_wire * s->rx_ns_per_byte / t.mrd);
        cmd->demand.pcie_latency_ns += s->knob.pcie_latency_ns;
    } else {
        cmd->demand.memory_latency_ns = s->knob.dram_latency_ns;
    }
}

/*
 * Weight-stationary array of R rows (K) and C columns (N): each tile of B is
 * loaded in R cycles behind the streaming of the one before it.
 */
static double axl_matmul_cycles(const AxlState *s, const struct axl_matmul *m)
{
    uint64_t rows = s->knob.matrix_rows, cols = s->knob.matrix_cols;
    uint64_t tiles = (uint64_t)DIV_ROUND_UP(m->k, rows) * DIV_ROUND_UP(m->n, cols) * m->batch;

    return rows + (double)tiles * MAX(m->m, rows) + rows + cols - 2;
}

static void axl_cost_matmul(AxlState *s, AxlCmd *cmd)
{
    const struct axl_matmul *m = &cmd->desc.matmul;

    cmd->demand.cycles = axl_matmul_cycles(s, m);
    cmd->demand.rate = s->knob.matrix_rate * 1e-3;
    cmd->demand.memory_latency_ns = s->knob.dram_latency_ns;
    cmd->total[AXL_T_WORK] = (uint64_t)m->m * m->n * m->k * m->batch;
}

static double axl_vector_cycles(const AxlState *s, unsigned op, const struct axl_vector *v)
{
    unsigned kind = op - AXL_OP_VEC_FILL;
    uint64_t lanes = s->knob.vector_lanes, rows = v->rows, cols = v->cols;
    bool row_wise = axl_vector_cost[kind].reduction || op == AXL_OP_VEC_ROPE ||
                    op == AXL_OP_VEC_GATHER || (v->flags & AXL_VEC_F_BROADCAST1);
    uint64_t tree = axl_vector_cost[kind].reduction * (lanes > 1 ? 64 - clz64(lanes - 1) : 0);

    /* Element-wise work on packed rows is one long row: no part-filled steps. */
    if (!row_wise && v->dst_stride == cols && (op == AXL_OP_VEC_FILL || v->src0_stride == cols)) {
        cols *= rows;
        rows = 1;
    }
    return rows * ((double)DIV_ROUND_UP(cols, lanes) * axl_vector_cost[kind].per_step + tree);
}

static void axl_cost_vector(AxlState *s, AxlCmd *cmd)
{
    const struct axl_vector *v = &cmd->desc.vector;
    unsigned op = cmd->desc.opcode;
    bool scalar_dst = op == AXL_OP_VEC_ARGMAX || op == AXL_OP_VEC_SUM;

    cmd->demand.cycles = axl_vector_cycles(s, op, v);
    cmd->demand.rate = s->knob.vector_rate * 1e-3;
    cmd->demand.memory_latency_ns = s->knob.dram_latency_ns;
    cmd->total[AXL_T_WORK] = scalar_dst ? v->rows : (uint64_t)v->rows * v->cols;
}

/* Cheap lower bounds of the same, known from the descriptor alone: for foresight.c. */
void axl_cost_least(AxlState *s, AxlCmd *cmd)
{
    unsigned op = cmd->desc.opcode;

    if (op == AXL_OP_NOP || s->functional) {
        return;
    }
    if (op == AXL_OP_COPY_H2D || op == AXL_OP_COPY_D2H) {
        cmd->least.link_bytes = cmd->desc.copy.bytes * cmd->desc.copy.rows;
    } else {
        cmd->least.cycles = op == AXL_OP_MATMUL ? axl_matmul_cycles(s, &cmd->desc.matmul) :
                                                  axl_vector_cycles(s, op, &cmd->desc.vector);
    }
    for (unsigned i = 0; i < cmd->operands; i++) {
        const AxlOperand *o = &cmd->operand[i];

        if (o->addr < AXL_SCRATCHPAD_BASE) {
            cmd->least.dram_bytes += o->rows * o->row_bytes * o->batch * o->passes;
        }
    }
}

void axl_cost(AxlState *s, AxlCmd *cmd)
{
    unsigned op = cmd->desc.opcode;

    cmd->demand.rate = 1;
    if (op == AXL_OP_NOP || s->functional) {
        return;
    }
    if (op == AXL_OP_COPY_H2D || op == AXL_OP_COPY_D2H) {
        axl_cost_copy(s, cmd);
    } else if (op == AXL_OP_MATMUL) {
        axl_cost_matmul(s, cmd);
    } else {
        axl_cost_vector(s, cmd);
    }
    cmd->demand.dram_ns = axl_dram_cost(s, cmd, op == AXL_OP_VEC_GATHER);
    cmd->demand.scratch_ns = cmd->total[AXL_T_SCRATCH] * 1e3 / s->knob.scratch_bandwidth;
}
