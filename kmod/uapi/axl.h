/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * axl driver contract: ioctls on /dev/axlN.
 *
 * The driver, the runtime, the daemon and the tests include this file.
 *
 * Each argument struct starts with its own size. User space sets size to
 * sizeof() of the struct it was compiled with; a longer struct is accepted if
 * the bytes the kernel does not know are zero (E2BIG otherwise), a shorter one
 * if it reaches the first version's end (EINVAL otherwise). Reserved fields and
 * unknown flags must be zero. Output fields are written back up to size.
 *
 * errno has the same meaning for every ioctl:
 *   EINVAL    a field is out of range, reserved or misaligned
 *   E2BIG     a newer struct with fields this kernel does not know
 *   EFAULT    a user pointer is bad
 *   ENOENT    no such context, queue, buffer handle or job
 *   ENOTTY    no such ioctl
 *   EPERM     needs CAP_PERFMON (device-wide trace ring, jobs and clients of others), or
 *             the file belongs to another process (JOIN)
 *   EBUSY     trace ring taken, or buffer in use by a job
 *   EOPNOTSUPP the machine does not support it: memory that the DMA layer would
 *             bounce, or a trace ring above 2^14 records without an IOMMU
 *   ENOSPC    out of contexts, queues, handles or device memory
 *   EDQUOT    some are free, but the user has used up their share (user_percent)
 *   ENOMEM    out of host memory, or of the user's share of it (host_percent,
 *             user_percent, RLIMIT_MEMLOCK for pinned pages, the memory cgroup)
 *   EMFILE    a fence is requested and the process has no file descriptor left
 *   EAGAIN    submission ring full and AXL_SUBMIT_NONBLOCK given
 *   ETIMEDOUT the deadline passed
 *   EINTR     a signal came
 *   EIO       the job failed, or its context was lost (see status)
 *   ENODEV    the device is gone; every later call on the fd says so too
 *
 * Times are CLOCK_MONOTONIC nanoseconds unless a name says ticks (device clock).
 */
#ifndef _UAPI_AXL_H
#define _UAPI_AXL_H

#include "axl_hw.h"

#ifndef __VMLINUX_H__
#include <linux/ioctl.h>
#endif

#define AXL_UAPI_VERSION	2
#define AXL_NAME_BYTES		32
/*
 * Each open() of a device gives the file a client number, which is unique among all files of all
 * devices since the driver was loaded. The driver writes it into the upper half of every
 * correlation id that the file passes, so the id identifies the client even if user space lies. The
 * lower half belongs to the caller and identifies the call. A client is one instance of a program:
 * files of one process may be joined to one client (AXL_IOCTL_JOIN); a forked child or another
 * program opens its own files. The tracepoint axl_client and AXL_IOCTL_CLIENTS tell which process a
 * client is.
 */
#define AXL_CLIENT_MAX		0x7fffffffu	/* of client numbers, which begin at 1 */

/* AXL_IOCTL_INFO: identity, limits and the model's rated speeds. */
struct axl_info {
	__u32 size;
	__u32 uapi_version;
	__u32 hw_version;
	__u32 features;		/* AXL_FEATURE_* */
	__u32 device_index;	/* N of /dev/axlN */
	__u32 num_queues;
	__u32 num_contexts;
	__u32 num_counters;
	__u32 num_trace_rings;
	__u32 clock_bits;
	__u64 clock_hz;		/* nominal */
	__u64 dram_bytes;
	__u64 dram_free_bytes;
	__u64 scratch_bytes;
	__u64 dram_bytes_per_s;
	__u64 engine_hz;
	__u32 matrix_rows;
	__u32 matrix_cols;
	__u32 vector_lanes;
	__u32 pci_domain;
	__u32 pci_bus;
	__u32 pci_devfn;
	__u32 link_speed;	/* PCIe generation now */
	__u32 link_width;	/* lanes now */
	__u32 link_speed_max;
	__u32 link_width_max;
	__s32 numa_node;
	__u32 client;		/* this file's number, the upper half of its correlation ids */
	char pci_name[AXL_NAME_BYTES];	/* 0000:00:04.0 */
};

/* AXL_IOCTL_CTX_CREATE: a context with its own queues and semaphores. */
struct axl_ctx_create {
	__u32 size;
	__u32 flags;		/* 0 */
	__u32 num_queues;	/* 1 to num_queues */
	__u32 priority;		/* 0 to 3; above 1 needs CAP_SYS_NICE */
	__u32 ctx;		/* out: handle within this fd */
	__u32 num_sems;		/* out: semaphores 0 .. num_sems - 1 are its own */
	__u32 hw_context;	/* out: number in trace records */
	__u32 reserved;
};

