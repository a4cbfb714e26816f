/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the front end: submission and completion rings, contexts, engines. This
 * is its interface; its state is in state.h, which only this folder includes.
 */
#ifndef AXL_FRONTEND_FRONTEND_H
#define AXL_FRONTEND_FRONTEND_H

#include "qemu-device/core/device.h"

/* reset.c */
void axl_front_init(AxlDevice *s);
void axl_front_free(AxlDevice *s);
bool axl_front_idle(const AxlDevice *s);
/*
 * Drops everything in flight, with a record each, and returns to the state
 * after power-on.
 */
void axl_front_drop(AxlDevice *s);
void axl_front_reset(AxlDevice *s);

/*
 * Event handlers of the loop: a fetch, a completion, late interrupts, a phase
 * of an engine.
 */
void axl_queue_fetched(AxlDevice *s, unsigned q);
void axl_completion_due(AxlDevice *s, unsigned q);
void axl_irq_due(AxlDevice *s);
void axl_engine_phase_end(AxlDevice *s, unsigned e);
/* The results of an engine's command are computed, or it failed. */
void axl_engine_end(AxlDevice *s, unsigned e, unsigned status);

/* context.c */
void axl_context_halt(AxlDevice *s, unsigned c, unsigned status, uint32_t job, uint32_t index);

/* account.c: accounts all engines up to now. */
void axl_account(AxlDevice *s);
void axl_account_reset(AxlDevice *s);

/* flow.c */
void axl_flow_update(AxlDevice *s); /* after what changes rates */
void axl_flow_delay(AxlDevice *s, uint64_t rx_wire, uint64_t tx_wire); /* small transfers */

/* foresight.c: the front end does nothing visible by itself before this time. */
int64_t axl_front_shows(const AxlDevice *s, int64_t next, int64_t wake);

/* registers.c: the registers of a block, by their offset in the block */
void axl_front_enable(AxlDevice *s, bool enabled); /* CTRL */
uint32_t axl_context_read32(const AxlDevice *s, unsigned c, unsigned reg);
void axl_context_write32(AxlDevice *s, unsigned c, unsigned reg, uint32_t v);
uint32_t axl_queue_read32(const AxlDevice *s, unsigned q, unsigned reg);
void axl_queue_write32(AxlDevice *s, unsigned q, unsigned reg, uint32_t v);
bool axl_queue_read64(const AxlDevice *s, unsigned q, unsigned reg, uint64_t *v);
bool axl_queue_write64(AxlDevice *s, unsigned q, unsigned reg, unsigned shift, unsigned bits,
                       uint64_t v);
uint32_t axl_engine_read32(const AxlDevice *s, unsigned e, unsigned reg);
uint64_t axl_semaphore_read64(const AxlDevice *s, unsigned sem);

#endif /* AXL_FRONTEND_FRONTEND_H */
