/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * axl hardware contract: registers, descriptors, completions, trace records
 * and counters of the axl PCIe accelerator.
 *
 * These formats are defined here only. The device model, the driver, the BPF programs, the runtime,
 * the daemon and the tests include this file; it includes nothing of the project but its second
 * half, axl_records.h. Both must compile as kernel C, BPF C, user-space C and C++.
 * Everything is little endian. Times are raw device clock ticks unless a name
 * ends in another unit. See docs/device.md for the meaning in prose.
 */
#ifndef _UAPI_AXL_HW_H
#define _UAPI_AXL_HW_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#if defined(__cplusplus)
#define AXL_STATIC_ASSERT(cond, msg) static_assert(cond, msg)
#else
#define AXL_STATIC_ASSERT(cond, msg) _Static_assert(cond, msg)
#endif

/* ---- identity ---------------------------------------------------------- */

#define AXL_PCI_VENDOR_ID	0x1234
#define AXL_PCI_DEVICE_ID	0xacc1
#define AXL_PCI_REVISION	0x01
#define AXL_PCI_CLASS		0x1200	/* processing accelerator */

#define AXL_BAR_REGS		0	/* registers, AXL_REGS_BYTES, 32/64-bit access */
#define AXL_BAR_WINDOW		2	/* 64-bit prefetchable window on device DRAM */
#define AXL_BAR_MSIX		4	/* MSI-X table and PBA */
#define AXL_REGS_BYTES		0x10000

#define AXL_ID_MAGIC		0x314c5841	/* "AXL1" */
#define AXL_HW_VERSION_MAJOR	1
#define AXL_HW_VERSION_MINOR	0

#define AXL_MAX_QUEUES		16
#define AXL_MAX_CONTEXTS	8
#define AXL_SEMS_PER_CONTEXT	128
#define AXL_MAX_SEMS		(AXL_MAX_CONTEXTS * AXL_SEMS_PER_CONTEXT)
/* Ring 0 sees the whole device; ring 1 + c sees context c only. */
#define AXL_MAX_TRACE_RINGS	(1 + AXL_MAX_CONTEXTS)
#define AXL_TRACE_RING_DEVICE	0

/* MSI-X: vector 0 carries device events, vector 1 + q the completions of q. */
#define AXL_MSIX_DEVICE		0
#define AXL_MSIX_QUEUE(q)	(1 + (q))
#define AXL_NUM_MSIX		(1 + AXL_MAX_QUEUES)

enum axl_engine {
	AXL_ENGINE_H2D = 0,	/* DMA, host (or peer) to device memory */
	AXL_ENGINE_D2H = 1,	/* DMA, device memory to host (or peer) */
	AXL_ENGINE_MATRIX = 2,	/* systolic array */
	AXL_ENGINE_VECTOR = 3,	/* lanes for everything that is not a matmul */
	AXL_NUM_ENGINES = 4,
};

/* Device addresses: DRAM starts at 0, the on-chip scratchpad here. */
#define AXL_SCRATCHPAD_BASE	(1ULL << 36)

/* ---- registers (offsets in AXL_BAR_REGS) -------------------------------- */

