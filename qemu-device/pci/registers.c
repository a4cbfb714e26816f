/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: BAR 0. Every access first brings the device up to the present, so that a
 * register reads as it was at that instant. Accesses are 4 or 8 bytes; a 64-bit
 * register may be accessed in halves, but then not atomically.
 */
#include "qemu-device/frontend/frontend.h"
#include "qemu-device/host/trace.h"
#include "qemu-device/observe/observe.h"
#include "qemu-device/pci/state.h"

#include "hw/core/cpu.h"

#define IN(addr, base, stride, count) \
    ((addr) >= (base) && (addr) < (base) + (uint64_t)(stride) * (count))

/* The 64-bit register at an 8-byte aligned offset. */
static bool axl_reg_read64(AxlState *s, hwaddr addr, uint64_t *v)
{
    const AxlKnobs *k = &s->dev.knob;

    if (IN(addr, AXL_REG_Q(0), 0x100, k->queues)) {
        return axl_queue_read64(&s->dev, (addr - AXL_REG_Q(0)) / 0x100, addr & 0xff, v);
    }
    if (IN(addr, AXL_REG_TR(0), 0x100, 1 + k->contexts)) {
        return axl_ring_read64(&s->dev, (addr - AXL_REG_TR(0)) / 0x100, addr & 0xff, v);
    }
    if (IN(addr, AXL_REG_CTR(0), 8, AXL_MAX_COUNTERS)) {
        *v = axl_counters_read64(&s->dev, (addr - AXL_REG_CTR(0)) / 8);
        return true;
    }
    if (IN(addr, AXL_REG_CTX_CTR(0, 0), 0x400, AXL_MAX_CONTEXTS)) {
        *v = axl_counters_read_ctx64(&s->dev, (addr - AXL_REG_CTX_CTR(0, 0)) / 0x400,
                                     addr % 0x400 / 8);
        return true;
    }
    if (IN(addr, AXL_REG_SEM(0), 8, AXL_MAX_SEMS)) {
        *v = axl_semaphore_read64(&s->dev, (addr - AXL_REG_SEM(0)) / 8);
        return true;
    }
    switch (addr) {
    case AXL_REG_CLEAR_BASE:
        *v = s->clear.base;
        return true;
    case AXL_REG_CLEAR_BYTES:
        *v = s->clear.bytes;
        return true;
    case AXL_REG_DRAM_BYTES:
        *v = k->dram_bytes;
        return true;
    case AXL_REG_SCRATCH_BYTES:
        *v = k->scratch_bytes;
        return true;
    case AXL_REG_CLOCK_HZ:
        *v = k->clock_hz;
        return true;
    case AXL_REG_ENGINE_HZ:
        *v = k->clock_mhz * 1000000;
        return true;
    case AXL_REG_DRAM_BPS:
        *v = k->dram_bandwidth * 1000000;
        return true;
    case AXL_REG_CLK_NOW:
        *v = axl_now(&s->dev).ts;
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
        *v = axl_counters_time(&s->dev);
        return true;
    }
    return false;
}

static uint32_t axl_reg_status(const AxlState *s)
{
    uint32_t v = AXL_STATUS_READY;

    if (s->dev.fault.throttle_permille < 1000) {
        v |= AXL_STATUS_THROTTLED;
    }
    if (s->dev.timing.link.gen < s->dev.knob.pcie_gen ||
        s->dev.timing.link.width < s->dev.knob.pcie_width) {
        v |= AXL_STATUS_LINK_DEGRADED;
    }
    return v;
}

static uint32_t axl_reg_read32(AxlState *s, hwaddr addr)
{
    if (IN(addr, AXL_REG_CTX(0), 0x40, s->dev.knob.contexts)) {
        return axl_context_read32(&s->dev, (addr - AXL_REG_CTX(0)) / 0x40, addr % 0x40);
    }
    if (IN(addr, AXL_REG_Q(0), 0x100, s->dev.knob.queues)) {
        return axl_queue_read32(&s->dev, (addr - AXL_REG_Q(0)) / 0x100, addr % 0x100);
    }
    if (IN(addr, AXL_REG_TR(0), 0x100, 1 + s->dev.knob.contexts)) {
        return axl_ring_read32(&s->dev, (addr - AXL_REG_TR(0)) / 0x100, addr % 0x100);
    }
    if (IN(addr, AXL_REG_ENG(0), 0x40, AXL_NUM_ENGINES)) {
        return axl_engine_read32(&s->dev, (addr - AXL_REG_ENG(0)) / 0x40, addr % 0x40);
    }
    switch (addr) {
    case AXL_REG_ID:
        return AXL_ID_MAGIC;
    case AXL_REG_VERSION:
        return AXL_HW_VERSION_MAJOR << 16 | AXL_HW_VERSION_MINOR;
    case AXL_REG_CAPS:
        return s->dev.knob.queues | s->dev.knob.contexts << 8 | AXL_NUM_ENGINES << 16 |
               (1 + s->dev.knob.contexts) << 24;
    case AXL_REG_FEATURES:
        return AXL_FEATURE_PTM | (s->dev.knob.window_bytes ? AXL_FEATURE_WINDOW : 0) |
               AXL_FEATURE_BF16 | AXL_FEATURE_SG | AXL_FEATURE_CLEAR;
    case AXL_REG_CLOCK_BITS:
        return s->dev.knob.clock_bits;
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
        return s->dev.knob.matrix_rows;
    case AXL_REG_MATRIX_COLS:
        return s->dev.knob.matrix_cols;
    case AXL_REG_VECTOR_LANES:
        return s->dev.knob.vector_lanes;
    case AXL_REG_CLEAR_CTRL:
        return axl_clear_status(&s->clear, s->dev.now);
    case AXL_REG_PTM_STATUS:
        return s->ptm_valid;
    case AXL_REG_CTR_CTRL:
        return axl_counters_ctrl(&s->dev);
    case AXL_REG_CTR_SEQ:
        return axl_counters_sequence(&s->dev);
    }
    return 0;
}

