/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: tracepoints of the lifetime of contexts, queues and buffers. See axl_trace.h. */
#if !defined(_AXL_TRACE_OBJECT_H) || defined(TRACE_HEADER_MULTI_READ)
#define _AXL_TRACE_OBJECT_H

#include <linux/dma-direction.h>
#include <linux/tracepoint.h>

#include "uapi/axl.h"

#define axl_direction_names						\
	{ DMA_BIDIRECTIONAL, "bidirectional" }, { DMA_TO_DEVICE, "to_device" }, \
	{ DMA_FROM_DEVICE, "from_device" }
TRACE_DEFINE_ENUM(DMA_BIDIRECTIONAL);
TRACE_DEFINE_ENUM(DMA_TO_DEVICE);
TRACE_DEFINE_ENUM(DMA_FROM_DEVICE);

#define axl_kind_names							\
	{ AXL_BUF_DEVICE, "device" }, { AXL_BUF_HOST, "host" },		\
	{ AXL_BUF_USER, "user" }, { AXL_BUF_SCRATCH, "scratch" }

/* Host memory is mapped for, or unmapped from, the device; direction is enum dma_data_direction. */
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

/*
 * The current process opened a file or joined it to its client; or the file was released, in which
 * case the current process may be another one.
 */
TRACE_EVENT(axl_client,
	TP_PROTO(u32 dev, u32 client, u32 opened),
	TP_ARGS(dev, client, opened),
	TP_STRUCT__entry(
		__field(__u32, dev)
		__field(__u32, client)
		__field(__u32, opened)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->client = client;
		__entry->opened = opened;
	),
	TP_printk("axl%u client=%u opened=%u", __entry->dev, __entry->client, __entry->opened)
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

/* A hardware queue is given to a context or taken back; entries is the submission ring's size. */
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

#endif /* _AXL_TRACE_OBJECT_H */