#define AXL_REG_ID		0x0000	/* RO32 AXL_ID_MAGIC */
#define AXL_REG_VERSION		0x0004	/* RO32 major << 16 | minor */
#define AXL_REG_CAPS		0x0008	/* RO32 see AXL_CAPS_* */
#define  AXL_CAPS_QUEUES(v)	((v) & 0xff)
#define  AXL_CAPS_CONTEXTS(v)	(((v) >> 8) & 0xff)
#define  AXL_CAPS_ENGINES(v)	(((v) >> 16) & 0xff)
#define  AXL_CAPS_TRACE_RINGS(v) (((v) >> 24) & 0xff)
#define AXL_REG_FEATURES	0x000c	/* RO32 AXL_FEATURE_* */
#define  AXL_FEATURE_PTM	(1u << 0)	/* PTM-like cross-timestamp */
#define  AXL_FEATURE_WINDOW	(1u << 1)	/* AXL_BAR_WINDOW is present */
#define  AXL_FEATURE_BF16	(1u << 2)	/* bf16 inputs to the matrix engine */
#define  AXL_FEATURE_SG		(1u << 3)	/* scatter lists in copies */
#define  AXL_FEATURE_CLEAR	(1u << 4)	/* AXL_REG_CLEAR_* are present */
#define AXL_REG_DRAM_BYTES	0x0010	/* RO64 */
#define AXL_REG_SCRATCH_BYTES	0x0018	/* RO64 */
#define AXL_REG_CLOCK_HZ	0x0020	/* RO64 nominal frequency of the timestamp clock */
#define AXL_REG_CLOCK_BITS	0x0028	/* RO32 width: the clock wraps at 2^bits */
#define AXL_REG_NUM_COUNTERS	0x002c	/* RO32 device counters */
#define AXL_REG_CTRL		0x0030	/* RW32 */
#define  AXL_CTRL_ENABLE	(1u << 0)
#define  AXL_CTRL_RESET		(1u << 1)	/* self-clearing, stops all queues and rings */
#define AXL_REG_STATUS		0x0034	/* RO32 */
#define  AXL_STATUS_READY	(1u << 0)
#define  AXL_STATUS_THROTTLED	(1u << 1)
#define  AXL_STATUS_LINK_DEGRADED (1u << 2)
#define AXL_REG_INT_STATUS	0x0038	/* RW1C32 causes of vector 0, AXL_INT_* */
#define AXL_REG_INT_MASK	0x003c	/* RW32 1 = masked */
#define  AXL_INT_CTX_ERROR	(1u << 0)	/* a context halted, see AXL_REG_CTX_STATUS */
#define  AXL_INT_TRACE		(1u << 1)	/* a trace ring passed its watermark */
#define  AXL_INT_LINK		(1u << 2)	/* link speed or width changed */
#define  AXL_INT_THROTTLE	(1u << 3)
#define  AXL_INT_ECC		(1u << 4)	/* corrected memory error */
#define  AXL_INT_ALL		0x1fu
#define AXL_REG_MATRIX_ROWS	0x0040	/* RO32 systolic array rows */
#define AXL_REG_MATRIX_COLS	0x0044	/* RO32 systolic array columns */
#define AXL_REG_VECTOR_LANES	0x0048	/* RO32 */
#define AXL_REG_ENGINE_HZ	0x0050	/* RO64 nominal engine clock */
#define AXL_REG_DRAM_BPS	0x0058	/* RO64 peak DRAM bandwidth, bytes per second */

/* Zeroes a range of device memory without a command. */
#define AXL_REG_CLEAR_BASE	0x0080	/* RW64 device address, 4096-byte aligned */
#define AXL_REG_CLEAR_BYTES	0x0088	/* RW64 multiple of 4096 */
#define AXL_REG_CLEAR_CTRL	0x0090	/* RW32 write AXL_CLEAR_BUSY to begin */
#define  AXL_CLEAR_BUSY		(1u << 0)	/* not done yet; the range must not be used */
#define  AXL_CLEAR_ERROR	(1u << 1)	/* no such range, nothing was done */

/* Timestamp clock. Writing LATCH copies the live clock to LATCHED. */
#define AXL_REG_CLK_NOW		0x0100	/* RO64 live */
#define AXL_REG_CLK_LATCH	0x0108	/* WO32 */
#define AXL_REG_CLK_LATCHED	0x0110	/* RO64 */
/* PTM-like cross-timestamp: both clocks at one instant, as the link saw it. */
#define AXL_REG_PTM_TRIGGER	0x0118	/* WO32 */
#define AXL_REG_PTM_STATUS	0x011c	/* RO32 bit 0: pair valid */
#define AXL_REG_PTM_DEVICE	0x0120	/* RO64 device ticks */
#define AXL_REG_PTM_HOST	0x0128	/* RO64 host TSC */

