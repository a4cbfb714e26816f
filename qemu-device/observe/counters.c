/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: the counters of axl_counters.h: live, and the latched snapshot. */
#include "qemu-device/observe/state.h"

#define CTX true
#define DEV false
#define AXL_SCOPE_(NAME, name, unit, scope, text) [AXL_CTR_##NAME] = scope,
static const bool axl_counter_is_ctx[AXL_NUM_COUNTERS] = { AXL_COUNTERS(AXL_SCOPE_) };
#undef CTX
#undef DEV

void axl_count(AxlDevice *s, unsigned counter, uint64_t n)
{
    if (!(s->observe->ctr_ctrl & AXL_CTR_CTRL_FREEZE)) {
        s->observe->ctr[counter] += n;
    }
}

void axl_count_ctx(AxlDevice *s, unsigned counter, unsigned ctx, uint64_t n)
{
    if (!(s->observe->ctr_ctrl & AXL_CTR_CTRL_FREEZE)) {
        s->observe->ctr[counter] += n;
        s->observe->ctx_ctr[ctx][counter] += n;
    }
}

void axl_count_elapsed(AxlDevice *s)
{
    AxlStamp now = axl_now(s);

    axl_count(s, AXL_CTR_ELAPSED, now.raw - s->observe->elapsed_at.raw);
    s->observe->elapsed_at = now;
}

/* Resets all counters to zero, counting from now. */
void axl_counters_reset(AxlDevice *s)
{
    AxlObserver *o = s->observe;

    o->elapsed_at = axl_now(s);
    o->ctr_ctrl = 0;
    memset(o->ctr, 0, sizeof(o->ctr));
    memset(o->ctx_ctr, 0, sizeof(o->ctx_ctr));
    memset(o->snap, 0, sizeof(o->snap));
    memset(o->ctx_snap, 0, sizeof(o->ctx_snap));
    o->snap_time = 0;
    o->snap_seq = 0;
}

void axl_counters_latch(AxlDevice *s)
{
    AxlObserver *o = s->observe;

    s->up->settle(s);
    memcpy(o->snap, o->ctr, sizeof(o->snap));
    memcpy(o->ctx_snap, o->ctx_ctr, sizeof(o->ctx_snap));
    o->snap_time = axl_now(s).ts;
    o->snap_seq++;
}

uint64_t axl_counters_read64(const AxlDevice *s, unsigned counter)
{
    return counter < AXL_NUM_COUNTERS ? s->observe->snap[counter] : 0;
}

uint64_t axl_counters_read_ctx64(const AxlDevice *s, unsigned ctx, unsigned counter)
{
    return counter < AXL_NUM_COUNTERS && axl_counter_is_ctx[counter] ?
           s->observe->ctx_snap[ctx][counter] : 0;
}

uint64_t axl_counters_time(const AxlDevice *s)
{
    return s->observe->snap_time;
}

uint32_t axl_counters_sequence(const AxlDevice *s)
{
    return s->observe->snap_seq;
}

uint32_t axl_counters_ctrl(const AxlDevice *s)
{
    return s->observe->ctr_ctrl;
}

void axl_counters_set_ctrl(AxlDevice *s, uint32_t v)
{
    s->up->settle(s);
    s->observe->ctr_ctrl = v & AXL_CTR_CTRL_FREEZE;
}
