/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: BAR 0. Every access first brings the device to the present, so that a
 * register reads as it was at that instant. Accesses are 4 or 8 bytes; a
 * 64-bit register may be accessed by halves, then without atomicity.
 */
#include "axl.h"
#include "trace.h"

#include "hw/core/cpu.h"

#define IN(addr, base, stride, count) \
    ((addr) >= (base) && (addr) < (base) + (uint64_t)(stride) * (count))

static uint64_t *axl_reg_rw64(AxlState *s, hwaddr addr)
{
    if (IN(addr, AXL_REG_Q(0), 0x100, s->knob.queues)) {
        AxlQueue *q = &s->queue[(addr - AXL_REG_Q(0)) / 0x100];

        switch (addr & 0xff) {
        case 0x00:
            return &q->sq_base;
        case 0x08:
            return &q->cq_base;
        }
    }
    if (IN(addr, AXL_REG_TR(0), 0x100, 1 + s->knob.contexts)) {
        AxlTraceRing *ring = &s->ring[(addr - AXL_REG_TR(0)) / 0x100];

        switch (addr & 0xff) {
        case 0x00:
            return &ring->base;
        case 0x18:
            return &ring->period_ns;
        }
    }
    switch (addr) {
    case AXL_REG_CLEAR_BASE:
        return &s->clear.base;
    case AXL_REG_CLEAR_BYTES:
        return &s->clear.bytes;
    }
    return NULL;
}

/* The 64-bit register at an 8-byte aligned offset. */
static bool axl_reg_read64(AxlState *s, hwaddr addr, uint64_t *v)
{
    uint64_t *rw = axl_reg_rw64(s, addr);

    if (rw) {
        *v = *rw;
        return true;
    }
    if (IN(addr, AXL_REG_CTR(0), 8, AXL_MAX_COUNTERS)) {
        unsigned i = (addr - AXL_REG_CTR(0)) / 8;

        *v = i < AXL_NUM_COUNTERS ? s->snap[i] : 0;
        return true;
    }
    if (IN(addr, AXL_REG_CTX_CTR(0, 0), 0x400, AXL_MAX_CONTEXTS)) {
        unsigned c = (addr - AXL_REG_CTX_CTR(0, 0)) / 0x400, i = addr % 0x400 / 8;

        *v = i < AXL_NUM_COUNTERS && axl_counter_is_ctx[i] ? s->ctx_snap[c][i] : 0;
        return true;
    }
    if (IN(addr, AXL_REG_SEM(0), 8, AXL_MAX_SEMS)) {
        *v = s->sem[(addr - AXL_REG_SEM(0)) / 8];
        return true;
    }
    if (IN(addr, AXL_REG_TR(0), 0x100, 1 + s->knob.contexts)) {
        AxlTraceRing *ring = &s->ring[(addr - AXL_REG_TR(0)) / 0x100];

        switch (addr & 0xff) {
        case 0x20:
            *v = ring->produced;
            return true;
        case 0x28:
            *v = ring->lost;
            return true;
        }
        return false;
    }
    switch (addr) {
    case AXL_REG_DRAM_BYTES:
        *v = s->knob.dram_bytes;
        return true;
    case AXL_REG_SCRATCH_BYTES:
        *v = s->knob.scratch_bytes;
        return true;
    case AXL_REG_CLOCK_HZ:
        *v = s->knob.clock_hz;
        return true;
    case AXL_REG_ENGINE_HZ:
        *v = s->knob.clock_mhz * 1000000;
        return true;
    case AXL_REG_DRAM_BPS:
        *v = s->knob.dram_bandwidth * 1000000;
        return true;
    case AXL_REG_CLK_NOW:
        *v = axl_now(s).ts;
        return true;
    case AXL_REG_CLK_LATCHED:
        *v = s->clk_latched;
        return true;
    case AXL_REG_PTM_DEVICE:
        *v = s->ptm_device;
        return true;
    case AXL_REG_PTM_HOST:
        *v = s->ptm_host;
        return true;
    case AXL_REG_CTR_TIME:
        *v = s->snap_time;
        return true;
    }
    return false;
}

static uint32_t axl_reg_status(const AxlState *s)
{
    uint32_t v = AXL_STATUS_READY;

    if (s->fault.throttle_permille < 1000) {
        v |= AXL_STATUS_THROTTLED;
    }
    if (s->timing.link.gen < s->knob.pcie_gen || s->timing.link.width < s->knob.pcie_width) {
        v |= AXL_STATUS_LINK_DEGRADED;
    }
    return v;
}