/* Counters. Writing LATCH copies every live counter to the readable ones. */
#define AXL_REG_CTR_LATCH	0x0200	/* WO32 */
#define AXL_REG_CTR_CTRL	0x0204	/* RW32 */
#define  AXL_CTR_CTRL_FREEZE	(1u << 0)	/* live counters stand still */
#define AXL_REG_CTR_TIME	0x0208	/* RO64 device ticks of the snapshot */
#define AXL_REG_CTR_SEQ		0x0210	/* RO32 snapshots taken */
#define AXL_REG_CTR(i)		(0x1000 + 8 * (i))	/* RO64 snapshot value */
#define AXL_MAX_COUNTERS	256
/* Per-context counters use the same indexes, but only counters marked CTX are kept. */
#define AXL_REG_CTX_CTR(c, i)	(0x2000 + 0x400 * (c) + 8 * (i))	/* RO64 snapshot value */
#define AXL_MAX_CTX_COUNTERS	128

#define AXL_REG_CTX(c)		(0x6000 + 0x40 * (c))
#define AXL_REG_CTX_CTRL(c)	(AXL_REG_CTX(c) + 0x00)	/* RW32 */
#define  AXL_CTX_ENABLE		(1u << 0)
#define  AXL_CTX_RESET		(1u << 1)	/* drops its queues' work, zeroes its semaphores */
#define AXL_REG_CTX_STATUS(c)	(AXL_REG_CTX(c) + 0x04)	/* RO32 */
#define  AXL_CTX_HALTED		(1u << 0)	/* an error stopped it; cleared by reset */
#define  AXL_CTX_BUSY		(1u << 1)
#define AXL_REG_CTX_ERROR(c)	(AXL_REG_CTX(c) + 0x08)	/* RO32 enum axl_status */
#define AXL_REG_CTX_ERR_JOB(c)	(AXL_REG_CTX(c) + 0x0c)	/* RO32 guilty job */
#define AXL_REG_CTX_ERR_INDEX(c) (AXL_REG_CTX(c) + 0x10) /* RO32 guilty command */
#define AXL_REG_CTX_PRIORITY(c)	(AXL_REG_CTX(c) + 0x14)	/* RW32 0 (low) to 3 */

#define AXL_REG_SEM(s)		(0x4000 + 8 * (s))	/* RO64 */

#define AXL_REG_Q(q)		(0x8000 + 0x100 * (q))
#define AXL_REG_Q_SQ_BASE(q)	(AXL_REG_Q(q) + 0x00)	/* RW64 bus address, 128-byte aligned */
#define AXL_REG_Q_CQ_BASE(q)	(AXL_REG_Q(q) + 0x08)	/* RW64 bus address, 32-byte aligned */
#define AXL_REG_Q_SQ_LOG2(q)	(AXL_REG_Q(q) + 0x10)	/* RW32 entries, 4 to 12 */
#define AXL_REG_Q_CQ_LOG2(q)	(AXL_REG_Q(q) + 0x14)	/* RW32 entries, 4 to 12 */
#define AXL_REG_Q_CONTEXT(q)	(AXL_REG_Q(q) + 0x18)	/* RW32 */
#define AXL_REG_Q_CTRL(q)	(AXL_REG_Q(q) + 0x1c)	/* RW32 */
#define  AXL_Q_ENABLE		(1u << 0)
#define  AXL_Q_IRQ_ENABLE	(1u << 1)
#define AXL_REG_Q_STATUS(q)	(AXL_REG_Q(q) + 0x20)	/* RO32 */
#define  AXL_Q_STATUS_ENABLED	(1u << 0)
#define  AXL_Q_STATUS_ERROR	(1u << 1)	/* bad ring set-up or doorbell, see Q_ERROR */
#define AXL_REG_Q_SQ_HEAD(q)	(AXL_REG_Q(q) + 0x24)	/* RO32 next entry to fetch */
#define AXL_REG_Q_SQ_TAIL(q)	(AXL_REG_Q(q) + 0x28)	/* WO32 doorbell: free-running index */
#define AXL_REG_Q_CQ_TAIL(q)	(AXL_REG_Q(q) + 0x2c)	/* RO32 free-running */
#define AXL_REG_Q_CQ_HEAD(q)	(AXL_REG_Q(q) + 0x30)	/* WO32 consumer's free-running index */
#define AXL_REG_Q_ERROR(q)	(AXL_REG_Q(q) + 0x34)	/* RO32 enum axl_status */

