/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: where the time and the bytes went.
 *
 * Each engine is accounted up to an instant. axl_account_engine() charges what
 * passed since then, in whole ticks, to exactly one cause (or, while a command
 * streams, splits it between computing and the resource that limits it, with
 * the rounding carried over), to the device, to the context and to the command
 * alike. So the laws of axl_counters.h hold at every snapshot by construction.
 */
#include "axl.h"

#define CTX true
#define DEV false
#define AXL_SCOPE_(NAME, name, unit, scope, text) [AXL_CTR_##NAME] = scope,
const bool axl_counter_is_ctx[AXL_NUM_COUNTERS] = { AXL_COUNTERS(AXL_SCOPE_) };
#undef CTX
#undef DEV

/* An engine's block of counters, in the order of AXL_ENGINE_COUNTERS. */
#define CTR_BUSY 0
#define CTR_STALL 1
#define CTR_IDLE 7

void axl_count(AxlState *s, unsigned counter, uint64_t n)
{
    if (!(s->ctr_ctrl & AXL_CTR_CTRL_FREEZE)) {
        s->ctr[counter] += n;
    }
}

void axl_count_ctx(AxlState *s, unsigned counter, unsigned ctx, uint64_t n)
{
    if (!(s->ctr_ctrl & AXL_CTR_CTRL_FREEZE)) {
        s->ctr[counter] += n;
        s->ctx_ctr[ctx][counter] += n;
    }
}

static void axl_charge(AxlState *s, unsigned e, AxlCmd *cmd, unsigned cause, uint64_t ticks,
                       int64_t ns)
{
    unsigned base = AXL_CTR_ENGINE(e);

    cmd->ticks[cause] += ticks;
    cmd->ns[cause] += ns;
    axl_count_ctx(s, base + (cause == AXL_CAUSE_BUSY ? CTR_BUSY : CTR_STALL + cause), cmd->ctx,
                  ticks);
    if (cause == AXL_STALL_TAG) {
        axl_count(s, AXL_CTR_PCIE_TAG_STALL, ticks);
    }
}

/* All of an interval: what is charged is also what set the pace. */
static void axl_charge_whole(AxlState *s, unsigned e, AxlCmd *cmd, unsigned cause, uint64_t ticks,
                             int64_t ns)
{
    cmd->bound_ns[cause] += ns;
    axl_charge(s, e, cmd, cause, ticks, ns);
}

/* The whole part of `share` of n, the remainder carried to the next time. */
static uint64_t axl_split(uint64_t n, double share, double *carry)
{
    double want = n * share + *carry;
    uint64_t whole = want <= 0 ? 0 : MIN((uint64_t)want, n);

    *carry = want - whole;
    return whole;
}

static void axl_tally(AxlState *s, AxlCmd *cmd, unsigned t, uint64_t n)
{
    switch (t) {
    case AXL_T_PAYLOAD:
        if (cmd->engine == AXL_ENGINE_H2D) {
            axl_count_ctx(s, AXL_CTR_H2D_BYTES, cmd->ctx, n);
            axl_count(s, AXL_CTR_PCIE_RX_PAYLOAD, n);
        } else {
            axl_count_ctx(s, AXL_CTR_D2H_BYTES, cmd->ctx, n);
            axl_count(s, AXL_CTR_PCIE_TX_PAYLOAD, n);
        }
        break;
    case AXL_T_WORK:
        axl_count_ctx(s, cmd->engine == AXL_ENGINE_MATRIX ? AXL_CTR_MATRIX_MACS :
                                                            AXL_CTR_VECTOR_ELEMENTS, cmd->ctx, n);
        break;
    case AXL_T_ROW_HITS:
    case AXL_T_ROW_MISSES:
    case AXL_T_ROW_CONFLICTS:
        axl_count(s, AXL_CTR_DRAM_BURSTS, n);
        axl_count(s, AXL_CTR_DRAM_ROW_HITS + (t - AXL_T_ROW_HITS), n);
        break;
    default: {
        static const uint8_t counter[AXL_NUM_TALLIES] = {
            [AXL_T_DRAM_READ] = AXL_CTR_DRAM_READ_BYTES,
            [AXL_T_DRAM_WRITE] = AXL_CTR_DRAM_WRITE_BYTES,
            [AXL_T_DRAM_USEFUL] = AXL_CTR_DRAM_USEFUL_BYTES,
            [AXL_T_SCRATCH] = AXL_CTR_SCRATCH_BYTES,
            [AXL_T_RX_WIRE] = AXL_CTR_PCIE_RX_WIRE,
            [AXL_T_TX_WIRE] = AXL_CTR_PCIE_TX_WIRE,
            [AXL_T_MRD] = AXL_CTR_PCIE_TX_MRD,
            [AXL_T_CPLD] = AXL_CTR_PCIE_RX_CPLD,
            [AXL_T_MWR] = AXL_CTR_PCIE_TX_MWR,
        };

        axl_count(s, counter[t], n);
    }
    }
}

