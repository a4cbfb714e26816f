/* SPDX-License-Identifier: GPL-2.0 */
/*
 * axl.ko: tracepoints of system "axl".
 *
 * Names, field names, order and types are an ABI (docs/driver.md), both for
 * tracefs and for BPF programs, whose arguments have the same order: scalars
 * only, no kernel pointers. Raw values are stored; names appear on printing.
 *
 * dev is N of /dev/axlN, ctx the hardware context, queue the hardware queue,
 * job the driver's job number, seq the sequence within the queue, correlation
 * the caller's id. 0xffffffff stands for "none".
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM axl

#if !defined(_AXL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _AXL_TRACE_H

#include <linux/dma-direction.h>
#include <linux/errno.h>
#include <linux/tracepoint.h>

#include "uapi/axl.h"

#define axl_status_names						\
	{ AXL_ST_OK, "ok" }, { AXL_ST_BAD_OPCODE, "bad_opcode" },	\
	{ AXL_ST_BAD_FIELD, "bad_field" },				\
	{ AXL_ST_BAD_ADDRESS, "bad_address" },				\
	{ AXL_ST_DMA_ERROR, "dma_error" }, { AXL_ST_POISONED, "poisoned" }, \
	{ AXL_ST_RING_ERROR, "ring_error" }, { AXL_ST_HANG, "hang" },	\
	{ AXL_ST_CANCELED, "canceled" }, { 0xffffffff, "none" }
TRACE_DEFINE_ENUM(AXL_ST_OK);
TRACE_DEFINE_ENUM(AXL_ST_BAD_OPCODE);
TRACE_DEFINE_ENUM(AXL_ST_BAD_FIELD);
TRACE_DEFINE_ENUM(AXL_ST_BAD_ADDRESS);
TRACE_DEFINE_ENUM(AXL_ST_DMA_ERROR);
TRACE_DEFINE_ENUM(AXL_ST_POISONED);
TRACE_DEFINE_ENUM(AXL_ST_RING_ERROR);
TRACE_DEFINE_ENUM(AXL_ST_HANG);
TRACE_DEFINE_ENUM(AXL_ST_CANCELED);

#define axl_engine_names						\
	{ AXL_ENGINE_H2D, "h2d" }, { AXL_ENGINE_D2H, "d2h" },		\
	{ AXL_ENGINE_MATRIX, "matrix" }, { AXL_ENGINE_VECTOR, "vector" }
TRACE_DEFINE_ENUM(AXL_ENGINE_H2D);
TRACE_DEFINE_ENUM(AXL_ENGINE_D2H);
TRACE_DEFINE_ENUM(AXL_ENGINE_MATRIX);
TRACE_DEFINE_ENUM(AXL_ENGINE_VECTOR);

#define axl_opcode_names						\
	{ AXL_OP_NOP, "nop" }, { AXL_OP_COPY_H2D, "copy_h2d" },		\
	{ AXL_OP_COPY_D2H, "copy_d2h" }, { AXL_OP_MATMUL, "matmul" },	\
	{ AXL_OP_VEC_FILL, "vec_fill" }, { AXL_OP_VEC_COPY, "vec_copy" }, \
	{ AXL_OP_VEC_ADD, "vec_add" }, { AXL_OP_VEC_MUL, "vec_mul" },	\
	{ AXL_OP_VEC_SCALE, "vec_scale" }, { AXL_OP_VEC_SILU, "vec_silu" }, \
	{ AXL_OP_VEC_SILU_MUL, "vec_silu_mul" },			\
	{ AXL_OP_VEC_GELU, "vec_gelu" },				\
	{ AXL_OP_VEC_RMSNORM, "vec_rmsnorm" },				\
	{ AXL_OP_VEC_SOFTMAX, "vec_softmax" },				\
	{ AXL_OP_VEC_ROPE, "vec_rope" }, { AXL_OP_VEC_GATHER, "vec_gather" }, \
	{ AXL_OP_VEC_ARGMAX, "vec_argmax" }, { AXL_OP_VEC_SUM, "vec_sum" }
TRACE_DEFINE_ENUM(AXL_OP_NOP);
TRACE_DEFINE_ENUM(AXL_OP_COPY_H2D);
TRACE_DEFINE_ENUM(AXL_OP_COPY_D2H);
TRACE_DEFINE_ENUM(AXL_OP_MATMUL);
TRACE_DEFINE_ENUM(AXL_OP_VEC_FILL);
TRACE_DEFINE_ENUM(AXL_OP_VEC_COPY);
TRACE_DEFINE_ENUM(AXL_OP_VEC_ADD);
TRACE_DEFINE_ENUM(AXL_OP_VEC_MUL);
TRACE_DEFINE_ENUM(AXL_OP_VEC_SCALE);
TRACE_DEFINE_ENUM(AXL_OP_VEC_SILU);
TRACE_DEFINE_ENUM(AXL_OP_VEC_SILU_MUL);
TRACE_DEFINE_ENUM(AXL_OP_VEC_GELU);
TRACE_DEFINE_ENUM(AXL_OP_VEC_RMSNORM);
TRACE_DEFINE_ENUM(AXL_OP_VEC_SOFTMAX);
TRACE_DEFINE_ENUM(AXL_OP_VEC_ROPE);
TRACE_DEFINE_ENUM(AXL_OP_VEC_GATHER);
TRACE_DEFINE_ENUM(AXL_OP_VEC_ARGMAX);
TRACE_DEFINE_ENUM(AXL_OP_VEC_SUM);

#define axl_direction_names						\
	{ DMA_BIDIRECTIONAL, "bidirectional" }, { DMA_TO_DEVICE, "to_device" }, \
	{ DMA_FROM_DEVICE, "from_device" }
TRACE_DEFINE_ENUM(DMA_BIDIRECTIONAL);
TRACE_DEFINE_ENUM(DMA_TO_DEVICE);
TRACE_DEFINE_ENUM(DMA_FROM_DEVICE);

#define axl_kind_names							\
	{ AXL_BUF_DEVICE, "device" }, { AXL_BUF_HOST, "host" },		\
	{ AXL_BUF_USER, "user" }, { AXL_BUF_SCRATCH, "scratch" }

/* What a submission may return, as positive numbers: tools cannot parse others. */
#define axl_error_names							\
	{ 0, "none" }, { ENOENT, "ENOENT" }, { EINTR, "EINTR" }, { EIO, "EIO" }, \
	{ EAGAIN, "EAGAIN" }, { ENOMEM, "ENOMEM" }, { EFAULT, "EFAULT" }, \
	{ ENODEV, "ENODEV" }, { EINVAL, "EINVAL" }, { ENOSPC, "ENOSPC" }

