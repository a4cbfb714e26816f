/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: state of one emulated accelerator, shared by the files of this folder.
 *
 * Nothing outside this folder includes it; the guest-visible
 * contract is kmod/uapi/axl_hw.h. Who owns what:
 *
 *   axl.c      QOM, PCI, reset          regs.c    register reads and writes
 *   sim.c      event slots, catch-up    dma.c     bus access, small TLPs, MSI-X
 *   queue.c    fetch, dispatch          retire.c  in-order retirement, completions
 *   context.c  halt and reset           engine.c  arbitration, phases
 *   account.c  ticks by cause           fluid.c   shared rates of running commands
 *   decode.c   descriptor checks        cost.c    what a command asks of resources
 *   copy.c     runs and scatter lists   stall.c   what a register read costs the CPU
 *   foresight.c  how long the host may leave the device alone
 *   pcie.c     TLP arithmetic           dram.c    bursts, rows, banks
 *   exec*.c    the numbers              aside.c   large ones on another thread
 *   clock.c    device clock
 *   trace.c    trace rings              truth.c   truth log
 *   knobs.c    run-time properties      faults.c  misbehaviour
 *
 * Time: every model time is QEMU_CLOCK_VIRTUAL in ns. The device runs its own
 * event slots in time order and stamps them with their own instant, so results
 * do not depend on when the host got round to running a timer.
 */
#ifndef AXL_H
#define AXL_H

#include "compat.h"

#include <math.h>

#include "kmod/uapi/axl_hw.h"
#include "kmod/uapi/axl_counters.h"
#include "qemu-device/knobs/knobs.h"
#include "qemu-device/memory/memory.h"
#include "qemu-device/timing/timing.h"

#define TYPE_AXL "axl"
OBJECT_DECLARE_SIMPLE_TYPE(AxlState, AXL)

/* On-chip limits. */
#define AXL_WINDOW      64 /* commands of one queue fetched and not yet retired */
#define AXL_FIFO        16 /* of those, waiting at one engine */
#define AXL_FETCH_BATCH 8  /* descriptors of one fetch */
#define AXL_IRQ_PENDING 64
#define AXL_TRACE_MIN_PERIOD_NS 1000

/* One instant on the scales that matter. */
typedef struct AxlStamp {
    int64_t ns;   /* virtual clock */
    uint64_t raw; /* device ticks since power-on: no offset, no step, no wrap */
    uint64_t frac; /* of a tick, in 2^-64 */
    uint64_t ts;  /* what the guest sees: offset added, wrapped */
} AxlStamp;

typedef enum AxlCmdState {
    AXL_CMD_FETCHED, /* in the window, not yet at an engine */
    AXL_CMD_QUEUED,  /* in an engine's FIFO */
    AXL_CMD_RUNNING,
    AXL_CMD_DONE,
} AxlCmdState;

typedef struct AxlCmd {
    struct axl_desc desc;
    AxlCmdState state;
    uint8_t queue;
    uint8_t ctx;
    uint8_t engine;
    uint8_t status; /* enum axl_status */
    uint32_t sq_index;
    AxlStamp doorbell, fetched, start, end;
    int64_t arrived_ns; /* first of its queue at the engine */
    AxlWork work;
    struct axl_sg *sg; /* owned, read when the command starts */
} AxlCmd;

typedef struct AxlCompletion {
    int64_t due_ns;
    struct axl_cqe cqe;
    struct axl_rec_job rec;
    int64_t retired_ns;
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
    AxlRun run;          /* the same, as the timing model sees it */
    AxlStamp accounted;
} AxlEngine;

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
    uint64_t told;         /* produced when the last watermark interrupt went out */
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

/* A large command whose numbers another thread computes: aside.c. */
typedef struct AxlAside {
    uint64_t work;       /* property: steps from which on, 0 = never */
    uint64_t commands;   /* so far */
    AxlCmd *cmd;         /* the device stands at its end; NULL = none */
    unsigned engine;
    struct axl_desc desc; /* the thread's, with status, until `finished` */
    unsigned status;
    bool finished;
    bool quit;
    QemuThread thread;
    QemuEvent start, done;
    QEMUBH *bh;          /* NULL until there is a thread */
    VMChangeStateEntry *vm_changed;
} AxlAside;

/* Event slots: at most one deadline each. */
enum {
    AXL_EV_ENGINE_ = 0,
    AXL_EV_FETCH = AXL_EV_ENGINE_ + AXL_NUM_ENGINES,
    AXL_EV_COMPLETION = AXL_EV_FETCH + AXL_MAX_QUEUES,
    AXL_EV_WRITEBACK = AXL_EV_COMPLETION + AXL_MAX_QUEUES,
    AXL_EV_SAMPLE = AXL_EV_WRITEBACK + AXL_MAX_TRACE_RINGS,
    AXL_EV_IRQ = AXL_EV_SAMPLE + AXL_MAX_TRACE_RINGS,
    AXL_EV_RAMP,
    AXL_EV_LINK_UP,
    AXL_NUM_EVENTS,
};

struct AxlState {
    PCIDevice parent_obj;

