/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: tracepoints of single commands. See axl_trace.h. */
#if !defined(_AXL_TRACE_CMD_H) || defined(TRACE_HEADER_MULTI_READ)
#define _AXL_TRACE_CMD_H

#include <linux/tracepoint.h>

#include "axl_trace_names.h"

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

/*
 * A command as the device recorded it, emitted when the driver reads the record, which is after the
 * command's end. Only active while sysfs' trace_commands is on (axl_cmd_trace.c).
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

/* The device dropped this many records before the driver could read them. */
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

#endif /* _AXL_TRACE_CMD_H */