#define AXL_REG_TR(r)		(0xa000 + 0x100 * (r))
#define AXL_REG_TR_BASE(r)	(AXL_REG_TR(r) + 0x00)	/* RW64 bus address of the header page */
#define AXL_REG_TR_LOG2(r)	(AXL_REG_TR(r) + 0x08)	/* RW32 records, 5 to 20 */
#define AXL_REG_TR_CTRL(r)	(AXL_REG_TR(r) + 0x0c)	/* RW32 bit 0 enable */
#define AXL_REG_TR_CLASSES(r)	(AXL_REG_TR(r) + 0x10)	/* RW32 1 << enum axl_rec_type */
#define AXL_REG_TR_WATERMARK(r)	(AXL_REG_TR(r) + 0x14)	/* RW32 records, 0 = never interrupt */
#define AXL_REG_TR_PERIOD_NS(r)	(AXL_REG_TR(r) + 0x18)	/* RW64 counter samples, 0 = none */
#define AXL_REG_TR_PRODUCED(r)	(AXL_REG_TR(r) + 0x20)	/* RO64 records written */
#define AXL_REG_TR_LOST(r)	(AXL_REG_TR(r) + 0x28)	/* RO64 records dropped, exact */
#define AXL_REG_TR_STATUS(r)	(AXL_REG_TR(r) + 0x30)	/* RO32 bit 0 enabled, bit 1 error */

#define AXL_REG_ENG(e)		(0xc000 + 0x40 * (e))
#define AXL_REG_ENG_JOB(e)	(AXL_REG_ENG(e) + 0x00)	/* RO32 running job, 0 = idle */
#define AXL_REG_ENG_INDEX(e)	(AXL_REG_ENG(e) + 0x04)	/* RO32 command in that job */
#define AXL_REG_ENG_DEPTH(e)	(AXL_REG_ENG(e) + 0x08)	/* RO32 commands queued */

/* ---- commands ------------------------------------------------------------ */

enum axl_opcode {
	AXL_OP_NOP = 0x00,	/* waits and signals only; any engine */
	AXL_OP_COPY_H2D = 0x10,	/* H2D engine */
	AXL_OP_COPY_D2H = 0x11,	/* D2H engine */
	AXL_OP_MATMUL = 0x20,	/* C[b] = alpha * A[b] * B[b] (+ C[b]) */
	/* Vector engine. Rows are independent; strides are in elements. */
	AXL_OP_VEC_FILL = 0x40,	/* dst = alpha */
	AXL_OP_VEC_COPY = 0x41,	/* dst = src0 */
	AXL_OP_VEC_ADD = 0x42,	/* dst = src0 + src1 */
	AXL_OP_VEC_MUL = 0x43,	/* dst = src0 * src1 */
	AXL_OP_VEC_SCALE = 0x44,	/* dst = src0 * alpha + beta */
	AXL_OP_VEC_SILU = 0x45,	/* dst = x / (1 + exp(-x)) */
	AXL_OP_VEC_SILU_MUL = 0x46,	/* dst = silu(src0) * src1 */
	AXL_OP_VEC_GELU = 0x47,	/* dst = x/2 (1 + erf(x / sqrt 2)) */
	AXL_OP_VEC_RMSNORM = 0x48,	/* dst = x / sqrt(mean(x^2) + alpha) * src1[col] */
	AXL_OP_VEC_SOFTMAX = 0x49,	/* dst = softmax(x * alpha); see AXL_VEC_F_CAUSAL */
	AXL_OP_VEC_ROPE = 0x4a,	/* rotary: arg0 = first position, arg1 = head dim, alpha = theta */
	AXL_OP_VEC_GATHER = 0x4b,	/* dst[r] = src1[src0_u32[r]], arg0 = rows of src1 */
	AXL_OP_VEC_ARGMAX = 0x4c,	/* dst_u32[r] = index of the first maximum of src0[r] */
	AXL_OP_VEC_SUM = 0x4d,	/* dst[r] = sum(src0[r]) */
};