#define AXL_JOB_PROTO u32 dev, u32 ctx, u32 queue, u32 job, u64 seq, u64 correlation
#define AXL_JOB_FIELDS				\
		__field(__u32, dev)		\
		__field(__u32, ctx)		\
		__field(__u32, queue)		\
		__field(__u32, job)		\
		__field(__u64, seq)		\
		__field(__u64, correlation)
#define AXL_JOB_ASSIGN				\
		__entry->dev = dev;		\
		__entry->ctx = ctx;		\
		__entry->queue = queue;		\
		__entry->job = job;		\
		__entry->seq = seq;		\
		__entry->correlation = correlation
#define AXL_JOB_FORMAT "axl%u ctx=%u queue=%u job=%u seq=%llu correlation=%#llx "
#define AXL_JOB_VALUES							\
	__entry->dev, __entry->ctx, __entry->queue, __entry->job, __entry->seq, \
	__entry->correlation

/*
 * The submit ioctl, entered at host_ns (CLOCK_MONOTONIC), has taken the caller's
 * commands, or refused them, and has given the job its number.
 */
TRACE_EVENT(axl_submit,
	TP_PROTO(AXL_JOB_PROTO, u32 num_cmds, u64 copy_bytes, u64 host_ns),
	TP_ARGS(dev, ctx, queue, job, seq, correlation, num_cmds, copy_bytes, host_ns),
	TP_STRUCT__entry(
		AXL_JOB_FIELDS
		__field(__u32, num_cmds)
		__field(__u64, copy_bytes)
		__field(__u64, host_ns)
	),
	TP_fast_assign(
		AXL_JOB_ASSIGN;
		__entry->num_cmds = num_cmds;
		__entry->copy_bytes = copy_bytes;
		__entry->host_ns = host_ns;
	),
	TP_printk(AXL_JOB_FORMAT "num_cmds=%u copy_bytes=%llu host_ns=%llu",
		  AXL_JOB_VALUES, __entry->num_cmds, __entry->copy_bytes, __entry->host_ns)
);

