/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: on-board DRAM. Counts the bursts, row hits, misses and conflicts of an
 * access pattern in closed form, run by run, and computes the time that the
 * DRAM is busy with it. Rows are interleaved over the banks: bank = (addr /
 * row) mod banks. The controller streams each run in order and keeps rows open.
 *
 * The service time is the largest of
 *   data bus      bursts * burst_bytes / bandwidth
 *   activations   (misses + conflicts) * rrd
 *   fullest bank  its bursts' bus time + misses * miss + conflicts * conflict
 */
#include "qemu-device/timing/timing.h"

#include <endian.h>
#include <string.h>

typedef struct AxlDramCount {
    uint64_t bursts, hits, misses, conflicts;
    uint64_t bank_bursts[AXL_MAX_BANKS];
    uint64_t bank_ps[AXL_MAX_BANKS];
} AxlDramCount;

void axl_dram_reset(AxlDram *d)
{
    for (unsigned b = 0; b < AXL_MAX_BANKS; b++) {
        d->open_row[b] = -1;
    }
}

/* Counts `bursts` bursts of one row. */
static inline void axl_dram_row(AxlTiming *t, AxlDramCount *n, uint64_t row_index, uint64_t bursts)
{
    unsigned bank = row_index & (t->knob->dram_banks - 1);
    int64_t row = row_index >> __builtin_ctz(t->knob->dram_banks);

    n->bank_bursts[bank] += bursts;
    if (t->dram.open_row[bank] == row) {
        n->hits += bursts;
        return;
    }
    if (t->dram.open_row[bank] < 0) {
        n->misses++;
        n->bank_ps[bank] += t->knob->dram_miss_ps;
    } else {
        n->conflicts++;
        n->bank_ps[bank] += t->knob->dram_conflict_ps;
    }
    n->hits += bursts - 1;
    t->dram.open_row[bank] = row;
}

/* Counts one contiguous run of bytes. */
static void axl_dram_run(AxlTiming *t, AxlDramCount *n, uint64_t addr, uint64_t bytes)
{
    unsigned burst_shift = __builtin_ctz(t->knob->dram_burst_bytes);
    unsigned row_shift = __builtin_ctz(t->knob->dram_row_bytes);
    unsigned banks = t->knob->dram_banks;
    uint64_t per_row = 1ULL << (row_shift - burst_shift);
    uint64_t first = addr >> burst_shift, last = (addr + bytes - 1) >> burst_shift;
    uint64_t row = first >> (row_shift - burst_shift);
    uint64_t last_row = last >> (row_shift - burst_shift);

    n->bursts += last - first + 1;
    if (row == last_row) {
        axl_dram_row(t, n, row, last - first + 1);
        return;
    }
    axl_dram_row(t, n, row, per_row - (first & (per_row - 1)));
    row++;
    /* Whole passes over the banks: each bank opens one new row per pass. */
    if (last_row - row >= 2 * banks) {
        uint64_t passes;

        for (unsigned b = 0; b < banks; b++, row++) {
            axl_dram_row(t, n, row, per_row);
        }
        passes = (last_row - row) / banks;
        n->conflicts += passes * banks;
        n->hits += passes * banks * (per_row - 1);
        row += passes * banks;
        for (unsigned b = 0; b < banks; b++) {
            n->bank_bursts[b] += passes * per_row;
            n->bank_ps[b] += passes * t->knob->dram_conflict_ps;
            t->dram.open_row[b] += passes;
        }
    }
    for (; row < last_row; row++) {
        axl_dram_row(t, n, row, per_row);
    }
    axl_dram_row(t, n, last_row, (last & (per_row - 1)) + 1);
}

static void axl_dram_pass(AxlTiming *t, AxlDramCount *n, const AxlOperand *o)
{
    for (uint32_t b = 0; b < o->batch; b++) {
        uint64_t addr = o->addr + b * o->batch_pitch;

        if (o->rows == 1 || o->pitch == o->row_bytes) {
            axl_dram_run(t, n, addr, o->rows * o->row_bytes);
            continue;
        }
        for (uint64_t r = 0; r < o->rows; r++) {
            axl_dram_run(t, n, addr + r * o->pitch, o->row_bytes);
        }
    }
}