    MemoryRegion regs;
    MemoryRegion window;
    MemoryRegion msix_bar;
    AxlMemory mem;
    AxlClear clear;
    AxlTiming timing;

    AxlKnobs knob;
    AxlFaults fault;
    char *model;       /* property: full | functional */
    char *truth_path;
    unsigned index;    /* in order of creation */

    QEMUTimer *timer;
    int64_t armed_ns;
    int64_t promised_ns; /* nothing shows on the bus before: foresight.c */
    uint64_t late_wakes; /* how often that was wrong */
    bool eager;          /* property: wake for every event, as a reference */
    int64_t now;       /* model time */
    bool running;       /* between axl_sim_enter() and axl_sim_leave() */
    bool reset_wanted;  /* a bus reset that came by a write of our own */
    int64_t due[AXL_NUM_EVENTS];

    uint32_t ctrl;
    uint32_t int_status, int_mask;
    AxlClock clock;
    uint64_t clk_latched;
    uint64_t ptm_device, ptm_host;
    bool ptm_valid;
    int64_t tsc_ref_ns, tsc_pair_ns; /* virtual time and guest TSC: at first, of late */
    uint64_t tsc_ref, tsc_pair;

    AxlAside aside;
    AxlQueue queue[AXL_MAX_QUEUES];
    AxlContext ctx[AXL_MAX_CONTEXTS];
    AxlEngine engine[AXL_NUM_ENGINES];
    uint64_t sem[AXL_MAX_SEMS];
    AxlTraceRing ring[AXL_MAX_TRACE_RINGS];
    AxlIrq irq[AXL_IRQ_PENDING];
    unsigned irqs;
    bool kicking, kick_again;

    /* counters: live, and the latched snapshot */
    uint64_t ctr[AXL_NUM_COUNTERS];
    uint64_t ctx_ctr[AXL_MAX_CONTEXTS][AXL_NUM_COUNTERS];
    uint64_t snap[AXL_NUM_COUNTERS];
    uint64_t ctx_snap[AXL_MAX_CONTEXTS][AXL_NUM_COUNTERS];
    uint64_t snap_time;
    uint32_t snap_seq;
    uint32_t ctr_ctrl;
    AxlStamp elapsed_at;

    bool removed;       /* surprise removal: nothing answers */

    FILE *truth;
    bool truth_dirty;
    Notifier exit_notifier;
    VMChangeStateEntry *vmstate_entry;
};

/* sim.c */
/* How who comes to the device waits for a command that is computed aside. */
typedef enum AxlWait {
    AXL_WAIT_NOT,      /* the device may be left standing at its end */
    AXL_WAIT_LOCKED,
    AXL_WAIT_UNLOCKED, /* others may come meanwhile */
} AxlWait;
void axl_sim_at(AxlState *s, unsigned event, int64_t ns);
bool axl_sim_enter_as(AxlState *s, AxlWait wait);
bool axl_sim_enter(AxlState *s); /* run what is due; the device is at `now` */
void axl_sim_leave(AxlState *s);
void axl_sim_catch_up(AxlState *s); /* both, unless it is at work */
void axl_sim_timer(void *opaque);

/* What QEMU's trace events call this device. */
static inline const char *axl_id(const AxlState *s)
{
    return DEVICE(s)->id ?: TYPE_AXL;
}

/* clock.c */
void axl_clock_reset(AxlState *s);
AxlStamp axl_clock_stamp(const AxlState *s, int64_t ns);
static inline AxlStamp axl_now(const AxlState *s)
{
    return axl_clock_stamp(s, s->now);
}
void axl_clock_set_rate(AxlState *s);
void axl_clock_step(AxlState *s, int64_t ticks);
void axl_clock_ramp(AxlState *s);
int64_t axl_clock_pair(uint64_t *tsc);
uint64_t axl_clock_tsc(AxlState *s, int64_t ns); /* guest TSC at a virtual time */

/* stall.c */
void axl_stall_cpu(int64_t ns);

/* regs.c */
extern const MemoryRegionOps axl_regs_ops;

/* dma.c */
MemTxResult axl_dma_read(AxlState *s, uint64_t addr, void *buf, uint64_t bytes);
MemTxResult axl_dma_write(AxlState *s, uint64_t addr, const void *buf, uint64_t bytes);
MemTxResult axl_dma_post(AxlState *s, uint64_t addr, const void *buf, uint64_t bytes);
bool axl_dma_allowed(AxlState *s, uint64_t addr, uint64_t bytes);
void axl_dma_count_read(AxlState *s, uint64_t addr, uint64_t bytes);
void axl_dma_count_write(AxlState *s, uint64_t addr, uint64_t bytes);
bool axl_msix(AxlState *s, unsigned vector);
void axl_int_raise(AxlState *s, uint32_t causes);
void axl_int_mask(AxlState *s, uint32_t mask);

/* queue.c */
void axl_queue_enable(AxlState *s, unsigned q, uint32_t ctrl);
void axl_queue_doorbell(AxlState *s, unsigned q, uint32_t tail);
void axl_queue_pump(AxlState *s, unsigned q);
void axl_queue_pump_all(AxlState *s);
void axl_queue_fetched(AxlState *s, unsigned q);
void axl_queue_error(AxlState *s, unsigned q, unsigned status);
void axl_queue_clear(AxlState *s, unsigned q, unsigned status);

