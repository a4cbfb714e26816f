/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: accounting of time and bytes.
 *
 * Each engine is accounted up to an instant. axl_account_engine() charges the
 * time since then, in whole ticks, to the device, to the context and to the
 * command alike, so the laws of axl_counters.h hold at every snapshot by
 * construction. The timing model decides which causes get the ticks:
 * timing/run.c.
 */
#include "qemu-device/frontend/state.h"

/* An engine's block of counters, in the order of AXL_ENGINE_COUNTERS. */
#define CTR_BUSY 0
#define CTR_STALL 1
#define CTR_IDLE 7

static void axl_tally(AxlDevice *s, const AxlCmd *cmd, unsigned t, uint64_t n)
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

static void axl_count_ticks(AxlDevice *s, unsigned e, const AxlCmd *cmd, unsigned cause,
                            uint64_t ticks)
{
    unsigned base = AXL_CTR_ENGINE(e);

    axl_count_ctx(s, base + (cause == AXL_CAUSE_BUSY ? CTR_BUSY : CTR_STALL + cause), cmd->ctx,
                  ticks);
    if (cause == AXL_STALL_TAG) {
        axl_count(s, AXL_CTR_PCIE_TAG_STALL, ticks);
    }
}

static void axl_count_charge(AxlDevice *s, unsigned e, const AxlCmd *cmd, const AxlCharge *charge)
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

void axl_account_engine(AxlDevice *s, unsigned e)
{
    AxlEngine *eng = &s->front->engine[e];
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

void axl_account_finish(AxlDevice *s, AxlCmd *cmd)
{
    AxlCharge charge;

    axl_work_finish(&cmd->work, &charge);
    axl_count_charge(s, cmd->engine, cmd, &charge);
}

void axl_account(AxlDevice *s)
{
    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        axl_account_engine(s, e);
    }
    axl_count_elapsed(s);
}

/* Resets all counters to zero, counting from now. */
void axl_account_reset(AxlDevice *s)
{
    AxlStamp now = axl_now(s);

    for (unsigned e = 0; e < AXL_NUM_ENGINES; e++) {
        s->front->engine[e].accounted = now;
    }
    axl_counters_reset(s);
}