/*
 * A CPU's own access lets others run while it waits; an access from another
 * device does not.
 */
static bool axl_regs_enter(AxlState *s, MemTxAttrs attrs)
{
    bool cpu = current_cpu && !attrs.unspecified;

    if (s->dev.removed || !axl_sim_enter_as(&s->loop, cpu ? AXL_WAIT_UNLOCKED : AXL_WAIT_LOCKED)) {
        return false;
    }
    if (s->dev.removed) {
        axl_sim_leave(&s->loop); /* taken out meanwhile */
        return false;
    }
    return true;
}

static uint64_t axl_regs_get(AxlState *s, hwaddr addr, unsigned size, MemTxAttrs attrs)
{
    int64_t back_ns;
    uint64_t v;

    axl_stall_cpu(s->dev.knob.mmio_read_ns / 2);
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
    back_ns = (s->dev.knob.mmio_read_ns + 1) / 2 +
              ((addr & ~7ULL) == AXL_REG_CLK_NOW ? s->dev.knob.clock_read_asym_ns : 0);
    axl_sim_leave(&s->loop);
    trace_axl_reg_read(s->dev.id, addr, v, size);
    axl_stall_cpu(back_ns);
    return v;
}

static MemTxResult axl_regs_read(void *opaque, hwaddr addr, uint64_t *value, unsigned size,
                                 MemTxAttrs attrs)
{
    *value = axl_regs_get(opaque, addr, size, attrs);
    return MEMTX_OK;
}

static void axl_reg_write32(AxlState *s, hwaddr addr, uint32_t v)
{
    if (IN(addr, AXL_REG_CTX(0), 0x40, s->dev.knob.contexts)) {
        axl_context_write32(&s->dev, (addr - AXL_REG_CTX(0)) / 0x40, addr % 0x40, v);
        return;
    }
    if (IN(addr, AXL_REG_Q(0), 0x100, s->dev.knob.queues)) {
        axl_queue_write32(&s->dev, (addr - AXL_REG_Q(0)) / 0x100, addr % 0x100, v);
        return;
    }
    if (IN(addr, AXL_REG_TR(0), 0x100, 1 + s->dev.knob.contexts)) {
        axl_ring_write32(&s->dev, (addr - AXL_REG_TR(0)) / 0x100, addr % 0x100, v);
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
        axl_front_enable(&s->dev, s->ctrl);
        break;
    case AXL_REG_INT_STATUS:
        s->int_status &= ~v;
        break;
    case AXL_REG_INT_MASK:
        axl_bus_mask(s, v);
        break;
    case AXL_REG_CLEAR_CTRL:
        if ((v & AXL_CLEAR_BUSY) &&
            !axl_clear_start(&s->clear, &s->dev.mem, s->dev.now,
                             s->dev.timing.functional ? 0 : s->dev.knob.dram_bandwidth)) {
            qemu_log_mask(LOG_GUEST_ERROR, "axl: clears memory already\n");
        }
        break;
    case AXL_REG_CLK_LATCH:
        s->clk_latched = axl_now(&s->dev).ts;
        break;
    case AXL_REG_PTM_TRIGGER:
        s->dev.now = MAX(s->dev.now, axl_tsc_pair(&s->ptm_host));
        s->ptm_device = axl_now(&s->dev).ts;
        s->ptm_valid = true;
        break;
    case AXL_REG_CTR_LATCH:
        axl_counters_latch(&s->dev);
        break;
    case AXL_REG_CTR_CTRL:
        axl_counters_set_ctrl(&s->dev, v);
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "axl: write to 0x%" HWADDR_PRIx " ignored\n", addr);
    }
}

static bool axl_reg_write64(AxlState *s, hwaddr addr, uint64_t v, unsigned size)
{
    hwaddr reg = addr & ~7ULL;
    unsigned shift = size == 8 ? 0 : (addr & 4) * 8, bits = size * 8;

    if (IN(reg, AXL_REG_Q(0), 0x100, s->dev.knob.queues)) {
        return axl_queue_write64(&s->dev, (reg - AXL_REG_Q(0)) / 0x100, reg & 0xff, shift, bits, v);
    }
    if (IN(reg, AXL_REG_TR(0), 0x100, 1 + s->dev.knob.contexts)) {
        return axl_ring_write64(&s->dev, (reg - AXL_REG_TR(0)) / 0x100, reg & 0xff, shift, bits, v);
    }
    switch (reg) {
    case AXL_REG_CLEAR_BASE:
        s->clear.base = deposit64(s->clear.base, shift, bits, v);
        return true;
    case AXL_REG_CLEAR_BYTES:
        s->clear.bytes = deposit64(s->clear.bytes, shift, bits, v);
        return true;
    }
    return false;
}

static MemTxResult axl_regs_write(void *opaque, hwaddr addr, uint64_t v, unsigned size,
                                  MemTxAttrs attrs)
{
    AxlState *s = opaque;

    trace_axl_reg_write(s->dev.id, addr, v, size);
    if (!axl_regs_enter(s, attrs)) {
        return MEMTX_OK;
    }
    if (!axl_reg_write64(s, addr, v, size)) {
        axl_reg_write32(s, addr, v);
        if (size == 8) {
            axl_reg_write32(s, addr + 4, v >> 32);
        }
    }
    axl_sim_leave(&s->loop);
    return MEMTX_OK;
}

const MemoryRegionOps axl_regs_ops = {
    .read_with_attrs = axl_regs_read,
    .write_with_attrs = axl_regs_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 8 },
};