/*
 * All passes after the first find the rows in the same state, so only one of
 * them is computed.
 */
static void axl_dram_operand(AxlTiming *t, AxlDramCount *n, const AxlOperand *o)
{
    AxlDramCount second = { 0 };
    uint64_t more = o->passes - 1;

    axl_dram_pass(t, n, o);
    if (more == 0) {
        return;
    }
    axl_dram_pass(t, &second, o);
    n->bursts += more * second.bursts;
    n->hits += more * second.hits;
    n->misses += more * second.misses;
    n->conflicts += more * second.conflicts;
    for (unsigned b = 0; b < t->knob->dram_banks; b++) {
        n->bank_bursts[b] += more * second.bank_bursts[b];
        n->bank_ps[b] += more * second.bank_ps[b];
    }
}

/* The table rows that a gather will fetch with the present indices. */
static uint64_t axl_dram_gather(AxlTiming *t, AxlDramCount *n, const struct axl_vector *v)
{
    uint64_t bytes = (uint64_t)v->cols * sizeof(float), useful = 0;
    uint64_t step = (uint64_t)MAX(v->src0_stride, 1) * sizeof(uint32_t);

    for (uint64_t r = 0; r < v->rows; r++) {
        uint32_t index;

        memcpy(&index, axl_mem(t->memory, v->src0 + r * step), sizeof(index));
        index = le32toh(index);
        if (index < v->arg0) {
            if (v->src1 < AXL_SCRATCHPAD_BASE) {
                axl_dram_run(t, n, v->src1 + (uint64_t)index * v->src1_stride * sizeof(float),
                             bytes);
            }
            useful += bytes;
        }
    }
    return useful;
}

double axl_dram_cost(AxlTiming *t, AxlWork *w, const struct axl_vector *v)
{
    AxlDramCount n = { 0 };
    double burst_ns = t->knob->dram_burst_bytes * 1e3 / t->knob->dram_bandwidth;
    double time_ns, act_ns;

    for (unsigned i = 0; i < w->operands; i++) {
        const AxlOperand *o = &w->operand[i];
        uint64_t useful = o->rows * o->row_bytes * o->batch * o->passes;
        uint64_t before = n.bursts;

        if (o->addr >= AXL_SCRATCHPAD_BASE) {
            w->total[AXL_T_SCRATCH] += useful;
            continue;
        }
        axl_dram_operand(t, &n, o);
        w->total[AXL_T_DRAM_USEFUL] += useful;
        w->total[o->write ? AXL_T_DRAM_WRITE : AXL_T_DRAM_READ] +=
            (n.bursts - before) * t->knob->dram_burst_bytes;
    }
    if (v) {
        bool scratch = v->src1 >= AXL_SCRATCHPAD_BASE;
        uint64_t before = n.bursts;

        w->total[scratch ? AXL_T_SCRATCH : AXL_T_DRAM_USEFUL] +=
            axl_dram_gather(t, &n, v);
        w->total[AXL_T_DRAM_READ] += (n.bursts - before) * t->knob->dram_burst_bytes;
    }
    w->total[AXL_T_ROW_HITS] = n.hits;
    w->total[AXL_T_ROW_MISSES] = n.misses;
    w->total[AXL_T_ROW_CONFLICTS] = n.conflicts;
    time_ns = n.bursts * burst_ns;
    act_ns = (n.misses + n.conflicts) * t->knob->dram_rrd_ps * 1e-3;
    time_ns = MAX(time_ns, act_ns);
    for (unsigned b = 0; b < t->knob->dram_banks; b++) {
        double bank_ns = n.bank_bursts[b] * burst_ns + n.bank_ps[b] * 1e-3;

        time_ns = MAX(time_ns, bank_ns);
    }
    return time_ns;
}