static uint32_t axl_ctx_read(AxlState *s, unsigned c, unsigned reg)
{
    const AxlContext *ctx = &s->ctx[c];

    switch (reg) {
    case 0x00:
        return ctx->ctrl;
    case 0x04:
        return axl_context_status(s, c);
    case 0x08:
        return ctx->error;
    case 0x0c:
        return ctx->err_job;
    case 0x10:
        return ctx->err_index;
    case 0x14:
        return ctx->priority;
    }
    return 0;
}

static uint32_t axl_queue_read(AxlState *s, unsigned n, unsigned reg)
{
    const AxlQueue *q = &s->queue[n];

    switch (reg) {
    case 0x10:
        return q->sq_log2;
    case 0x14:
        return q->cq_log2;
    case 0x18:
        return q->context;
    case 0x1c:
        return q->ctrl;
    case 0x20:
        return q->status;
    case 0x24:
        return q->sq_head;
    case 0x2c:
        return q->cq_tail;
    case 0x34:
        return q->error;
    }
    return 0;
}

static uint32_t axl_ring_read(AxlState *s, unsigned r, unsigned reg)
{
    const AxlTraceRing *ring = &s->ring[r];

    switch (reg) {
    case 0x08:
        return ring->log2;
    case 0x0c:
        return ring->ctrl;
    case 0x10:
        return ring->classes;
    case 0x14:
        return ring->watermark;
    case 0x30:
        return ring->status;
    }
    return 0;
}

static uint32_t axl_eng_read(AxlState *s, unsigned e, unsigned reg)
{
    const AxlCmd *cmd = s->engine[e].cmd;

    switch (reg) {
    case 0x00:
        return cmd ? cmd->desc.job : 0;
    case 0x04:
        return cmd ? cmd->desc.index : 0;
    case 0x08:
        return axl_engine_depth(s, e);
    }
    return 0;
}

static uint32_t axl_reg_read32(AxlState *s, hwaddr addr)
{
    if (IN(addr, AXL_REG_CTX(0), 0x40, s->knob.contexts)) {
        return axl_ctx_read(s, (addr - AXL_REG_CTX(0)) / 0x40, addr % 0x40);
    }
    if (IN(addr, AXL_REG_Q(0), 0x100, s->knob.queues)) {
        return axl_queue_read(s, (addr - AXL_REG_Q(0)) / 0x100, addr % 0x100);
    }
    if (IN(addr, AXL_REG_TR(0), 0x100, 1 + s->knob.contexts)) {
        return axl_ring_read(s, (addr - AXL_REG_TR(0)) / 0x100, addr % 0x100);
    }
    if (IN(addr, AXL_REG_ENG(0), 0x40, AXL_NUM_ENGINES)) {
        return axl_eng_read(s, (addr - AXL_REG_ENG(0)) / 0x40, addr % 0x40);
    }
    switch (addr) {
    case AXL_REG_ID:
        return AXL_ID_MAGIC;
    case AXL_REG_VERSION:
        return AXL_HW_VERSION_MAJOR << 16 | AXL_HW_VERSION_MINOR;
    case AXL_REG_CAPS:
        return s->knob.queues | s->knob.contexts << 8 | AXL_NUM_ENGINES << 16 |
               (1 + s->knob.contexts) << 24;
    case AXL_REG_FEATURES:
        return AXL_FEATURE_PTM | (s->knob.window_bytes ? AXL_FEATURE_WINDOW : 0) |
               AXL_FEATURE_BF16 | AXL_FEATURE_SG | AXL_FEATURE_CLEAR;
    case AXL_REG_CLOCK_BITS:
        return s->knob.clock_bits;
    case AXL_REG_NUM_COUNTERS:
        return AXL_NUM_COUNTERS;
    case AXL_REG_CTRL:
        return s->ctrl;
    case AXL_REG_STATUS:
        return axl_reg_status(s);
    case AXL_REG_INT_STATUS:
        return s->int_status;
    case AXL_REG_INT_MASK:
        return s->int_mask;
    case AXL_REG_MATRIX_ROWS:
        return s->knob.matrix_rows;
    case AXL_REG_MATRIX_COLS:
        return s->knob.matrix_cols;
    case AXL_REG_VECTOR_LANES:
        return s->knob.vector_lanes;
    case AXL_REG_CLEAR_CTRL:
        return axl_clear_status(&s->clear, s->now);
    case AXL_REG_PTM_STATUS:
        return s->ptm_valid;
    case AXL_REG_CTR_CTRL:
        return s->ctr_ctrl;
    case AXL_REG_CTR_SEQ:
        return s->snap_seq;
    }
    return 0;
}

