/* SPDX-License-Identifier: GPL-2.0-or-later */
/* axl: state of the observers, for the files of this folder only. */
#ifndef AXL_OBSERVE_STATE_H
#define AXL_OBSERVE_STATE_H

#include "qemu-device/observe/observe.h"

typedef struct AxlTraceRing {
    uint64_t base;
    uint32_t log2;
    uint32_t ctrl;
    uint32_t classes;
    uint32_t watermark;
    uint64_t period_ns;
    uint32_t status;
    uint64_t produced, lost;
    uint64_t consumed;     /* last value read from the header, checked */
    uint64_t notified;     /* produced when the last watermark interrupt went out */
    uint32_t sequence;
    uint32_t sample;
    int64_t reread_ns;     /* not before this is `consumed` read again */
    bool losing;
    uint64_t losing_from;  /* `lost` when the present gap began */
    uint64_t loss_first, loss_last;
    unsigned unwritten;    /* records since the last index write-back */
} AxlTraceRing;

typedef struct AxlClock {
    int64_t base_ns;
    uint64_t base_raw, base_frac;
    uint64_t inc, inc_frac; /* ticks a ns, 64.64 fixed point */
    uint64_t offset;
    uint64_t mask;
    uint64_t rate_mhz;      /* effective frequency in mHz */
    double from_hz, to_hz;  /* ramp */
    unsigned ramp_left;
    int64_t ramp_step_ns;
} AxlClock;

typedef struct AxlObserver {
    AxlClock clock;
    int64_t tsc_ref_ns, tsc_pair_ns; /* virtual time and guest TSC: at first, of late */
    uint64_t tsc_ref, tsc_pair;

    /* counters: live, and the latched snapshot */
    uint64_t ctr[AXL_NUM_COUNTERS];
    uint64_t ctx_ctr[AXL_MAX_CONTEXTS][AXL_NUM_COUNTERS];
    uint64_t snap[AXL_NUM_COUNTERS];
    uint64_t ctx_snap[AXL_MAX_CONTEXTS][AXL_NUM_COUNTERS];
    uint64_t snap_time;
    uint32_t snap_seq;
    uint32_t ctr_ctrl;
    AxlStamp elapsed_at;

    AxlTraceRing ring[AXL_MAX_TRACE_RINGS];

    FILE *truth;
    bool truth_dirty;
} AxlObserver;

#endif /* AXL_OBSERVE_STATE_H */
