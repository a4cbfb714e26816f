/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the observers: counters, device clock, trace rings, truth log. They do
 * not influence the device. Their state is in state.h, which only this folder
 * includes.
 */
#ifndef AXL_OBSERVE_OBSERVE_H
#define AXL_OBSERVE_OBSERVE_H

#include "qemu-device/core/device.h"

#define AXL_TRACE_MIN_PERIOD_NS 1000

/* observer.c */
void axl_observer_init(AxlDevice *s);
void axl_observer_free(AxlDevice *s);

/* clock.c */
AxlStamp axl_now(const AxlDevice *s);
uint64_t axl_clock_before(const AxlDevice *s, uint64_t ts, uint64_t ticks);

/* clock_set.c */
void axl_clock_reset(AxlDevice *s); /* power-on only: a device reset leaves the clock alone */
void axl_clock_set_rate(AxlDevice *s);
void axl_clock_step(AxlDevice *s, int64_t ticks);
void axl_clock_ramp(AxlDevice *s);

/* tsc.c */
void axl_tsc_init(AxlDevice *s);
int64_t axl_tsc_pair(uint64_t *tsc);
uint64_t axl_tsc_at(AxlDevice *s, int64_t ns); /* guest TSC at a virtual time */

/* counters.c */
void axl_count(AxlDevice *s, unsigned counter, uint64_t n);
void axl_count_ctx(AxlDevice *s, unsigned counter, unsigned ctx, uint64_t n);
void axl_count_elapsed(AxlDevice *s);
void axl_counters_reset(AxlDevice *s);
void axl_counters_latch(AxlDevice *s);
uint64_t axl_counters_read64(const AxlDevice *s, unsigned counter);
uint64_t axl_counters_read_ctx64(const AxlDevice *s, unsigned ctx, unsigned counter);
uint64_t axl_counters_time(const AxlDevice *s);
uint32_t axl_counters_sequence(const AxlDevice *s);
uint32_t axl_counters_ctrl(const AxlDevice *s);
void axl_counters_set_ctrl(AxlDevice *s, uint32_t v);

/* ring.c */
void axl_ring_record(AxlDevice *s, union axl_record *rec, int ctx);
void axl_ring_writeback(AxlDevice *s, unsigned r);
void axl_ring_sample(AxlDevice *s, unsigned r);
void axl_ring_reset(AxlDevice *s);
/*
 * Ring r does nothing visible by itself before this time; `next` is the
 * device's next event.
 */
int64_t axl_ring_shows(const AxlDevice *s, unsigned r, int64_t next);

/* ring_regs.c: the registers of ring r, by their offset. */
bool axl_ring_read64(const AxlDevice *s, unsigned r, unsigned reg, uint64_t *v);
bool axl_ring_write64(AxlDevice *s, unsigned r, unsigned reg, unsigned shift, unsigned bits,
                      uint64_t v);
uint32_t axl_ring_read32(const AxlDevice *s, unsigned r, unsigned reg);
void axl_ring_write32(AxlDevice *s, unsigned r, unsigned reg, uint32_t v);

/* records.c */
void axl_trace_cmd(AxlDevice *s, const AxlCmd *cmd);
void axl_trace_event(AxlDevice *s, unsigned event, int ctx, uint64_t a0, uint64_t a1, uint64_t a2);
uint64_t axl_cmd_work(const AxlCmd *cmd);
uint64_t axl_cmd_bytes(const AxlCmd *cmd);

/* truth.c */
bool axl_truth_open(AxlDevice *s, const char *path, Error **errp);
void axl_truth_close(AxlDevice *s);
void axl_truth_flush(AxlDevice *s);
bool axl_truth_pending(const AxlDevice *s);
void axl_truth_cmd(AxlDevice *s, const AxlCmd *cmd);
void axl_truth_job(AxlDevice *s, unsigned q, const struct axl_rec_job *rec, int64_t completion_ns,
                   int64_t irq_ns);
void axl_truth_event(AxlDevice *s, const char *what, const char *fmt, ...) G_GNUC_PRINTF(3, 4);

#endif /* AXL_OBSERVE_OBSERVE_H */