/*
 * The doorbell write, made at host_ns (CLOCK_MONOTONIC). The event follows the
 * write, so that tracing does not delay it.
 */
TRACE_EVENT(axl_doorbell,
	TP_PROTO(AXL_JOB_PROTO, u32 tail, u64 host_ns),
	TP_ARGS(dev, ctx, queue, job, seq, correlation, tail, host_ns),
	TP_STRUCT__entry(
		AXL_JOB_FIELDS
		__field(__u32, tail)
		__field(__u64, host_ns)
	),
	TP_fast_assign(
		AXL_JOB_ASSIGN;
		__entry->tail = tail;
		__entry->host_ns = host_ns;
	),
	TP_printk(AXL_JOB_FORMAT "tail=%u host_ns=%llu", AXL_JOB_VALUES, __entry->tail,
		  __entry->host_ns)
);

/* The submit ioctl returns ret. */
TRACE_EVENT(axl_submit_end,
	TP_PROTO(AXL_JOB_PROTO, s32 ret),
	TP_ARGS(dev, ctx, queue, job, seq, correlation, ret),
	TP_STRUCT__entry(
		AXL_JOB_FIELDS
		__field(__s32, ret)
	),
	TP_fast_assign(
		AXL_JOB_ASSIGN;
		__entry->ret = ret;
	),
	TP_printk(AXL_JOB_FORMAT "ret=%d error=%s", AXL_JOB_VALUES, __entry->ret,
		  __print_symbolic((u32)(-__entry->ret), axl_error_names))
);

/* A submission was refused after the job had its number: it never became the device's. */
TRACE_EVENT(axl_refuse,
	TP_PROTO(AXL_JOB_PROTO, u32 num_cmds, u64 copy_bytes, u64 host_ns, s32 ret),
	TP_ARGS(dev, ctx, queue, job, seq, correlation, num_cmds, copy_bytes, host_ns, ret),
	TP_STRUCT__entry(
		AXL_JOB_FIELDS
		__field(__u32, num_cmds)
		__field(__u64, copy_bytes)
		__field(__u64, host_ns)
		__field(__s32, ret)
	),
	TP_fast_assign(
		AXL_JOB_ASSIGN;
		__entry->num_cmds = num_cmds;
		__entry->copy_bytes = copy_bytes;
		__entry->host_ns = host_ns;
		__entry->ret = ret;
	),
	TP_printk(AXL_JOB_FORMAT "num_cmds=%u copy_bytes=%llu host_ns=%llu ret=%d error=%s",
		  AXL_JOB_VALUES, __entry->num_cmds, __entry->copy_bytes, __entry->host_ns,
		  __entry->ret, __print_symbolic((u32)(-__entry->ret), axl_error_names))
);