struct axl_ctx_destroy {
	__u32 size;
	__u32 ctx;
};

#define AXL_BUF_DEVICE		0	/* on-board DRAM */
#define AXL_BUF_HOST		1	/* DMA-coherent host memory, mappable */
#define AXL_BUF_USER		2	/* pinned user pages */
#define AXL_BUF_SCRATCH		3	/* on-chip scratchpad */

/* AXL_IOCTL_BUF_CREATE */
struct axl_buf_create {
	__u32 size;
	__u32 kind;		/* AXL_BUF_* */
	__u64 bytes;		/* rounded up to a page */
	__u64 user_addr;	/* AXL_BUF_USER: page aligned */
	__u32 flags;		/* 0 */
	__u32 handle;		/* out: for AXL_REF, within this fd, never 0 */
	__u64 mmap_offset;	/* out: AXL_BUF_HOST only */
	__u64 device_addr;	/* out: AXL_BUF_DEVICE and AXL_BUF_SCRATCH */
};

struct axl_buf_destroy {
	__u32 size;
	__u32 handle;
};

#define AXL_SUBMIT_NONBLOCK	(1u << 0)	/* EAGAIN instead of waiting for ring space */
#define AXL_SUBMIT_FENCE_FD	(1u << 1)	/* return a pollable fence */
#define AXL_SUBMIT_FLAGS_ALL	0x3u
#define AXL_MAX_JOB_COMMANDS	1024

/* AXL_IOCTL_SUBMIT: commands run as one job; jobs of a queue complete in order. */
struct axl_submit {
	__u32 size;
	__u32 flags;		/* AXL_SUBMIT_* */
	__u32 ctx;
	__u32 queue;		/* 0 .. num_queues - 1 of the context */
	__u64 cmds;		/* user pointer to struct axl_desc[num_cmds] */
	__u32 num_cmds;		/* 1 to AXL_MAX_JOB_COMMANDS */
	__u32 cmd_bytes;	/* sizeof(struct axl_desc) */
	__u64 correlation;	/* the call's id, carried to every event; out: with the client */
	__u64 sequence;		/* out: 1, 2, 3 ... within the queue; what WAIT takes */
	__u32 job;		/* out: the device's job number */
	__s32 fence_fd;		/* out with AXL_SUBMIT_FENCE_FD, else -1 */
};

/*
 * The result of read() on a fence descriptor, which blocks unless O_NONBLOCK is set. poll() reports
 * POLLIN once the job is done, and POLLERR in addition if it failed.
 */
struct axl_fence_status {
	__u64 sequence;
	__u64 device_ticks;	/* when its completion was written; 0 = not known */
	__u32 status;		/* enum axl_status */
	__u32 error_index;	/* guilty command */
};

/* AXL_IOCTL_WAIT waits until the queue has completed `sequence`. */
struct axl_wait {
	__u32 size;
	__u32 ctx;
	__u32 queue;
	__u32 flags;		/* 0 */
	__u64 sequence;
	__s64 deadline_ns;	/* absolute CLOCK_MONOTONIC; negative = no deadline */
	__u64 correlation;	/* the waiting call's id, for the wake event; out: as above */
	__u32 status;		/* out: enum axl_status of that job */
	__u32 error_index;	/* out: guilty command when EIO */
	__u64 device_ticks;	/* out: when its completion was written; 0 = no longer known */
};

/* One snapshot of the counters, bracketed by two host times. */
struct axl_counters_read {
	__u32 size;
	__u32 flags;		/* 0 */
	__u64 values;		/* user pointer to __u64[count] */
	__u32 count;		/* in: capacity of values, out: number written */
	__u32 first;
	__u64 host_before_ns;
	__u64 host_after_ns;
	__u64 device_ticks;
};

/* The device clock bracketed by two host reads; the pair of TSC values brackets tighter. */
struct axl_clock_sample {
	__u32 size;
	__u32 flags;		/* in: 0; out: AXL_CLOCK_* */
#define AXL_CLOCK_PTM		(1u << 0)	/* ptm_* are valid */
	__u64 host_before_ns;
	__u64 device_ticks;
	__u64 host_after_ns;
	__u64 tsc_before;
	__u64 tsc_after;
	__u64 ptm_device_ticks;
	__u64 ptm_tsc;
	__u64 ptm_host_ns;	/* ptm_tsc on CLOCK_MONOTONIC */
};

/*
 * AXL_IOCTL_TRACE_OPEN gives this fd a trace ring until the fd is closed. User space maps map_bytes
 * at mmap_offset (struct axl_trace_header, then the records). poll() on the fd reports POLLIN once
 * `watermark` records are available.
 */
