/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Records that sched.bpf.c writes into its ring, and its maps' values, shared with daemon/sources.
 * Times are CLOCK_MONOTONIC ns.
 */
#ifndef DAEMON_BPF_SCHED_RECORDS_H_
#define DAEMON_BPF_SCHED_RECORDS_H_

#include <linux/types.h>

#include "daemon/bpf/losses.h"

#define ACT_MAX_THREADS 16384 /* of recorded processes, at once */

/* ThreadRunBatch.State of the stream. */
enum act_state {
	ACT_STATE_UNKNOWN = 0,
	ACT_STATE_RUNNABLE = 1,
	ACT_STATE_SLEEPING = 2,
	ACT_STATE_BLOCKED = 3,
	ACT_STATE_STOPPED = 4,
	ACT_STATE_ENDED = 5,
	ACT_STATE_RUNNING = 6,
};

/* The kernel's counts of a thread. */
struct act_thread_counts {
	__u64 charged_ns;
	__u64 minor_faults;
	__u64 major_faults;
	__u64 migrations;
	__u64 voluntary;
	__u64 involuntary;
};

/* A period of a thread on a CPU, and the time before it back to the previous period. */
struct act_run {
	__u64 end_ns;
	__u64 begin_ns; /* 0: before the recording of it began */
	__u64 away_ns;  /* in state `away` since then; 0: as above */
	__u64 ready_ns; /* runnable since then */
	__u64 wait;     /* address in the kernel's function that it waited in, or 0 */
	struct act_thread_counts counts; /* since the last record of it that was not lost */
	__u32 pid;
	__u32 tid;
	__u32 waker_pid;
	__u32 waker_tid;
	__u16 cpu;
	__u8 away; /* enum act_state */
	__u8 left; /* enum act_state: the state after the period */
	__u8 waker_irq;
	__u8 reserved[3];
};

/* Value of the map `threads`, by thread. */
struct act_thread {
	__u64 begin_ns; /* on a CPU since then; 0 = it is not */
	__u64 away_ns;
	__u64 ready_ns; /* 0 = it is not runnable, or on a CPU without having been woken */
	__u64 wait;
	struct act_thread_counts reported; /* totals, as of the last record */
	__u32 pid;
	__u32 waker_pid;
	__u32 waker_tid;
	__u16 cpu;
	__u8 away;
	__u8 waker_irq;
};

/* Counts of a CPU. */
struct act_sched_counts {
	__u64 seen;
	struct act_losses lost;
	__u64 no_room; /* threads that found the map full: nothing of them is recorded */
	__u64 inferred; /* runs whose begin the kernel did not report */
};

#endif /* DAEMON_BPF_SCHED_RECORDS_H_ */
