/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Records that the BPF programs write into their ring buffer, and the maps' values, shared by the
 * programs (C) and daemon/sources (C++). Each type of record has a fixed size; times are
 * CLOCK_MONOTONIC ns. Static strings are sent once, not with each event.
 */
#ifndef DAEMON_BPF_RECORDS_H_
#define DAEMON_BPF_RECORDS_H_

#include <linux/types.h>

#include "daemon/bpf/losses.h"

#define ACT_NAME_BYTES 128 /* longer names are cut */
#define ACT_COMM_BYTES 16
#define ACT_MAX_DEVICES 16
#define ACT_MAX_CONTEXTS 8 /* of a device */
#define ACT_MAX_TRACKED 32768
#define ACT_MAX_NAMES 16384
#define ACT_ANY_USER 0xffffffffu
#define ACT_ANSWER_SIGNAL 28 /* libtrace/ring: the process that asks is recorded */

enum act_type {
	ACT_API_BEGIN = 1,
	ACT_API_END = 2,
	ACT_RANGE_PUSH = 3,
	ACT_RANGE_POP = 4,
	ACT_MARK = 5,
	ACT_NAME = 6,    /* (pid, address) means this text from now on */
	ACT_OP_NAME = 7, /* (pid, tag) means this text */
	ACT_HOST = 8,    /* a tracepoint of the driver */
	ACT_PROCESS = 9,
	ACT_RING_READY = 10, /* the process has made a segment of rings (libtrace/ring) */
	ACT_RING_WAKE = 11,  /* one of its rings is half full */
	ACT_JOB = 12,  /* a job is over, or in flight when asked */
	ACT_WAKE = 13, /* a wait is over */
	ACT_STACK = 14,      /* (pid, id) means these frames */
	ACT_CALL_STACK = 15, /* an API call was made with this stack */
	ACT_NUM_TYPES,
};

/* Where events are counted; each has its own in = out + lost + bad. */
enum act_hop {
	ACT_HOP_API = 0,
	ACT_HOP_DRIVER = 1,
	ACT_HOP_PROCESS = 2, /* and names of API calls */
	ACT_HOP_STACK = 3,   /* of API calls, if wanted; their frames are of ACT_HOP_PROCESS */
	ACT_NUM_HOPS,
};

struct act_head {
	__u64 time_ns;
	__u32 pid; /* process (thread group) */
	__u32 tid;
	__u16 type; /* enum act_type */
	__u16 cpu;
	__u32 extra; /* by type, see below */
};

struct act_api_begin {
	struct act_head h; /* extra: stream */
	__u64 name;        /* address of a static string in the process */
	__u64 correlation;
	__u64 bytes;
};

struct act_api_end {
	struct act_head h; /* extra: result, __s32 */
	__u64 name;
	__u64 correlation;
};

/* ACT_RANGE_PUSH, ACT_MARK. The text is always sent, because its buffer may be reused. */
struct act_range {
	struct act_head h; /* extra: depth */
	__u64 address;
	char text[ACT_NAME_BYTES]; /* text[0] == 0: could not be read here */
};

struct act_range_pop {
	struct act_head h; /* extra: depth */
};

/* ACT_NAME, ACT_OP_NAME */
struct act_name {
	struct act_head h; /* extra: tag of ACT_OP_NAME */
	__u64 address;
	char text[ACT_NAME_BYTES];
};

/*
 * Frames of a stack; outer frames of a deeper stack are omitted. The addresses are on the BPF stack
 * of 512 bytes, of which older kernels count each function in steps of 32.
 */
#define ACT_MAX_FRAMES 32
#define ACT_MAX_STACKS 16384

/* Same layout as the kernel's struct bpf_stack_build_id. */
struct act_frame {
	__s32 status; /* 1: by build id, at `place` in the file; else `place` is an address */
	__u8 build_id[20];
	__u64 place;
};

