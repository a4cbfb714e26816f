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

/*
 * n whole ones to those that are owed most, beginning with `first` among equals. Most of
 * what is owed at once; the rest one by one, which is little, for as much is owed as is dealt.
 */
static void axl_deal(double *owed, uint64_t n, unsigned first, uint64_t *dealt)
{
    const uint64_t one_by_one = AXL_NUM_CAUSES + 1;

    for (unsigned c = 0; c < AXL_NUM_CAUSES; c++) {
        dealt[c] = owed[c] > one_by_one ? MIN((uint64_t)owed[c] - one_by_one, n) : 0;
        owed[c] -= dealt[c];
        n -= dealt[c];
    }
    while (n--) {
        unsigned most = first;

        for (unsigned c = 0; c < AXL_NUM_CAUSES; c++) {
            if (owed[c] > owed[most]) {
                most = c;
            }
        }
        dealt[most]++;
        owed[most] -= 1;
    }
}

/* An interval of what runs: `busy` of it computing, the rest to `cause`. */
static void axl_charge_share(AxlState *s, unsigned e, unsigned cause, double busy,
                             const AxlStamp *from, const AxlStamp *to)
{
    AxlEngine *eng = &s->engine[e];
    uint64_t ticks = to->raw - from->raw;
    int64_t ns = to->ns - from->ns;
    double elapsed = ticks + ((double)to->frac - (double)from->frac) * 0x1p-64;
    uint64_t ticks_of[AXL_NUM_CAUSES], ns_of[AXL_NUM_CAUSES];

    eng->owed_ticks[AXL_CAUSE_BUSY] += elapsed * busy;
    eng->owed_ticks[cause] += elapsed * (1 - busy);
    eng->owed_ns[AXL_CAUSE_BUSY] += ns * busy;
    eng->owed_ns[cause] += ns * (1 - busy);
    axl_deal(eng->owed_ticks, ticks, cause, ticks_of);
    axl_deal(eng->owed_ns, ns, cause, ns_of);
    eng->cmd->bound_ns[cause] += ns;
    for (unsigned c = 0; c < AXL_NUM_CAUSES; c++) {
        if (ticks_of[c] || ns_of[c]) {
            axl_charge(s, e, eng->cmd, c, ticks_of[c], ns_of[c]);
        }
    }
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

/* What the phase of a running command is charged to. */
static unsigned axl_phase_cause(const AxlEngine *eng)
{
    switch (eng->phase) {
    case AXL_PHASE_DISPATCH:
        return AXL_STALL_DISPATCH;
    case AXL_PHASE_LATENCY_PCIE:
        return AXL_STALL_PCIE;
    case AXL_PHASE_LATENCY_MEMORY:
        return AXL_STALL_MEMORY;
    case AXL_PHASE_STREAM:
        return eng->cause;
    default:
        return AXL_CAUSE_BUSY;
    }
}

void axl_account_engine(AxlState *s, unsigned e)
{
    AxlEngine *eng = &s->engine[e];
    AxlStamp now = axl_now(s), from = eng->accounted;
    uint64_t ticks = now.raw - from.raw;
    int64_t ns = now.ns - from.ns;
    bool streams = eng->phase == AXL_PHASE_STREAM;

    if (ticks == 0 && ns == 0) {
        return;
    }
    eng->accounted = now;
    if (eng->cmd) {
        axl_charge_share(s, e, axl_phase_cause(eng), streams ? eng->busy_share : 0, &from, &now);
        if (streams) {
            eng->cmd->progress = MIN(eng->cmd->progress + eng->rate * ns, 1);
            axl_tally_progress(s, eng->cmd);
        }
    } else if (eng->candidate) {
        axl_charge_whole(s, e, eng->candidate, AXL_STALL_SEMAPHORE, ticks, ns);
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