/* Amounts up to the command's progress; all of it at 1. */
static void axl_tally_progress(AxlState *s, AxlCmd *cmd)
{
    for (unsigned t = 0; t < AXL_NUM_TALLIES; t++) {
        uint64_t to = cmd->progress >= 1 ? cmd->total[t] : cmd->progress * cmd->total[t];

        if (to > cmd->done[t]) {
            axl_tally(s, cmd, t, to - cmd->done[t]);
            cmd->done[t] = to;
        }
    }
}

void axl_account_engine(AxlState *s, unsigned e)
{
    AxlEngine *eng = &s->engine[e];
    AxlStamp now = axl_now(s);
    uint64_t ticks = now.raw - eng->accounted.raw, busy;
    int64_t ns = now.ns - eng->accounted.ns, busy_ns;

    if (ticks == 0 && ns == 0) {
        return;
    }
    eng->accounted = now;
    if (!eng->cmd) {
        if (eng->candidate) {
            axl_charge_whole(s, e, eng->candidate, AXL_STALL_SEMAPHORE, ticks, ns);
        } else {
            axl_count(s, AXL_CTR_ENGINE(e) + CTR_IDLE, ticks);
        }
        return;
    }
    switch (eng->phase) {
    case AXL_PHASE_DISPATCH:
        axl_charge_whole(s, e, eng->cmd, AXL_STALL_DISPATCH, ticks, ns);
        break;
    case AXL_PHASE_LATENCY_PCIE:
        axl_charge_whole(s, e, eng->cmd, AXL_STALL_PCIE, ticks, ns);
        break;
    case AXL_PHASE_LATENCY_MEMORY:
        axl_charge_whole(s, e, eng->cmd, AXL_STALL_MEMORY, ticks, ns);
        break;
    case AXL_PHASE_STREAM:
        eng->cmd->bound_ns[eng->cause] += ns;
        busy = axl_split(ticks, eng->busy_share, &eng->tick_carry);
        busy_ns = axl_split(ns, eng->busy_share, &eng->ns_carry);
        axl_charge(s, e, eng->cmd, AXL_CAUSE_BUSY, busy, busy_ns);
        if (eng->cause != AXL_CAUSE_BUSY) {
            axl_charge(s, e, eng->cmd, eng->cause, ticks - busy, ns - busy_ns);
        }
        eng->cmd->progress = MIN(eng->cmd->progress + eng->rate * ns, 1);
        axl_tally_progress(s, eng->cmd);
        break;
    default:
        axl_charge_whole(s, e, eng->cmd, AXL_CAUSE_BUSY, ticks, ns);
        break;
    }
}

void axl_account(AxlState *s)
{
    AxlStamp now = axl_now(s);

    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        axl_account_engine(s, e);
    }
    axl_count(s, AXL_CTR_ELAPSED, now.raw - s->elapsed_at.raw);
    s->elapsed_at = now;
}

void axl_account_finish(AxlState *s, AxlCmd *cmd)
{
    cmd->progress = 1;
    axl_tally_progress(s, cmd);
}

void axl_account_latch(AxlState *s)
{
    axl_account(s);
    memcpy(s->snap, s->ctr, sizeof(s->snap));
    memcpy(s->ctx_snap, s->ctx_ctr, sizeof(s->ctx_snap));
    s->snap_time = axl_now(s).ts;
    s->snap_seq++;
}

/* All counters from zero, counting from now. */
void axl_account_reset(AxlState *s)
{
    AxlStamp now = axl_now(s);

    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        s->engine[e].accounted = now;
    }
    s->elapsed_at = now;
    s->ctr_ctrl = 0;
    memset(s->ctr, 0, sizeof(s->ctr));
    memset(s->ctx_ctr, 0, sizeof(s->ctx_ctr));
    memset(s->snap, 0, sizeof(s->snap));
    memset(s->ctx_snap, 0, sizeof(s->ctx_snap));
    s->snap_time = 0;
    s->snap_seq = 0;
}