/*
 * All that the driver knows of a job, once, when it is over: for whoever would
 * else need axl_submit, axl_doorbell, axl_submit_end, axl_irq and axl_complete. Also for
 * each job in flight when AXL_IOCTL_JOBS_TRACE asks, with status 0xffff and complete_ns 0.
 * Times are CLOCK_MONOTONIC: the ioctl entered, the doorbell written, the submission
 * noted, the handler entered that found the completion (0: none did), the
 * completion consumed. The first three, pid, tid, num_cmds and copy_bytes are 0 when the
 * tracepoint was off as the job was submitted.
 *
 * A BPF program can have twelve arguments, so several share one, from the lowest bits up:
 * where has dev, ctx, queue and status of 16 bits each, job_cmds job of 32 and num_cmds
 * and submit_cpu of 16, tid_pid two of 32.
 */
#define AXL_JOB_WHERE(dev, ctx, queue, status)				\
	((u64)(u16)(dev) | (u64)(u16)(ctx) << 16 | (u64)(u16)(queue) << 32 | \
	 (u64)(u16)(status) << 48)
#define AXL_WHICH_FORMAT "axl%u ctx=%u queue=%u status=%s job=%u num_cmds=%u submit_cpu=%u "
#define AXL_WHOSE_FORMAT "seq=%llu correlation=%#llx tid=%u pid=%u copy_bytes=%llu "
#define AXL_BEGIN_FORMAT "device_ticks=%llu submit_ns=%llu doorbell_ns=%llu submit_end_ns=%llu "
#define AXL_END_FORMAT "irq_ns=%llu complete_ns=%llu"
TRACE_EVENT(axl_job,
	TP_PROTO(u64 where, u64 job_cmds, u64 seq, u64 correlation, u64 tid_pid, u64 copy_bytes,
		 u64 device_ticks, u64 submit_ns, u64 doorbell_ns, u64 submit_end_ns, u64 irq_ns,
		 u64 complete_ns),
	TP_ARGS(where, job_cmds, seq, correlation, tid_pid, copy_bytes, device_ticks, submit_ns,
		doorbell_ns, submit_end_ns, irq_ns, complete_ns),
	TP_STRUCT__entry(
		__field(__u16, dev)
		__field(__u16, ctx)
		__field(__u16, queue)
		__field(__u16, status)
		__field(__u32, job)
		__field(__u16, num_cmds)
		__field(__u16, submit_cpu)
		__field(__u64, seq)
		__field(__u64, correlation)
		__field(__u32, tid)
		__field(__u32, pid)
		__field(__u64, copy_bytes)
		__field(__u64, device_ticks)
		__field(__u64, submit_ns)
		__field(__u64, doorbell_ns)
		__field(__u64, submit_end_ns)
		__field(__u64, irq_ns)
		__field(__u64, complete_ns)
	),
	TP_fast_assign(
		__entry->dev = where;
		__entry->ctx = where >> 16;
		__entry->queue = where >> 32;
		__entry->status = where >> 48;
		__entry->job = job_cmds;
		__entry->num_cmds = job_cmds >> 32;
		__entry->submit_cpu = job_cmds >> 48;
		__entry->seq = seq;
		__entry->correlation = correlation;
		__entry->tid = tid_pid;
		__entry->pid = tid_pid >> 32;
		__entry->copy_bytes = copy_bytes;
		__entry->device_ticks = device_ticks;
		__entry->submit_ns = submit_ns;
		__entry->doorbell_ns = doorbell_ns;
		__entry->submit_end_ns = submit_end_ns;
		__entry->irq_ns = irq_ns;
		__entry->complete_ns = complete_ns;
	),
	TP_printk(AXL_WHICH_FORMAT AXL_WHOSE_FORMAT AXL_BEGIN_FORMAT AXL_END_FORMAT,
		  __entry->dev, __entry->ctx, __entry->queue,
		  __print_symbolic(__entry->status, axl_status_names, { 0xffff, "in_flight" }),
		  __entry->job, __entry->num_cmds, __entry->submit_cpu, __entry->seq,
		  __entry->correlation,
		  __entry->tid, __entry->pid, __entry->copy_bytes, __entry->device_ticks,
		  __entry->submit_ns, __entry->doorbell_ns, __entry->submit_end_ns,
		  __entry->irq_ns, __entry->complete_ns)
);