/* axl_desc.flags */
#define AXL_DESC_F_COMPLETE	(1u << 0)	/* complete once this and all before retired */
#define AXL_DESC_F_IRQ		(1u << 1)	/* ... and an interrupt */
#define AXL_DESC_F_SG		(1u << 2)	/* copy: host is a list of axl_sg */
#define AXL_DESC_F_ALL		0x7u
#define AXL_SEM_NONE		0xffff

/* axl_matmul.flags */
#define AXL_MM_F_ACCUMULATE	(1u << 0)	/* add to C */
#define AXL_MM_F_TRANSPOSE_B	(1u << 1)	/* B is N x K */
#define AXL_MM_F_A_BF16		(1u << 2)
#define AXL_MM_F_B_BF16		(1u << 3)
#define AXL_MM_F_ALL		0xfu

/* axl_vector.flags */
#define AXL_VEC_F_CAUSAL	(1u << 0)	/* softmax: column c counts if c <= row + arg0 */
#define AXL_VEC_F_BROADCAST1	(1u << 1)	/* src1 is one row, used for each */
#define AXL_VEC_F_ALL		0x3u

struct axl_sg {
	__u64 addr;	/* bus address */
	__u32 bytes;
	__u32 reserved;
};

/*
 * Copies rows of `bytes` bytes each; pitches are in bytes and are ignored for a single row. With
 * AXL_DESC_F_SG the sg_count list entries at bus address `host` are read as one stream, and row r
 * begins at its byte sg_offset + r * host_pitch.
 */
struct axl_copy {
	__u64 host;	/* bus address, or that of an axl_sg list */
	__u64 device;
	__u64 bytes;
	__u32 rows;
	__u32 host_pitch;
	__u32 device_pitch;
	__u32 sg_count;
	__u32 sg_offset;	/* bytes to skip in the first entry */
	__u32 reserved0;
	__u64 reserved[3];
};

/*
 * Matrices are row-major float32 (or bf16 inputs); leading dimensions and batch strides are in
 * elements.
 */
struct axl_matmul {
	__u64 a;	/* M x K */
	__u64 b;	/* K x N, or N x K with TRANSPOSE_B */
	__u64 c;	/* M x N, float32 */
	__u32 m, n, k;
	__u32 lda, ldb, ldc;
	__u32 batch;	/* at least 1 */
	__u32 batch_stride_a, batch_stride_b, batch_stride_c;
	__u32 alpha_f32;	/* IEEE 754 binary32 bits: the kernel has no floats */
	__u32 flags;
};

struct axl_vector {
	__u64 src0;
	__u64 src1;
	__u64 dst;
	__u32 rows, cols;
	__u32 src0_stride, src1_stride, dst_stride;
	__u32 flags;
	__u32 alpha_f32, beta_f32;	/* IEEE 754 binary32 bits */
	__u32 arg0, arg1;
	__u64 reserved;
};

/*
 * A submission ring entry. User space hands the driver the same struct with job, index and
 * correlation zero, semaphores numbered within its context, and each address replaced by
 * AXL_REF(buffer handle, byte offset). The driver checks the bounds and fills in the rest.
 */