struct axl_trace_open {
	__u32 size;
	__u32 ring;		/* AXL_TRACE_RING_DEVICE, _CTX or _DRIVER */
#define AXL_TRACE_RING_CTX	1	/* the ring of context ctx of this fd */
#define AXL_TRACE_RING_DRIVER	2	/* the driver's own, see struct axl_rec_host_job */
	__u32 ctx;
	__u32 log2_records;	/* 5 to 16; the device's: above 14 with an IOMMU */
	__u32 classes;		/* AXL_REC_CLASS() mask */
	__u32 watermark;
	__u64 sample_period_ns;	/* period of counter snapshots, 0 = off, else at least 10 us */
	__u64 mmap_offset;	/* out */
	__u64 map_bytes;	/* out */
	/*
	 * In: 0. Out: the host time that a record in the driver's ring costs, measured by this
	 * call.
	 */
	__u32 job_ps;
	__u32 wait_ps;
};

/*
 * The driver's own ring, AXL_TRACE_RING_DRIVER, has one record for each completed job and one for
 * each completed wait, with the contents of the tracepoints axl_job and axl_wake. It needs
 * CAP_PERFMON; classes and sample_period_ns must be 0. Header, indexes and losses are as in the
 * device's rings, but the driver writes all of it.
 *
 * A stamp is a value of the CPU's TSC if header.stamp_khz, its rate, is not 0, else CLOCK_MONOTONIC
 * in ns. Each stamp is close to another one whose time is given, and is converted by its distance
 * from that one. 0 means unknown: tracing was off at that time.
 */
enum axl_host_rec_type {
	AXL_REC_HOST_JOB = 16,
	AXL_REC_HOST_WAIT = 17,
};

struct axl_rec_host_job {
	struct axl_rec_head h;	/* h.time: stamp, the completion was consumed; 0 = in flight */
	__u64 seq;
	__u64 correlation;
	__u64 copy_bytes;
	__u64 device_ticks;
	__u64 submit;		/* stamp: the ioctl was entered */
	__u64 doorbell;		/* stamp: the doorbell was about to be written */
	__u64 submit_end;	/* stamp: the driver was done */
	__u64 doorbell_ns;	/* CLOCK_MONOTONIC at doorbell */
	__u64 irq;		/* stamp: the handler had seen it, 0 = found otherwise */
	__u64 anchor;		/* stamp: an instant near to irq and h.time */
	__u64 anchor_ns;	/* CLOCK_MONOTONIC then or a little later: irq is never too early */
	__u32 job;
	__u16 num_cmds;
	__u16 submit_cpu;
	__u32 pid;		/* submitter's pid as the ring's opener sees it; 0 = unknown */
	__u32 tid;
	__u32 status;		/* enum axl_status, 0xffffffff = in flight */
	__u32 cpu;		/* that took the completion */
};

struct axl_rec_host_wait {
	struct axl_rec_head h;	/* h.time: CLOCK_MONOTONIC in ns, the thread goes on */
	__u64 seq;
	__u64 correlation;	/* of the job */
	__u64 wait_correlation;	/* of the waiting call */
	__u64 wait_ns;
	__u32 job;
	__u32 status;		/* enum axl_status, 0xffffffff = it gave up */
	__u32 pid;
	__u32 tid;
	__u32 cpu;
	__u32 reserved0;
	__u64 reserved1[7];
};

union axl_host_record {
	struct axl_rec_head h;
	struct axl_rec_host_job host_job;
	struct axl_rec_host_wait host_wait;
};

struct axl_trace_close {
	__u32 size;
	__u32 reserved;
};

/*
 * AXL_IOCTL_JOBS_TRACE makes the tracepoint axl_job fire for each job in flight, with status
 * 0xffff, for tracers that start or stop listening to it. Needs CAP_PERFMON.
 */
struct axl_jobs_trace {
	__u32 size;
	__u32 jobs;		/* out: how many there were */
};

/*
 * AXL_IOCTL_JOIN gives this file the client number of another file of any axl device that the same
 * process opened. It fails with EBUSY once this file has created a context.
 */
struct axl_join {
	__u32 size;
	__s32 fd;		/* the other file; EINVAL if it is not a file of this driver */
	__u32 client;		/* out: the client number of both files */
	__u32 reserved;
};

/* An open file of the device. */
struct axl_client {
	__u32 file;		/* its own number */
	__u32 client;		/* the number in its ids: its own, or that of the file it joined */
	__u32 pid;		/* opener's pid as the caller sees it; 0 = gone, or not visible */
	__u32 reserved;
};

