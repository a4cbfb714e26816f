/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: tracepoints of a job, from the submit ioctl to the woken thread. See axl_trace.h. */
#if !defined(_AXL_TRACE_JOB_H) || defined(TRACE_HEADER_MULTI_READ)
#define _AXL_TRACE_JOB_H

#include <linux/tracepoint.h>

#include "axl_trace_names.h"

/* Exports the values of axl_status_names once for the system; the command events use them, too. */
TRACE_DEFINE_ENUM(AXL_ST_OK);
TRACE_DEFINE_ENUM(AXL_ST_BAD_OPCODE);
TRACE_DEFINE_ENUM(AXL_ST_BAD_FIELD);
TRACE_DEFINE_ENUM(AXL_ST_BAD_ADDRESS);
TRACE_DEFINE_ENUM(AXL_ST_DMA_ERROR);
TRACE_DEFINE_ENUM(AXL_ST_POISONED);
TRACE_DEFINE_ENUM(AXL_ST_RING_ERROR);
TRACE_DEFINE_ENUM(AXL_ST_HANG);
TRACE_DEFINE_ENUM(AXL_ST_CANCELED);

/*
 * The submit ioctl, entered at host_ns (CLOCK_MONOTONIC), accepted or refused the caller's commands
 * and numbered the job.
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

/* A submission was refused after the job was numbered; the device never saw it. */
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
 * Everything the driver knows about a job, emitted once when the job is over. It saves tracers from
 * attaching to axl_submit, axl_doorbell, axl_submit_end, axl_irq and axl_complete.
 * AXL_IOCTL_JOBS_TRACE emits it for each job in flight, with status 0xffff and complete_ns 0. Times
 * are CLOCK_MONOTONIC: ioctl entered, doorbell written, submission noted, entry of the handler that
 * found the completion (0 if it was found otherwise), completion consumed. The first three, pid,
 * tid, num_cmds and copy_bytes are 0 if the tracepoint was off when the job was submitted.
 *
 * A BPF program can have twelve arguments, so some hold several fields, from the lowest bits up:
 * where has dev, ctx, queue and status of 16 bits each, job_cmds has job of 32 bits, num_cmds and
 * submit_cpu of 16 bits, tid_pid has two of 32 bits.
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

/* How a job ended, and when by the device's clock (0 if the device did not report it). */
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

/* A submission with a fence is about to be given to the device. */
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
 * The waiter continues; status is 0xffffffff if it gave up before the job was done. It began to
 * wait at wait_ns (CLOCK_MONOTONIC); if there was nothing to wait for, wait_ns is at most the time
 * of this event.
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

#endif /* _AXL_TRACE_JOB_H */
