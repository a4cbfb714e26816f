/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: a command's demand on each resource, computed once when it starts.
 * docs/device-model.md has every formula of this file with its source.
 */
#include "qemu-device/timing/timing.h"

#include <math.h>

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

typedef struct AxlCopyCost {
    const AxlTiming *t;
    bool h2d;
    AxlTlps tlps;
} AxlCopyCost;

static bool axl_cost_run(void *opaque, uint64_t host, uint64_t device, uint64_t bytes)
{
    AxlCopyCost *c = opaque;

    if (c->h2d) {
        axl_link_read_tlps(c->t, &c->tlps, host, bytes);
    } else {
        axl_link_write_tlps(c->t, &c->tlps, host, bytes);
    }
    return true;
}

static void axl_cost_copy(const AxlTiming *t, const struct axl_desc *d, const struct axl_sg *sg,
                          AxlWork *w)
{
    bool h2d = d->opcode == AXL_OP_COPY_H2D;
    uint64_t payload = d->copy.bytes * d->copy.rows;
    AxlCopyCost cost = { .t = t, .h2d = h2d };
    AxlTlps n;

    axl_copy_walk(&d->copy, sg, axl_cost_run, &cost);
    n = cost.tlps;
    axl_link_wire(t, &n, h2d ? payload : 0, h2d ? 0 : payload);
    w->total[AXL_T_PAYLOAD] = payload;
    w->total[AXL_T_MRD] = n.mrd;
    w->total[AXL_T_CPLD] = n.cpld;
    w->total[AXL_T_MWR] = n.mwr;
    w->total[AXL_T_RX_WIRE] = n.rx_wire;
    w->total[AXL_T_TX_WIRE] = n.tx_wire;
    w->demand.rx_bytes = n.rx_wire;
    w->demand.tx_bytes = n.tx_wire;
    w->demand.cycles = (double)payload / t->knob->dma_bytes;
    if (h2d) {
        w->demand.tag_ns = axl_link_tag_ns(t, n.mrd, n.rx_wire * t->link.rx_ns_per_byte / n.mrd);
        w->demand.pcie_latency_ns += t->knob->pcie_latency_ns;
    } else {
        w->demand.memory_latency_ns = t->knob->dram_latency_ns;
    }
}

/*
 * Weight-stationary array of R rows (K) and C columns (N): each tile of B is
 * loaded in R cycles while the previous tile streams.
 */
static double axl_matmul_cycles(const AxlTiming *t, const struct axl_matmul *m)
{
    uint64_t rows = t->knob->matrix_rows, cols = t->knob->matrix_cols;
    uint64_t tiles = (uint64_t)DIV_ROUND_UP(m->k, rows) * DIV_ROUND_UP(m->n, cols) * m->batch;

    return rows + (double)tiles * MAX(m->m, rows) + rows + cols - 2;
}

static void axl_cost_matmul(const AxlTiming *t, const struct axl_desc *d, AxlWork *w)
{
    const struct axl_matmul *m = &d->matmul;

    w->demand.cycles = axl_matmul_cycles(t, m);
    w->demand.rate = t->knob->matrix_rate * 1e-3;
    w->demand.memory_latency_ns = t->knob->dram_latency_ns;
    w->total[AXL_T_WORK] = (uint64_t)m->m * m->n * m->k * m->batch;
}

static double axl_vector_cycles(const AxlTiming *t, unsigned op, const struct axl_vector *v)
{
    unsigned kind = op - AXL_OP_VEC_FILL;
    uint64_t lanes = t->knob->vector_lanes, rows = v->rows, cols = v->cols;
    bool row_wise = axl_vector_cost[kind].reduction || op == AXL_OP_VEC_ROPE ||
                    op == AXL_OP_VEC_GATHER || (v->flags & AXL_VEC_F_BROADCAST1);
    unsigned levels = lanes > 1 ? 64 - __builtin_clzll(lanes - 1) : 0;
    uint64_t tree = axl_vector_cost[kind].reduction * levels;

    /* Element-wise work on packed rows is one long row, without partly filled steps. */
    if (!row_wise && v->dst_stride == cols && (op == AXL_OP_VEC_FILL || v->src0_stride == cols)) {
        cols *= rows;
        rows = 1;
    }
    return rows * ((double)DIV_ROUND_UP(cols, lanes) * axl_vector_cost[kind].per_step + tree);
}