/* retire.c */
void axl_retire(AxlState *s, unsigned q);
void axl_retire_error(AxlState *s, AxlCmd *cmd);
void axl_completion_due(AxlState *s, unsigned q);
void axl_irq_due(AxlState *s);

/* context.c */
void axl_context_halt(AxlState *s, unsigned c, unsigned status, uint32_t job, uint32_t index);
void axl_context_reset(AxlState *s, unsigned c);
uint32_t axl_context_status(const AxlState *s, unsigned c);
bool axl_context_runs(const AxlState *s, unsigned c);

/* engine.c */
void axl_engine_kick(AxlState *s);
void axl_engine_phase_end(AxlState *s, unsigned e);
void axl_engine_drop(AxlState *s, unsigned q);
uint32_t axl_engine_depth(const AxlState *s, unsigned e);
void axl_sem_signal(AxlState *s, unsigned sem, uint64_t value, unsigned ctx);

void axl_engine_end(AxlState *s, unsigned e, unsigned status);

/* aside.c */
bool axl_aside_begin(AxlState *s, unsigned e, AxlCmd *cmd);
bool axl_aside_done(const AxlState *s);
unsigned axl_aside_take(AxlState *s);
void axl_aside_wait(AxlState *s, bool unlocked);
void axl_aside_stop_time(AxlState *s);
void axl_aside_end(AxlState *s);

/* account.c */
void axl_account(AxlState *s);
void axl_account_engine(AxlState *s, unsigned e);
void axl_account_latch(AxlState *s);
void axl_account_reset(AxlState *s);
void axl_account_finish(AxlState *s, AxlCmd *cmd);
void axl_count(AxlState *s, unsigned counter, uint64_t n);
void axl_count_ctx(AxlState *s, unsigned counter, unsigned ctx, uint64_t n);
extern const bool axl_counter_is_ctx[AXL_NUM_COUNTERS];

/* fluid.c */
void axl_fluid_update(AxlState *s);
void axl_fluid_delay_tx(AxlState *s, uint64_t wire_bytes);
void axl_fluid_delay_rx(AxlState *s, uint64_t wire_bytes);

static inline float axl_f32(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* foresight.c */
int64_t axl_foresight(const AxlState *s, int64_t next);
void axl_foresight_check(AxlState *s);

/* pcie.c */
void axl_pcie_update(AxlState *s);
void axl_pcie_config(AxlState *s, Error **errp);
void axl_pcie_reset(AxlState *s);
void axl_pcie_config_written(AxlState *s, uint32_t addr, uint32_t v, int len);

/* exec.c, exec_matmul.c, exec_vector.c */
unsigned axl_exec(AxlState *s, AxlCmd *cmd);
unsigned axl_exec_numbers(const AxlMemory *mem, const struct axl_desc *desc);
unsigned axl_exec_fetch_sg(AxlState *s, AxlCmd *cmd);
void axl_exec_matmul(const AxlMemory *mem, const struct axl_matmul *m);
unsigned axl_exec_vector(const AxlMemory *mem, unsigned opcode, const struct axl_vector *v);

/* trace.c */
void axl_trace_enable(AxlState *s, unsigned r, uint32_t ctrl);
void axl_trace_reset(AxlState *s);
void axl_trace_record(AxlState *s, union axl_record *rec, int ctx);
void axl_trace_cmd(AxlState *s, const AxlCmd *cmd);
uint64_t axl_cmd_work(const AxlCmd *cmd);
uint64_t axl_cmd_bytes(const AxlCmd *cmd);
void axl_trace_event(AxlState *s, unsigned event, int ctx, uint64_t a0, uint64_t a1, uint64_t a2);
void axl_trace_writeback(AxlState *s, unsigned r);
void axl_trace_sample(AxlState *s, unsigned r);
void axl_trace_period(AxlState *s, unsigned r);

/* truth.c */
bool axl_truth_open(AxlState *s, Error **errp);
void axl_truth_close(AxlState *s);
void axl_truth_flush(AxlState *s);
void axl_truth_cmd(AxlState *s, const AxlCmd *cmd);
void axl_truth_doorbell(AxlState *s, unsigned q, uint32_t tail, uint32_t previous);
void axl_truth_job(AxlState *s, unsigned q, const struct axl_rec_job *rec, int64_t completion_ns,
                   int64_t irq_ns);
void axl_truth_event(AxlState *s, const char *what, const char *fmt, ...) G_GNUC_PRINTF(3, 4);

/* knobs.c */
void axl_knobs_class_init(ObjectClass *klass);

/* faults.c */
void axl_faults_enabled(AxlState *s);
void axl_faults_reset(AxlState *s);
void axl_faults_init(AxlState *s);
void axl_faults_class_init(ObjectClass *klass);

/* axl.c */
void axl_reset_device(AxlState *s);
bool axl_idle(const AxlState *s);

#endif /* AXL_H */