/* How a job ended, and when by the device's clock (0: the device did not say). */
DECLARE_EVENT_CLASS(axl_job_end,
	TP_PROTO(AXL_JOB_PROTO, u32 status, u64 device_ticks),
	TP_ARGS(dev, ctx, queue, job, seq, correlation, status, device_ticks),
	TP_STRUCT__entry(
		AXL_JOB_FIELDS
		__field(__u32, status)
		__field(__u64, device_ticks)
	),
	TP_fast_assign(
		AXL_JOB_ASSIGN;
		__entry->status = status;
		__entry->device_ticks = device_ticks;
	),
	TP_printk(AXL_JOB_FORMAT "status=%s device_ticks=%llu", AXL_JOB_VALUES,
		  __print_symbolic(__entry->status, axl_status_names), __entry->device_ticks)
);
/* A completion entry was consumed, or the driver ended the job itself (device_ticks 0). */
DEFINE_EVENT(axl_job_end, axl_complete,
	TP_PROTO(AXL_JOB_PROTO, u32 status, u64 device_ticks),
	TP_ARGS(dev, ctx, queue, job, seq, correlation, status, device_ticks)
);
/* The job's fence is readable from now on. */
DEFINE_EVENT(axl_job_end, axl_fence_signal,
	TP_PROTO(AXL_JOB_PROTO, u32 status, u64 device_ticks),
	TP_ARGS(dev, ctx, queue, job, seq, correlation, status, device_ticks)
);

/* A submission that asked for a fence is about to be the device's. */
TRACE_EVENT(axl_fence_create,
	TP_PROTO(AXL_JOB_PROTO),
	TP_ARGS(dev, ctx, queue, job, seq, correlation),
	TP_STRUCT__entry(
		AXL_JOB_FIELDS
	),
	TP_fast_assign(
		AXL_JOB_ASSIGN;
	),
	TP_printk(AXL_JOB_FORMAT, AXL_JOB_VALUES)
);

/* A thread begins to wait for a sequence; wait_correlation names the waiting call. */
TRACE_EVENT(axl_wait,
	TP_PROTO(u32 dev, u32 ctx, u32 queue, u64 seq, u64 wait_correlation),
	TP_ARGS(dev, ctx, queue, seq, wait_correlation),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u32, ctx)
		__field(__u32, queue)
		__field(__u64, seq)
		__field(__u64, wait_correlation)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->ctx = ctx;
		__entry->queue = queue;
		__entry->seq = seq;
		__entry->wait_correlation = wait_correlation;
	),
	TP_printk("axl%u ctx=%u queue=%u seq=%llu wait_correlation=%#llx", __entry->dev,
		  __entry->ctx, __entry->queue, __entry->seq, __entry->wait_correlation)
);

/*
 * The waiter goes on; status 0xffffffff when it gave up before the job was done. It began
 * to wait at wait_ns (CLOCK_MONOTONIC); when there was nothing to wait for, no later than this.
 */
TRACE_EVENT(axl_wake,
	TP_PROTO(AXL_JOB_PROTO, u64 wait_correlation, u32 status, u64 wait_ns),
	TP_ARGS(dev, ctx, queue, job, seq, correlation, wait_correlation, status, wait_ns),
	TP_STRUCT__entry(
		AXL_JOB_FIELDS
		__field(__u64, wait_correlation)
		__field(__u32, status)
		__field(__u64, wait_ns)
	),
	TP_fast_assign(
		AXL_JOB_ASSIGN;
		__entry->wait_correlation = wait_correlation;
		__entry->status = status;
		__entry->wait_ns = wait_ns;
	),
	TP_printk(AXL_JOB_FORMAT "wait_correlation=%#llx status=%s wait_ns=%llu", AXL_JOB_VALUES,
		  __entry->wait_correlation,
		  __print_symbolic(__entry->status, axl_status_names), __entry->wait_ns)
);

