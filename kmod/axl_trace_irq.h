/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: tracepoints of interrupts. See axl_trace.h. */
#if !defined(_AXL_TRACE_IRQ_H) || defined(TRACE_HEADER_MULTI_READ)
#define _AXL_TRACE_IRQ_H

#include <linux/tracepoint.h>

/*
 * An interrupt handler was entered at host_ns (CLOCK_MONOTONIC) and found `completions` entries;
 * queue is 0xffffffff for device events.
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
 * An interrupt without a completion, whose handler was entered at host_ns: either device events
 * (queue 0xffffffff, AXL_INT_* in causes), or a spurious interrupt (causes 0).
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

#endif /* _AXL_TRACE_IRQ_H */