static void axl_cost_vector(const AxlTiming *t, const struct axl_desc *d, AxlWork *w)
{
    const struct axl_vector *v = &d->vector;
    unsigned op = d->opcode;
    bool scalar_dst = op == AXL_OP_VEC_ARGMAX || op == AXL_OP_VEC_SUM;

    w->demand.cycles = axl_vector_cycles(t, op, v);
    w->demand.rate = t->knob->vector_rate * 1e-3;
    w->demand.memory_latency_ns = t->knob->dram_latency_ns;
    w->total[AXL_T_WORK] = scalar_dst ? v->rows : (uint64_t)v->rows * v->cols;
}

void axl_cost_least(const AxlTiming *t, const struct axl_desc *d, AxlWork *w)
{
    unsigned op = d->opcode;

    if (op == AXL_OP_NOP || t->functional) {
        return;
    }
    if (op == AXL_OP_COPY_H2D || op == AXL_OP_COPY_D2H) {
        w->least.link_bytes = d->copy.bytes * d->copy.rows;
    } else {
        w->least.cycles = op == AXL_OP_MATMUL ? axl_matmul_cycles(t, &d->matmul) :
                                                axl_vector_cycles(t, op, &d->vector);
    }
    for (unsigned i = 0; i < w->operands; i++) {
        const AxlOperand *o = &w->operand[i];

        if (o->addr < AXL_SCRATCHPAD_BASE) {
            w->least.dram_bytes += o->rows * o->row_bytes * o->batch * o->passes;
        }
    }
}

void axl_cost(AxlTiming *t, const struct axl_desc *d, const struct axl_sg *sg, AxlWork *w)
{
    unsigned op = d->opcode;

    w->demand.rate = 1;
    if (op == AXL_OP_NOP || t->functional) {
        return;
    }
    if (op == AXL_OP_COPY_H2D || op == AXL_OP_COPY_D2H) {
        axl_cost_copy(t, d, sg, w);
    } else if (op == AXL_OP_MATMUL) {
        axl_cost_matmul(t, d, w);
    } else {
        axl_cost_vector(t, d, w);
    }
    w->demand.dram_ns = axl_dram_cost(t, w, op == AXL_OP_VEC_GATHER ? &d->vector : NULL);
    w->demand.scratch_ns = w->total[AXL_T_SCRATCH] * 1e3 / t->knob->scratch_bandwidth;
}

void axl_cost_list(const AxlTiming *t, AxlWork *w, uint32_t entries)
{
    w->demand.pcie_latency_ns =
        t->knob->pcie_latency_ns +
        (int64_t)ceil(entries * sizeof(struct axl_sg) * t->link.rx_ns_per_byte);
}

double axl_cycle_ns(const AxlTiming *t)
{
    return 1e3 / t->knob->clock_mhz;
}

double axl_cycles_ns(const AxlTiming *t, const AxlDemand *d)
{
    return d->rate > 0 ? d->cycles * axl_cycle_ns(t) / d->rate : 0;
}

double axl_alone_ns(const AxlTiming *t, const AxlDemand *d)
{
    double ns = axl_cycles_ns(t, d);

    ns = MAX(ns, MAX(d->tag_ns, d->scratch_ns));
    ns = MAX(ns, MAX(d->rx_bytes * t->link.rx_ns_per_byte, d->tx_bytes * t->link.tx_ns_per_byte));
    return MAX(ns, d->dram_ns);
}

int64_t axl_at_least(double ns)
{
    return ns < 2 ? 0 : ns < 1e15 ? (int64_t)ns - 1 : AXL_FAR;
}

int64_t axl_least_ns(const AxlTiming *t, const struct axl_desc *d, const AxlWork *w)
{
    const AxlKnobs *k = t->knob;
    double ns = w->least.cycles * axl_cycle_ns(t);
    int64_t latency = 0;

    if (t->functional) {
        return 1;
    }
    if (d->engine == AXL_ENGINE_MATRIX) {
        ns *= 1e3 / k->matrix_rate;
    } else if (d->engine == AXL_ENGINE_VECTOR) {
        ns *= 1e3 / k->vector_rate;
    }
    ns = MAX(ns, w->least.link_bytes * MIN(t->link.rx_ns_per_byte, t->link.tx_ns_per_byte));
    ns = MAX(ns, w->least.dram_bytes * 1e3 / k->dram_bandwidth);
    if (d->opcode == AXL_OP_COPY_H2D) {
        latency = k->pcie_latency_ns;
    } else if (d->opcode != AXL_OP_NOP) {
        latency = k->dram_latency_ns;
    }
    return k->dispatch_ns + latency + axl_at_least(ns);
}
