/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: tracepoints of the whole device: hangs, resets, its link, samples. See axl_trace.h. */
#if !defined(_AXL_TRACE_DEVICE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _AXL_TRACE_DEVICE_H

#include <linux/tracepoint.h>

/* A job made no progress for too long; its context will be reset. */
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

#endif /* _AXL_TRACE_DEVICE_H */