struct act_stack {
	struct act_head h; /* extra: how many frames */
	__u64 id;          /* not 0; of one image of the process */
	/*
	 * The return address at a function's entry, where the frame pointer is still the caller's.
	 */
	__u64 caller;
	__u64 address[ACT_MAX_FRAMES]; /* innermost first */
	struct act_frame frame[ACT_MAX_FRAMES];
};

struct act_call_stack {
	struct act_head h;
	__u64 correlation;
	__u64 stack;
};

struct act_host {
	struct act_head h; /* extra: device number */
	__u32 kind;        /* HostBatch.Kind of the stream */
	__u32 context;
	__u32 queue;
	__u32 job;
	__u64 sequence;
	__u64 correlation;
	__u64 arg0;
	__u64 arg1;
};

/*
 * A job as the driver knew it at its end. where and job_cmds are arguments of the tracepoint
 * axl_job (kmod/axl_trace_job.h); h.time_ns is the completion, 0 = still in flight.
 */
struct act_job {
	struct act_head h; /* extra: 0; pid and tid submitted it */
	__u64 where;
	__u64 job_cmds;
	__u64 sequence;
	__u64 correlation;
	__u64 copy_bytes;
	__u64 device_ticks;
	__u64 submit_ns; /* 0: tracing was off then */
	__u64 doorbell_ns;
	__u64 submit_end_ns;
	__u64 irq_ns; /* 0: no handler found it */
};

/* A completed wait; h.time_ns is when the thread continues. */
struct act_wake {
	struct act_head h; /* extra: device number */
	__u32 context;
	__u32 queue;
	__u32 job;
	__u32 status;
	__u64 sequence;
	__u64 correlation;
	__u64 wait_correlation;
	__u64 wait_ns; /* 0: not known */
};

enum act_process_what {
	ACT_PROCESS_SEEN = 0, /* first event of a process, system mode */
	ACT_PROCESS_FORK = 1, /* pid/tid is the child */
	ACT_PROCESS_EXEC = 2,
	ACT_PROCESS_RENAME = 3,
	ACT_PROCESS_EXIT = 4,
	ACT_PROCESS_LEFT = 5, /* runs as another user now: no longer recorded */
};

struct act_process {
	struct act_head h; /* extra: enum act_process_what */
	__u32 parent;
	__u32 reserved;
	char comm[ACT_COMM_BYTES];
};

struct act_ring {
	struct act_head h; /* extra: version of the format */
	__u64 address;     /* of the segment in the process; 0: none */
	__u64 bytes;       /* its size, or the errno that explains why there is none */
};

/* Value of the per-CPU map `hops`. */
struct act_counts {
	__u64 seen;             /* events that passed the filter */
	struct act_losses lost; /* ... and found the ring full */
};

/* Value of the map `tracked`, the recorded processes by pid. */
struct act_tracked {
	__u32 generation; /* of each process and exec another: addresses mean other strings then */
	__u32 exited;	  /* what it leaves open is closed after this */
	__u64 start_ns;	  /* when it exited: when it had begun, as the kernel knows it */
};

struct act_name_key {
	__u32 pid;
	__u32 generation;
	__u64 address;
};

struct act_stack_key {
	__u32 pid;
	__u32 generation;
	__u64 id;
};

#define ACT_MAX_FUNCTIONS 256 /* of libraries, that are API calls by a provider */
#define ACT_MAX_CALL_DEPTH 8  /* of one in another, in one thread */
/* Stands for the name of function N of the map `functions` in act_api_begin and act_api_end. */
#define ACT_FUNCTION_NAMES 0xacce000000000000ull

/* (argument `first`) * (argument `second`, if not 0) * times; counted from 1, first 0 = unused. */
struct act_argument {
	__u32 first;
	__u32 second;
	__u64 times;
};

/* Value of the map `functions`. */
struct act_function {
	struct act_argument bytes;
	struct act_argument stream;
};

#endif /* DAEMON_BPF_RECORDS_H_ */
