/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * axl: the timing model: how long each part of a command takes, what it
 * transfers and which cause its time is charged to, as specified in
 * docs/device-model.md. Plain C without QEMU headers and without state of its
 * own; timing/tests tests it alone.
 *
 *   link.c   TLPs and wire bytes, rate of the link, latencies
 *   dram.c   bursts, rows, banks
 *   runs.c   contiguous runs of a copy
 *   cost.c   what a command asks of each resource (AxlDemand), and lower bounds of it
 *   run.c    phases of the command that an engine runs, its progress, its time by cause
 *   share.c  rates of all running commands, which share DRAM and link
 *
 * Times are ns of virtual time unless a name says otherwise.
 */
#ifndef AXL_TIMING_TIMING_H
#define AXL_TIMING_TIMING_H

#include "qemu-device/timing/plain.h"

#include "kmod/uapi/axl_hw.h"
#include "qemu-device/knobs/knobs.h"
#include "qemu-device/memory/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AXL_NEVER INT64_MAX
#define AXL_FAR (AXL_NEVER / 4) /* sums of a few do not overflow */

#define AXL_MAX_OPERANDS 4

/* The causes that an engine's time is charged to: enum axl_stall, then computing. */
#define AXL_CAUSE_BUSY  AXL_NUM_STALLS
#define AXL_NUM_CAUSES  (AXL_NUM_STALLS + 1)

/* ---- the model's own state ------------------------------------------------------------------ */

typedef struct AxlLink {
    unsigned gen, width;
    double tx_ns_per_byte, rx_ns_per_byte;
    unsigned mps, mrrs;
    int64_t up_ns; /* retraining until then */
} AxlLink;

typedef struct AxlDram {
    int64_t open_row[AXL_MAX_BANKS]; /* the open row of each bank, -1 = none */
} AxlDram;

typedef struct AxlTiming {
    const AxlKnobs *knob;
    const AxlFaults *fault;  /* throttling */
    const AxlMemory *memory; /* indices of a gather */
    bool functional;         /* each phase takes a ns, whatever is done */
    AxlLink link;
    AxlDram dram;
} AxlTiming;

/* ---- a command ------------------------------------------------------------------------------ */

/* A rectangular operand in device memory: `rows` runs of row_bytes, repeated by batch. */
typedef struct AxlOperand {
    uint64_t addr;
    uint64_t rows;
    uint64_t row_bytes;
    uint64_t pitch;
    uint64_t batch_pitch;
    uint32_t batch;
    uint32_t passes; /* times the whole operand is streamed */
    bool write;
} AxlOperand;

/* The demand of a command on each resource. */
typedef struct AxlDemand {
    double cycles;     /* of the engine's own clock, at full rate */
    double rate;       /* share of the nominal rate the knob leaves, 1.0 = all */
    double tag_ns;     /* least streaming time for want of tags */
    double dram_ns;    /* of DRAM service */
    double scratch_ns; /* of scratchpad port time */
    double rx_bytes;   /* on the wire, towards the device */
    double tx_bytes;
    int64_t pcie_latency_ns;   /* exposed before data streams */
    int64_t memory_latency_ns;
} AxlDemand;

/* Amounts that grow with a command's progress. */
enum {
    AXL_T_PAYLOAD,
    AXL_T_WORK,
    AXL_T_DRAM_READ,
    AXL_T_DRAM_WRITE,
    AXL_T_DRAM_USEFUL,
    AXL_T_ROW_HITS,
    AXL_T_ROW_MISSES,
    AXL_T_ROW_CONFLICTS,
    AXL_T_SCRATCH,
    AXL_T_RX_WIRE,
    AXL_T_TX_WIRE,
    AXL_T_MRD,
    AXL_T_CPLD,
    AXL_T_MWR,
    AXL_NUM_TALLIES,
};

/* One command as the model sees it; all zeros before it is decoded. */
typedef struct AxlWork {
    AxlOperand operand[AXL_MAX_OPERANDS];
    unsigned operands;
    AxlDemand demand;
    struct {
        double cycles;
        uint64_t link_bytes, dram_bytes;
    } least; /* of the demand, from the descriptor alone */
    double progress;   /* of the streaming phase, 0 to 1 */
    bool hung;         /* a fault keeps it from ending */
    uint64_t total[AXL_NUM_TALLIES];
    uint64_t done[AXL_NUM_TALLIES];
    /* Charged time by cause; the owed time is not yet a whole tick or ns. */
    uint64_t ticks[AXL_NUM_CAUSES];
    int64_t ns[AXL_NUM_CAUSES];
    double owed_ticks[AXL_NUM_CAUSES], owed_ns[AXL_NUM_CAUSES];
    int64_t bound_ns[AXL_NUM_CAUSES]; /* time during which that cause set the pace */
} AxlWork;

/* ---- link.c --------------------------------------------------------------------------------- */

typedef struct AxlTlps {
    uint64_t mrd, cpld, mwr;
    uint64_t rx_wire, tx_wire;
} AxlTlps;

/* Updates the link from the knobs; returns true if speed or width changed. */
bool axl_link_update(AxlTiming *t);
bool axl_link_down(const AxlTiming *t, int64_t now_ns);
void axl_link_read_tlps(const AxlTiming *t, AxlTlps *n, uint64_t addr, uint64_t bytes);
void axl_link_write_tlps(const AxlTiming *t, AxlTlps *n, uint64_t addr, uint64_t bytes);
/* Adds the wire bytes of TLPs that carry this much payload. */
void axl_link_wire(const AxlTiming *t, AxlTlps *n, uint64_t read_bytes, uint64_t write_bytes);
/*
 * Extra time of reads with a limited number of tags, beyond the first round
 * trip; 0 = no limit.
 */
