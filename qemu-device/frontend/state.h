/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: state of the front end, for the files of this folder only. Calls go
 * downwards in this list:
 *
 *   registers.c  reset.c  completion.c   what comes from outside
 *   queue.c      doorbells, fetches, enabling
 *   context.c    halting, dropping what a queue has in flight
 *   engine.c     arbitration, start and end of commands
 *   exec.c       a command's real work       retire.c  in-order retirement
 *   route.c      window to engines' FIFOs, start of fetches
 *   flow.c       rates of what streams
 *   account.c    ticks and amounts to counters
 */
#ifndef AXL_FRONTEND_STATE_H
#define AXL_FRONTEND_STATE_H

#include "qemu-device/frontend/frontend.h"
#include "qemu-device/observe/observe.h"

/* On-chip limits. */
#define AXL_WINDOW      64 /* commands of one queue fetched and not yet retired */
#define AXL_FIFO        16 /* of those, waiting at one engine */
#define AXL_FETCH_BATCH 8  /* descriptors of one fetch */
#define AXL_IRQ_PENDING 64

typedef struct AxlCompletion {
    int64_t due_ns;
    struct axl_cqe cqe;
    struct axl_rec_job rec;
    uint8_t ctx;
    bool irq;
} AxlCompletion;

typedef struct AxlIrq {
    int64_t due_ns;
    uint8_t queue;
    uint8_t ctx;
    int64_t completion_ns;
    struct axl_rec_job rec;
} AxlIrq;

typedef struct AxlQueue {
    uint64_t sq_base, cq_base;
    uint32_t sq_log2, cq_log2;
    uint32_t context;
    uint32_t ctrl;
    uint32_t status;
    uint32_t error;
    uint32_t sq_head, sq_tail; /* free running; head = next entry to fetch */
    uint32_t cq_tail, cq_head;
    AxlStamp *doorbells;       /* by ring slot: the write that covered it */
    uint32_t fetching;         /* entries of the fetch under way */
    /* free-running indices into window: retire <= route <= tail */
    AxlCmd *window;
    uint32_t retire, route, tail;
    AxlCompletion completions[AXL_WINDOW + 1];
    uint32_t comp_head, comp_tail;
    /* the job being retired */
    struct axl_rec_job job;
    int64_t job_start_ns, job_end_ns; /* its first start and last end */
    bool job_open;
} AxlQueue;

typedef struct AxlContext {
    uint32_t ctrl;
    uint32_t status;
    uint32_t error, err_job, err_index;
    uint32_t priority;
} AxlContext;

typedef struct AxlFifo {
    uint8_t slot[AXL_FIFO]; /* window slots */
    uint32_t head, tail;
} AxlFifo;

typedef struct AxlEngine {
    AxlFifo fifo[AXL_MAX_QUEUES];
    unsigned last_queue; /* round robin */
    AxlCmd *cmd;         /* running */
    AxlCmd *candidate;   /* next to run, semaphores not satisfied */
    AxlRun run;          /* `cmd` as the timing model sees it */
    AxlStamp accounted;
} AxlEngine;

typedef struct AxlFrontEnd {
    bool enabled; /* CTRL */
    AxlQueue queue[AXL_MAX_QUEUES];
    AxlContext ctx[AXL_MAX_CONTEXTS];
    AxlEngine engine[AXL_NUM_ENGINES];
    uint64_t sem[AXL_MAX_SEMS];
    AxlIrq irq[AXL_IRQ_PENDING];
    unsigned irqs;
    bool kicking, kick_again;
} AxlFrontEnd;

static inline uint32_t axl_sq_size(const AxlQueue *q)
{
    return 1u << q->sq_log2;
}

/* account.c */
void axl_account_engine(AxlDevice *s, unsigned e);
void axl_account_finish(AxlDevice *s, AxlCmd *cmd);

/* route.c */
bool axl_context_runs(const AxlDevice *s, unsigned c);
void axl_queue_pump(AxlDevice *s, unsigned q);
void axl_queue_pump_all(AxlDevice *s);

/* retire.c */
void axl_retire(AxlDevice *s, unsigned q);
void axl_retire_error(AxlDevice *s, AxlCmd *cmd);

/* exec.c */
unsigned axl_exec_fetch_sg(AxlDevice *s, AxlCmd *cmd);
unsigned axl_exec(AxlDevice *s, AxlCmd *cmd);

/* engine.c */
void axl_engine_kick(AxlDevice *s);
void axl_engine_drop(AxlDevice *s, unsigned q);

/* context.c */
void axl_queue_error(AxlDevice *s, unsigned q, unsigned status);
void axl_queue_clear(AxlDevice *s, unsigned q, unsigned status);

/* queue.c */
void axl_queue_enable(AxlDevice *s, unsigned q, uint32_t ctrl);
void axl_queue_doorbell(AxlDevice *s, unsigned q, uint32_t tail);

/* reset.c */
void axl_context_reset(AxlDevice *s, unsigned c);

#endif /* AXL_FRONTEND_STATE_H */