/* A CPU's own access lets others go on while it waits; within another device's work nobody may. */
static bool axl_regs_enter(AxlState *s, MemTxAttrs attrs)
{
    bool cpu = current_cpu && !attrs.unspecified;

    if (s->removed || !axl_sim_enter_as(s, cpu ? AXL_WAIT_UNLOCKED : AXL_WAIT_LOCKED)) {
        return false;
    }
    if (s->removed) {
        axl_sim_leave(s); /* taken out meanwhile */
        return false;
    }
    return true;
}

static uint64_t axl_regs_get(AxlState *s, hwaddr addr, unsigned size, MemTxAttrs attrs)
{
    int64_t back_ns;
    uint64_t v;

    axl_stall_cpu(s->knob.mmio_read_ns / 2);
    if (!axl_regs_enter(s, attrs)) {
        return UINT64_MAX;
    }
    if (axl_reg_read64(s, addr & ~7ULL, &v)) {
        v = size == 8 ? v : (uint32_t)(v >> (addr & 4) * 8);
    } else {
        v = axl_reg_read32(s, addr);
        if (size == 8) {
            v |= (uint64_t)axl_reg_read32(s, addr + 4) << 32;
        }
    }
    back_ns = (s->knob.mmio_read_ns + 1) / 2 +
              ((addr & ~7ULL) == AXL_REG_CLK_NOW ? s->knob.clock_read_asym_ns : 0);
    axl_sim_leave(s);
    trace_axl_reg_read(axl_id(s), addr, v, size);
    axl_stall_cpu(back_ns);
    return v;
}

static MemTxResult axl_regs_read(void *opaque, hwaddr addr, uint64_t *value, unsigned size,
                                 MemTxAttrs attrs)
{
    *value = axl_regs_get(opaque, addr, size, attrs);
    return MEMTX_OK;
}

static void axl_ctx_write(AxlState *s, unsigned c, unsigned reg, uint32_t v)
{
    AxlContext *ctx = &s->ctx[c];

    switch (reg) {
    case 0x00:
        /* Stuck: nothing but a reset of the device gets it out of there. */
        if (ctx->ctrl & AXL_CTX_RESET) {
            break;
        }
        if ((v & AXL_CTX_RESET) && s->fault.stuck_ctx_resets > 0) {
            s->fault.stuck_ctx_resets--;
            ctx->ctrl |= AXL_CTX_RESET;
            axl_truth_event(s, "fault", "\"fault\":\"stuck-ctx-reset\",\"ctx\":%u", c);
            break;
        }
        if (v & AXL_CTX_RESET) {
            axl_context_reset(s, c);
            axl_truth_event(s, "ctx-reset", "\"ctx\":%u", c);
        }
        ctx->ctrl = v & AXL_CTX_ENABLE;
        axl_queue_pump_all(s);
        axl_engine_kick(s);
        break;
    case 0x14:
        axl_account(s);
        ctx->priority = MIN(v, 3);
        axl_fluid_update(s);
        break;
    }
}

static void axl_queue_write(AxlState *s, unsigned n, unsigned reg, uint32_t v)
{
    AxlQueue *q = &s->queue[n];
    bool locked = q->status & AXL_Q_STATUS_ENABLED;

    if (locked && (reg == 0x10 || reg == 0x14 || reg == 0x18)) {
        qemu_log_mask(LOG_GUEST_ERROR, "axl: set-up of enabled queue %u written\n", n);
        return;
    }
    switch (reg) {
    case 0x10:
        q->sq_log2 = v;
        break;
    case 0x14:
        q->cq_log2 = v;
        break;
    case 0x18:
        q->context = v;
        break;
    case 0x1c:
        axl_queue_enable(s, n, v);
        break;
    case 0x28:
        axl_queue_doorbell(s, n, v);
        break;
    case 0x30:
        /* An index the device has not reached would let it overrun the ring. */
        if (q->cq_tail - v <= q->cq_tail - q->cq_head) {
            q->cq_head = v;
        } else if (locked) {
            axl_queue_error(s, n, AXL_ST_RING_ERROR);
        }
        break;
    }
}

static void axl_ring_reg_write(AxlState *s, unsigned r, unsigned reg, uint32_t v)
{
    AxlTraceRing *ring = &s->ring[r];

    switch (reg) {
    case 0x08:
        if (!(ring->ctrl & 1)) {
            ring->log2 = v;
        }
        break;
    case 0x0c:
        axl_trace_enable(s, r, v);
        break;
    case 0x10:
        ring->classes = v & AXL_REC_CLASSES_ALL;
        break;
    case 0x14:
        ring->watermark = v;
        break;
    }
}