double axl_link_tag_ns(const AxlTiming *t, uint64_t reads, double each_ns);
/*
 * Duration of a small read until its last byte, and of a small posted write
 * until it arrives.
 */
int64_t axl_link_read_ns(const AxlTiming *t, uint64_t bytes);
int64_t axl_link_post_ns(const AxlTiming *t, uint64_t bytes);

/* ---- dram.c --------------------------------------------------------------------------------- */

void axl_dram_reset(AxlDram *d);
/*
 * Streams a command's operands, and the rows that a gather reads (v, else
 * NULL). Adds to the totals and returns the service time in ns.
 */
double axl_dram_cost(AxlTiming *t, AxlWork *w, const struct axl_vector *v);

/* ---- runs.c --------------------------------------------------------------------------------- */

/* One contiguous run of a copy; false ends the walk. */
typedef bool (*AxlCopyRun)(void *opaque, uint64_t host, uint64_t device, uint64_t bytes);
/* sg is the checked scatter list or NULL. Returns false as soon as a run does. */
bool axl_copy_walk(const struct axl_copy *c, const struct axl_sg *sg, AxlCopyRun run, void *opaque);

/* ---- cost.c --------------------------------------------------------------------------------- */

/* Computes cheap lower bounds from the descriptor alone. */
void axl_cost_least(const AxlTiming *t, const struct axl_desc *d, AxlWork *w);
/*
 * Computes the demand and the totals at the start. The state of DRAM rows is
 * left as after it.
 */
void axl_cost(AxlTiming *t, const struct axl_desc *d, const struct axl_sg *sg, AxlWork *w);
/* Accounts for reading a scatter list of that many entries, before the data's latency. */
void axl_cost_list(const AxlTiming *t, AxlWork *w, uint32_t entries);
double axl_cycle_ns(const AxlTiming *t);
/* The engine's own time at full speed, without throttling. */
double axl_cycles_ns(const AxlTiming *t, const AxlDemand *d);
/* Lower bound of the streaming time, with exclusive use of the chip. */
double axl_alone_ns(const AxlTiming *t, const AxlDemand *d);
/* Rounds an interval down to ns, safe against different rounding elsewhere. */
int64_t axl_at_least(double ns);
/* Lower bound of a command's run time, from axl_cost_least(). */
int64_t axl_least_ns(const AxlTiming *t, const struct axl_desc *d, const AxlWork *w);

/* ---- run.c ---------------------------------------------------------------------------------- */

typedef enum AxlPhase {
    AXL_PHASE_NONE, /* no command */
    AXL_PHASE_DISPATCH,
    AXL_PHASE_LATENCY_PCIE,
    AXL_PHASE_LATENCY_MEMORY,
    AXL_PHASE_STREAM,
    AXL_PHASE_HUNG,
} AxlPhase;

/* The command that an engine runs. */
typedef struct AxlRun {
    AxlWork *work; /* NULL: nothing */
    AxlPhase phase;
    unsigned priority; /* 0 to 3: weight 2^priority */
    /* Valid while it streams, as of the last axl_share(): */
    double rate;       /* progress per ns */
    double busy_share; /* of the time in which it computes */
    unsigned cause;    /* of the rest */
    int64_t end_ns;    /* if nothing changes, AXL_NEVER = not */
} AxlRun;

/* Time by cause and amounts that have to be added to the counters. */
typedef struct AxlCharge {
    uint64_t ticks[AXL_NUM_CAUSES];
    uint64_t amount[AXL_NUM_TALLIES];
} AxlCharge;

/* Starts the first phase; returns its duration. */
int64_t axl_run_start(const AxlTiming *t, AxlRun *r, AxlWork *w);

typedef enum AxlNext {
    AXL_NEXT_PHASE,  /* another phase of known length */
    AXL_NEXT_STREAM, /* it streams from now on: axl_share() */
    AXL_NEXT_HUNG,
    AXL_NEXT_END,
} AxlNext;
/* Ends a phase. */
AxlNext axl_run_next(AxlRun *r, int64_t *ns);
void axl_run_stop(AxlRun *r);

/* Charges an interval of `elapsed` ticks, of which `ticks` whole ones are due. */
void axl_run_elapse(AxlRun *r, double elapsed, uint64_t ticks, int64_t ns, AxlCharge *charge);
/* The same for a command that waited for semaphores in front of an idle engine. */
void axl_work_waited(AxlWork *w, uint64_t ticks, int64_t ns);
/* Charges the rest of the amounts when the command ends. */
void axl_work_finish(AxlWork *w, AxlCharge *charge);
/*
 * The cause that set the pace for the largest part of end - head, and as enum
 * axl_limiter.
 */
unsigned axl_work_limiting_cause(const AxlWork *w);
unsigned axl_work_limiter(const AxlWork *w);
/*
 * Lower bound of the time when the run ends: its present phase ends at `due`,
 * it was accounted up to `accounted_ns`, nothing changes before `next`.
 */
int64_t axl_run_least_end(const AxlTiming *t, const AxlRun *r, int64_t due, int64_t next,
                          int64_t accounted_ns);

/* ---- share.c -------------------------------------------------------------------------------- */

/* Sets rates, causes and ends of everything that streams. Idle engines are skipped. */
void axl_share(const AxlTiming *t, AxlRun *const run[], unsigned count, int64_t now_ns);
bool axl_run_streams(const AxlRun *r);
/* Delays the run by a small transfer in that direction; false = no effect on this run. */
bool axl_run_delay(AxlRun *r, uint64_t wire_bytes, bool rx);
bool axl_run_uses(const AxlRun *r, bool rx);

#ifdef __cplusplus
}
#endif

#endif /* AXL_TIMING_TIMING_H */