#define AXL_MAX_CLIENTS		64	/* of one call */

/* AXL_IOCTL_CLIENTS lists the device's open files by number. Needs CAP_PERFMON. */
struct axl_clients {
	__u32 size;
	__u32 after;		/* only files with a higher number than this; 0 = from the first */
	__u64 clients;		/* user pointer to struct axl_client[count] */
	__u32 count;		/* in: capacity, 1 to AXL_MAX_CLIENTS; out: number written */
	__u32 reserved;
};

#define AXL_IOCTL_BASE		'x'
#define AXL_IOCTL_INFO		_IOWR(AXL_IOCTL_BASE, 0x80, struct axl_info)
#define AXL_IOCTL_CTX_CREATE	_IOWR(AXL_IOCTL_BASE, 0x81, struct axl_ctx_create)
#define AXL_IOCTL_CTX_DESTROY	_IOW(AXL_IOCTL_BASE, 0x82, struct axl_ctx_destroy)
#define AXL_IOCTL_BUF_CREATE	_IOWR(AXL_IOCTL_BASE, 0x83, struct axl_buf_create)
#define AXL_IOCTL_BUF_DESTROY	_IOW(AXL_IOCTL_BASE, 0x84, struct axl_buf_destroy)
#define AXL_IOCTL_SUBMIT	_IOWR(AXL_IOCTL_BASE, 0x85, struct axl_submit)
#define AXL_IOCTL_WAIT		_IOWR(AXL_IOCTL_BASE, 0x86, struct axl_wait)
#define AXL_IOCTL_COUNTERS	_IOWR(AXL_IOCTL_BASE, 0x87, struct axl_counters_read)
#define AXL_IOCTL_CLOCK_SAMPLE	_IOWR(AXL_IOCTL_BASE, 0x88, struct axl_clock_sample)
#define AXL_IOCTL_TRACE_OPEN	_IOWR(AXL_IOCTL_BASE, 0x89, struct axl_trace_open)
#define AXL_IOCTL_TRACE_CLOSE	_IOW(AXL_IOCTL_BASE, 0x8a, struct axl_trace_close)
#define AXL_IOCTL_JOBS_TRACE	_IOWR(AXL_IOCTL_BASE, 0x8b, struct axl_jobs_trace)
#define AXL_IOCTL_JOIN		_IOWR(AXL_IOCTL_BASE, 0x8c, struct axl_join)
#define AXL_IOCTL_CLIENTS	_IOWR(AXL_IOCTL_BASE, 0x8d, struct axl_clients)

AXL_STATIC_ASSERT(sizeof(struct axl_info) == 168, "axl_info");
AXL_STATIC_ASSERT(sizeof(struct axl_ctx_create) == 32, "axl_ctx_create");
AXL_STATIC_ASSERT(sizeof(struct axl_ctx_destroy) == 8, "axl_ctx_destroy");
AXL_STATIC_ASSERT(sizeof(struct axl_buf_create) == 48, "axl_buf_create");
AXL_STATIC_ASSERT(sizeof(struct axl_buf_destroy) == 8, "axl_buf_destroy");
AXL_STATIC_ASSERT(sizeof(struct axl_submit) == 56, "axl_submit");
AXL_STATIC_ASSERT(sizeof(struct axl_fence_status) == 24, "axl_fence_status");
AXL_STATIC_ASSERT(sizeof(struct axl_wait) == 56, "axl_wait");
AXL_STATIC_ASSERT(sizeof(struct axl_counters_read) == 48, "axl_counters_read");
AXL_STATIC_ASSERT(sizeof(struct axl_clock_sample) == 72, "axl_clock_sample");
AXL_STATIC_ASSERT(sizeof(struct axl_trace_open) == 56, "axl_trace_open");
AXL_STATIC_ASSERT(sizeof(struct axl_rec_host_job) == 128, "axl_rec_host_job");
AXL_STATIC_ASSERT(sizeof(struct axl_rec_host_wait) == 128, "axl_rec_host_wait");
AXL_STATIC_ASSERT(sizeof(struct axl_trace_close) == 8, "axl_trace_close");
AXL_STATIC_ASSERT(sizeof(struct axl_jobs_trace) == 8, "axl_jobs_trace");
AXL_STATIC_ASSERT(sizeof(struct axl_join) == 16, "axl_join");
AXL_STATIC_ASSERT(sizeof(struct axl_client) == 16, "axl_client");
AXL_STATIC_ASSERT(sizeof(struct axl_clients) == 24, "axl_clients");

#endif /* _UAPI_AXL_H */