struct axl_desc {
	__u8 opcode;		/* enum axl_opcode */
	__u8 engine;		/* enum axl_engine */
	__u16 flags;		/* AXL_DESC_F_* */
	__u32 job;		/* driver's job number, never 0 */
	__u64 correlation;	/* opaque, echoed in trace records */
	__u32 index;		/* position in the job */
	__u32 tag;		/* opaque to the device: the runtime's op name */
	__u16 wait_sem[2];	/* run when value >= wait_value; AXL_SEM_NONE */
	__u16 signal_sem;	/* on success value = max(value, signal_value) */
	__u16 reserved;
	__u64 wait_value[2];
	__u64 signal_value;
	union {
		struct axl_copy copy;
		struct axl_matmul matmul;
		struct axl_vector vector;
		__u64 words[9];
	};
};

/* Limits of one command; a command that exceeds them fails with AXL_ST_BAD_FIELD. */
#define AXL_MAX_COPY_BYTES	(1ULL << 30)	/* bytes * rows */
#define AXL_MAX_COPY_ROWS	(1U << 16)
#define AXL_MAX_SG		(1U << 18)
#define AXL_MAX_DIM		(1U << 20)	/* m, n, k, vector rows */
#define AXL_MAX_MACS		(1ULL << 32)	/* m * n * k * batch */
#define AXL_MAX_ELEMENTS	(1U << 26)	/* vector rows * cols */
#define AXL_MAX_RUNS		(1U << 22)	/* rows * batch of an operand */

#define AXL_REF_OFFSET_BITS	40
#define AXL_REF(handle, offset)	(((__u64)(handle) << AXL_REF_OFFSET_BITS) | (__u64)(offset))
#define AXL_REF_HANDLE(ref)	((__u32)((ref) >> AXL_REF_OFFSET_BITS))
#define AXL_REF_OFFSET(ref)	((ref) & ((1ULL << AXL_REF_OFFSET_BITS) - 1))

AXL_STATIC_ASSERT(sizeof(struct axl_sg) == 16, "axl_sg");
AXL_STATIC_ASSERT(sizeof(struct axl_copy) == 72, "axl_copy");
AXL_STATIC_ASSERT(sizeof(struct axl_matmul) == 72, "axl_matmul");
AXL_STATIC_ASSERT(sizeof(struct axl_vector) == 72, "axl_vector");
AXL_STATIC_ASSERT(sizeof(struct axl_desc) == 128, "axl_desc");

/* ---- completions ---------------------------------------------------------- */

enum axl_status {
	AXL_ST_OK = 0,
	AXL_ST_BAD_OPCODE = 1,	/* unknown, or not for that engine */
	AXL_ST_BAD_FIELD = 2,	/* reserved bits, sizes, semaphore numbers */
	AXL_ST_BAD_ADDRESS = 3,	/* outside device memory */
	AXL_ST_DMA_ERROR = 4,	/* the bus refused */
	AXL_ST_POISONED = 5,	/* uncorrectable data */
	AXL_ST_RING_ERROR = 6,	/* ring set-up, doorbell or completion ring overrun */
	AXL_ST_HANG = 7,	/* set by the driver's timeout, never by the device */
	AXL_ST_CANCELED = 8,	/* dropped because its context halted or was reset */
};

/*
 * An entry is valid when phase equals the parity of the ring's pass: 1 on the first pass, then 0,
 * ...
 */
struct axl_cqe {
	__u64 correlation;
	__u64 time;		/* device ticks when written */
	__u32 job;
	__u32 sq_head;		/* free-running: entries before it are free again */
	__u16 queue;
	__u16 status;		/* enum axl_status, first error of the job */
	__u16 error_index;	/* guilty command when status is not OK */
	__u16 phase;
};

AXL_STATIC_ASSERT(sizeof(struct axl_cqe) == 32, "axl_cqe");

#include "axl_records.h"

#endif /* _UAPI_AXL_HW_H */
