/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: where the time and the bytes went.
 *
 * Each engine is accounted up to an instant. axl_account_engine() charges what
 * passed since then, in whole ticks, to the device, to the context and to the
 * command alike. So the laws of axl_counters.h hold at every snapshot by
 * construction. What runs owes time to its causes (one, or while it streams
 * computing and the resource that limits it); each whole tick goes to the cause
 * that is owed most. So a command's ticks of a cause differ from the time that
 * it took by less than two, however often causes and shares change.
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

static void axl_tally(AxlState *s, const AxlCmd *cmd, unsigned t, uint64_t n)
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

static void axl_count_ticks(AxlState *s, unsigned e, const AxlCmd *cmd, unsigned cause,
                            uint64_t ticks)
{
    unsigned base = AXL_CTR_ENGINE(e);

    axl_count_ctx(s, base + (cause == AXL_CAUSE_BUSY ? CTR_BUSY : CTR_STALL + cause), cmd->ctx,
                  ticks);
    if (cause == AXL_STALL_TAG) {
        axl_count(s, AXL_CTR_PCIE_TAG_STALL, ticks);
    }
}

static void axl_count_charge(AxlState *s, unsigned e, const AxlCmd *cmd, const AxlCharge *charge)
{
    for (unsigned c = 0; c < AXL_NUM_CAUSES; c++) {
        if (charge->ticks[c]) {
            axl_count_ticks(s, e, cmd, c, charge->ticks[c]);
        }
    }
    for (unsigned t = 0; t < AXL_NUM_TALLIES; t++) {
        if (charge->amount[t]) {
            axl_tally(s, cmd, t, charge->amount[t]);
        }
    }
}

void axl_account_engine(AxlState *s, unsigned e)
{
    AxlEngine *eng = &s->engine[e];
    AxlStamp now = axl_now(s), from = eng->accounted;
    uint64_t ticks = now.raw - from.raw;
    int64_t ns = now.ns - from.ns;

    if (ticks == 0 && ns == 0) {
        return;
    }
    eng->accounted = now;
    if (eng->cmd) {
        double elapsed = ticks + ((double)now.frac - (double)from.frac) * 0x1p-64;
        AxlCharge charge;

        axl_run_elapse(&eng->run, elapsed, ticks, ns, &charge);
        axl_count_charge(s, e, eng->cmd, &charge);
    } else if (eng->candidate) {
        axl_work_waited(&eng->candidate->work, ticks, ns);
        axl_count_ticks(s, e, eng->candidate, AXL_STALL_SEMAPHORE, ticks);
    } else {
        axl_count(s, AXL_CTR_ENGINE(e) + CTR_IDLE, ticks);
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
    AxlCharge charge;

    axl_work_finish(&cmd->work, &charge);
    axl_count_charge(s, cmd->engine, cmd, &charge);
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