static void axl_reg_write32(AxlState *s, hwaddr addr, uint32_t v)
{
    if (IN(addr, AXL_REG_CTX(0), 0x40, s->knob.contexts)) {
        axl_ctx_write(s, (addr - AXL_REG_CTX(0)) / 0x40, addr % 0x40, v);
        return;
    }
    if (IN(addr, AXL_REG_Q(0), 0x100, s->knob.queues)) {
        axl_queue_write(s, (addr - AXL_REG_Q(0)) / 0x100, addr % 0x100, v);
        return;
    }
    if (IN(addr, AXL_REG_TR(0), 0x100, 1 + s->knob.contexts)) {
        axl_ring_reg_write(s, (addr - AXL_REG_TR(0)) / 0x100, addr % 0x100, v);
        return;
    }
    switch (addr) {
    case AXL_REG_CTRL:
        if (v & AXL_CTRL_RESET) {
            axl_reset_device(s);
        }
        if (v & ~s->ctrl & AXL_CTRL_ENABLE) {
            axl_faults_enabled(s);
        }
        s->ctrl = v & AXL_CTRL_ENABLE;
        axl_queue_pump_all(s);
        axl_engine_kick(s);
        break;
    case AXL_REG_INT_STATUS:
        s->int_status &= ~v;
        break;
    case AXL_REG_INT_MASK:
        axl_int_mask(s, v);
        break;
    case AXL_REG_CLEAR_CTRL:
        if ((v & AXL_CLEAR_BUSY) &&
            !axl_clear_start(&s->clear, &s->mem, s->now,
                             s->timing.functional ? 0 : s->knob.dram_bandwidth)) {
            qemu_log_mask(LOG_GUEST_ERROR, "axl: clears memory already\n");
        }
        break;
    case AXL_REG_CLK_LATCH:
        s->clk_latched = axl_now(s).ts;
        break;
    case AXL_REG_PTM_TRIGGER:
        s->now = MAX(s->now, axl_clock_pair(&s->ptm_host));
        s->ptm_device = axl_now(s).ts;
        s->ptm_valid = true;
        break;
    case AXL_REG_CTR_LATCH:
        axl_account_latch(s);
        break;
    case AXL_REG_CTR_CTRL:
        axl_account(s);
        s->ctr_ctrl = v & AXL_CTR_CTRL_FREEZE;
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "axl: write to 0x%" HWADDR_PRIx " ignored\n", addr);
    }
}

static bool axl_reg_write64(AxlState *s, hwaddr addr, uint64_t v, unsigned size)
{
    uint64_t *rw = axl_reg_rw64(s, addr & ~7ULL);
    bool queue = IN(addr, AXL_REG_Q(0), 0x100, AXL_MAX_QUEUES);
    bool locked;
    unsigned n;

    if (!rw) {
        return false;
    }
    if (rw == &s->clear.base || rw == &s->clear.bytes) {
        *rw = size == 8 ? v : deposit64(*rw, (addr & 4) * 8, 32, v);
        return true;
    }
    n = queue ? (addr - AXL_REG_Q(0)) / 0x100 : (addr - AXL_REG_TR(0)) / 0x100;
    locked = queue ? s->queue[n].status & AXL_Q_STATUS_ENABLED :
                     (s->ring[n].ctrl & 1) && rw == &s->ring[n].base;
    if (locked) {
        qemu_log_mask(LOG_GUEST_ERROR, "axl: base of a running ring written\n");
        return true;
    }
    *rw = size == 8 ? v : deposit64(*rw, (addr & 4) * 8, 32, v);
    if (!queue && rw == &s->ring[n].period_ns) {
        axl_trace_period(s, n);
    }
    return true;
}

static MemTxResult axl_regs_write(void *opaque, hwaddr addr, uint64_t v, unsigned size,
                                  MemTxAttrs attrs)
{
    AxlState *s = opaque;

    trace_axl_reg_write(axl_id(s), addr, v, size);
    if (!axl_regs_enter(s, attrs)) {
        return MEMTX_OK;
    }
    if (!axl_reg_write64(s, addr, v, size)) {
        axl_reg_write32(s, addr, v);
        if (size == 8) {
            axl_reg_write32(s, addr + 4, v >> 32);
        }
    }
    axl_sim_leave(s);
    return MEMTX_OK;
}

const MemoryRegionOps axl_regs_ops = {
    .read_with_attrs = axl_regs_read,
    .write_with_attrs = axl_regs_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 8 },
};