/*
 * An interrupt handler was entered at host_ns (CLOCK_MONOTONIC) and found that
 * many completions; queue is 0xffffffff for device events.
 */
TRACE_EVENT(axl_irq,
	TP_PROTO(u32 dev, u32 queue, u32 vector, u32 completions, u64 host_ns),
	TP_ARGS(dev, queue, vector, completions, host_ns),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u32, queue)
		__field(__u32, vector)
		__field(__u32, completions)
		__field(__u64, host_ns)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->queue = queue;
		__entry->vector = vector;
		__entry->completions = completions;
		__entry->host_ns = host_ns;
	),
	TP_printk("axl%u queue=%d vector=%u completions=%u host_ns=%llu", __entry->dev,
		  (int)__entry->queue, __entry->vector, __entry->completions,
		  __entry->host_ns)
);

/*
 * An interrupt that brought no completion, its handler entered at host_ns: device
 * events (queue 0xffffffff, AXL_INT_* in causes), or nothing (causes 0).
 */
TRACE_EVENT(axl_irq_other,
	TP_PROTO(u32 dev, u32 queue, u32 vector, u32 causes, u64 host_ns),
	TP_ARGS(dev, queue, vector, causes, host_ns),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u32, queue)
		__field(__u32, vector)
		__field(__u32, causes)
		__field(__u64, host_ns)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->queue = queue;
		__entry->vector = vector;
		__entry->causes = causes;
		__entry->host_ns = host_ns;
	),
	TP_printk("axl%u queue=%d vector=%u causes=%#x host_ns=%llu", __entry->dev,
		  (int)__entry->queue, __entry->vector, __entry->causes, __entry->host_ns)
);

/* Host memory is given to, or taken from, the device; direction as in enum dma_data_direction. */
DECLARE_EVENT_CLASS(axl_dma,
	TP_PROTO(u32 dev, u32 ctx, u32 handle, u64 bytes, u32 direction, u64 correlation),
	TP_ARGS(dev, ctx, handle, bytes, direction, correlation),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u32, ctx)
		__field(__u32, handle)
		__field(__u64, bytes)
		__field(__u32, direction)
		__field(__u64, correlation)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->ctx = ctx;
		__entry->handle = handle;
		__entry->bytes = bytes;
		__entry->direction = direction;
		__entry->correlation = correlation;
	),
	TP_printk("axl%u ctx=%d handle=%u bytes=%llu direction=%s correlation=%#llx",
		  __entry->dev, (int)__entry->ctx, __entry->handle, __entry->bytes,
		  __print_symbolic(__entry->direction, axl_direction_names),
		  __entry->correlation)
);
DEFINE_EVENT(axl_dma, axl_dma_map,
	TP_PROTO(u32 dev, u32 ctx, u32 handle, u64 bytes, u32 direction, u64 correlation),
	TP_ARGS(dev, ctx, handle, bytes, direction, correlation)
);
DEFINE_EVENT(axl_dma, axl_dma_unmap,
	TP_PROTO(u32 dev, u32 ctx, u32 handle, u64 bytes, u32 direction, u64 correlation),
	TP_ARGS(dev, ctx, handle, bytes, direction, correlation)
);

TRACE_EVENT(axl_ctx,
	TP_PROTO(u32 dev, u32 ctx, u32 created),
	TP_ARGS(dev, ctx, created),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u32, ctx)
		__field(__u32, created)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->ctx = ctx;
		__entry->created = created;
	),
	TP_printk("axl%u ctx=%u created=%u", __entry->dev, __entry->ctx, __entry->created)
);

/* A hardware queue is given to a context, or taken back; entries: of its submission ring. */
TRACE_EVENT(axl_queue,
	TP_PROTO(u32 dev, u32 ctx, u32 queue, u32 entries, u32 created),
	TP_ARGS(dev, ctx, queue, entries, created),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u32, ctx)
		__field(__u32, queue)
		__field(__u32, entries)
		__field(__u32, created)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->ctx = ctx;
		__entry->queue = queue;
		__entry->entries = entries;
		__entry->created = created;
	),
	TP_printk("axl%u ctx=%u queue=%u entries=%u created=%u", __entry->dev, __entry->ctx,
		  __entry->queue, __entry->entries, __entry->created)
);

