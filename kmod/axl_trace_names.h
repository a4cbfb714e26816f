/* SPDX-License-Identifier: GPL-2.0 */
/* axl.ko: names of values and the fields of a job, shared by several tracepoints. */
#ifndef _AXL_TRACE_NAMES_H
#define _AXL_TRACE_NAMES_H

#include <linux/errno.h>

#include "uapi/axl.h"

#define axl_status_names						\
	{ AXL_ST_OK, "ok" }, { AXL_ST_BAD_OPCODE, "bad_opcode" },	\
	{ AXL_ST_BAD_FIELD, "bad_field" },				\
	{ AXL_ST_BAD_ADDRESS, "bad_address" },				\
	{ AXL_ST_DMA_ERROR, "dma_error" }, { AXL_ST_POISONED, "poisoned" }, \
	{ AXL_ST_RING_ERROR, "ring_error" }, { AXL_ST_HANG, "hang" },	\
	{ AXL_ST_CANCELED, "canceled" }, { 0xffffffff, "none" }

/* The errors of a submission as positive numbers, since tools cannot parse negative ones. */
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

#endif /* _AXL_TRACE_NAMES_H */
