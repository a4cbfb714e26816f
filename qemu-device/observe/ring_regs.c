/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: the registers of a trace ring. */
#include "qemu-device/observe/ring.h"
#include "qemu-device/observe/state.h"

static uint64_t *axl_ring_reg64(AxlTraceRing *ring, unsigned reg)
{
    switch (reg) {
    case 0x00:
        return &ring->base;
    case 0x18:
        return &ring->period_ns;
    }
    return NULL;
}

bool axl_ring_read64(const AxlDevice *s, unsigned r, unsigned reg, uint64_t *v)
{
    const uint64_t *rw = axl_ring_reg64(&s->observe->ring[r], reg);

    if (rw) {
        *v = *rw;
        return true;
    }
    switch (reg) {
    case 0x20:
        *v = s->observe->ring[r].produced;
        return true;
    case 0x28:
        *v = s->observe->ring[r].lost;
        return true;
    }
    return false;
}

bool axl_ring_write64(AxlDevice *s, unsigned r, unsigned reg, unsigned shift, unsigned bits,
                      uint64_t v)
{
    AxlTraceRing *ring = &s->observe->ring[r];
    uint64_t *rw = axl_ring_reg64(ring, reg);

    if (!rw) {
        return false;
    }
    if (rw == &ring->base && (ring->ctrl & AXL_TR_ENABLE)) {
        qemu_log_mask(LOG_GUEST_ERROR, "axl: base of a running ring written\n");
        return true;
    }
    *rw = deposit64(*rw, shift, bits, v);
    if (rw == &ring->period_ns) {
        axl_ring_period(s, r);
    }
    return true;
}

uint32_t axl_ring_read32(const AxlDevice *s, unsigned r, unsigned reg)
{
    const AxlTraceRing *ring = &s->observe->ring[r];

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

void axl_ring_write32(AxlDevice *s, unsigned r, unsigned reg, uint32_t v)
{
    AxlTraceRing *ring = &s->observe->ring[r];

    switch (reg) {
    case 0x08:
        if (!(ring->ctrl & AXL_TR_ENABLE)) {
            ring->log2 = v;
        }
        break;
    case 0x0c:
        axl_ring_enable(s, r, v);
        break;
    case 0x10:
        ring->classes = v & AXL_REC_CLASSES_ALL;
        break;
    case 0x14:
        ring->watermark = v;
        break;
    }
}