TRACE_EVENT(axl_buf,
	TP_PROTO(u32 dev, u32 handle, u32 kind, u64 bytes, u32 created),
	TP_ARGS(dev, handle, kind, bytes, created),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u32, handle)
		__field(__u32, kind)
		__field(__u64, bytes)
		__field(__u32, created)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->handle = handle;
		__entry->kind = kind;
		__entry->bytes = bytes;
		__entry->created = created;
	),
	TP_printk("axl%u handle=%u kind=%s bytes=%llu created=%u", __entry->dev, __entry->handle,
		  __print_symbolic(__entry->kind, axl_kind_names), __entry->bytes,
		  __entry->created)
);

/* A job made no progress for too long; its context is reset next. */
TRACE_EVENT(axl_timeout,
	TP_PROTO(u32 dev, u32 ctx, u32 queue, u32 job),
	TP_ARGS(dev, ctx, queue, job),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u32, ctx)
		__field(__u32, queue)
		__field(__u32, job)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->ctx = ctx;
		__entry->queue = queue;
		__entry->job = job;
	),
	TP_printk("axl%u ctx=%u queue=%u job=%u", __entry->dev, __entry->ctx, __entry->queue,
		  __entry->job)
);

/* One context is reset, or the whole device (ctx 0xffffffff). */
TRACE_EVENT(axl_reset,
	TP_PROTO(u32 dev, u32 ctx),
	TP_ARGS(dev, ctx),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u32, ctx)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->ctx = ctx;
	),
	TP_printk("axl%u ctx=%d", __entry->dev, (int)__entry->ctx)
);

/* The link's speed (PCIe generation) or width (lanes) changed. */
TRACE_EVENT(axl_link,
	TP_PROTO(u32 dev, u32 speed, u32 width),
	TP_ARGS(dev, speed, width),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u32, speed)
		__field(__u32, width)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->speed = speed;
		__entry->width = width;
	),
	TP_printk("axl%u gen=%u width=x%u", __entry->dev, __entry->speed, __entry->width)
);

/* The fields of struct axl_clock_sample; ptm_* are 0 without a PTM pair. */
TRACE_EVENT(axl_clock_sample,
	TP_PROTO(u32 dev, u64 host_before_ns, u64 device_ticks, u64 host_after_ns,
		 u64 tsc_before, u64 tsc_after, u64 ptm_device_ticks, u64 ptm_tsc,
		 u64 ptm_host_ns),
	TP_ARGS(dev, host_before_ns, device_ticks, host_after_ns, tsc_before, tsc_after,
		ptm_device_ticks, ptm_tsc, ptm_host_ns),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u64, host_before_ns)
		__field(__u64, device_ticks)
		__field(__u64, host_after_ns)
		__field(__u64, tsc_before)
		__field(__u64, tsc_after)
		__field(__u64, ptm_device_ticks)
		__field(__u64, ptm_tsc)
		__field(__u64, ptm_host_ns)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->host_before_ns = host_before_ns;
		__entry->device_ticks = device_ticks;
		__entry->host_after_ns = host_after_ns;
		__entry->tsc_before = tsc_before;
		__entry->tsc_after = tsc_after;
		__entry->ptm_device_ticks = ptm_device_ticks;
		__entry->ptm_tsc = ptm_tsc;
		__entry->ptm_host_ns = ptm_host_ns;
	),
	TP_printk("axl%u host=[%llu, %llu] device_ticks=%llu tsc=[%llu, %llu] ptm=%llu/%llu/%llu",
		  __entry->dev, __entry->host_before_ns, __entry->host_after_ns,
		  __entry->device_ticks, __entry->tsc_before, __entry->tsc_after,
		  __entry->ptm_device_ticks, __entry->ptm_tsc, __entry->ptm_host_ns)
);

/* A counter snapshot was taken for user space. */
TRACE_EVENT(axl_counter_sample,
	TP_PROTO(u32 dev, u64 host_before_ns, u64 device_ticks, u64 host_after_ns, u32 first,
		 u32 count),
	TP_ARGS(dev, host_before_ns, device_ticks, host_after_ns, first, count),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u64, host_before_ns)
		__field(__u64, device_ticks)
		__field(__u64, host_after_ns)
		__field(__u32, first)
		__field(__u32, count)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->host_before_ns = host_before_ns;
		__entry->device_ticks = device_ticks;
		__entry->host_after_ns = host_after_ns;
		__entry->first = first;
		__entry->count = count;
	),
	TP_printk("axl%u host=[%llu, %llu] ns device_ticks=%llu first=%u count=%u",
		  __entry->dev, __entry->host_before_ns, __entry->host_after_ns,
		  __entry->device_ticks, __entry->first, __entry->count)
);

/*
 * A command as the device recorded it, when the driver reads the record: after
 * the command's end. Only while sysfs' trace_commands is on (axl_cmd_trace.c).
 */
#define AXL_CMD_FORMAT "index=%u engine=%s opcode=%s status=%s device_ticks=%llu"
DECLARE_EVENT_CLASS(axl_cmd,
	TP_PROTO(u32 dev, u32 ctx, u32 queue, u32 job, u64 correlation, u32 index, u32 engine,
		 u32 opcode, u32 status, u64 device_ticks),
	TP_ARGS(dev, ctx, queue, job, correlation, index, engine, opcode, status, device_ticks),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u32, ctx)
		__field(__u32, queue)
		__field(__u32, job)
		__field(__u64, correlation)
		__field(__u32, index)
		__field(__u32, engine)
		__field(__u32, opcode)
		__field(__u32, status)
		__field(__u64, device_ticks)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->ctx = ctx;
		__entry->queue = queue;
		__entry->job = job;
		__entry->correlation = correlation;
		__entry->index = index;
		__entry->engine = engine;
		__entry->opcode = opcode;
		__entry->status = status;
		__entry->device_ticks = device_ticks;
	),
	TP_printk("axl%u ctx=%u queue=%u job=%u correlation=%#llx " AXL_CMD_FORMAT,
		  __entry->dev, __entry->ctx, __entry->queue, __entry->job,
		  __entry->correlation, __entry->index,
		  __print_symbolic(__entry->engine, axl_engine_names),
		  __print_symbolic(__entry->opcode, axl_opcode_names),
		  __print_symbolic(__entry->status, axl_status_names), __entry->device_ticks)
);
DEFINE_EVENT(axl_cmd, axl_cmd_start,
	TP_PROTO(u32 dev, u32 ctx, u32 queue, u32 job, u64 correlation, u32 index, u32 engine,
		 u32 opcode, u32 status, u64 device_ticks),
	TP_ARGS(dev, ctx, queue, job, correlation, index, engine, opcode, status, device_ticks)
);
DEFINE_EVENT(axl_cmd, axl_cmd_end,
	TP_PROTO(u32 dev, u32 ctx, u32 queue, u32 job, u64 correlation, u32 index, u32 engine,
		 u32 opcode, u32 status, u64 device_ticks),
	TP_ARGS(dev, ctx, queue, job, correlation, index, engine, opcode, status, device_ticks)
);

/* The device dropped that many records before the driver could read them. */
TRACE_EVENT(axl_cmd_lost,
	TP_PROTO(u32 dev, u64 records),
	TP_ARGS(dev, records),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u64, records)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->records = records;
	),
	TP_printk("axl%u records=%llu", __entry->dev, __entry->records)
);

#endif /* _AXL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE axl_trace
#include <trace/define_trace.h>
