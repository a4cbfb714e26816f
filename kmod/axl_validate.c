// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: checks and translates commands of user space into commands for the device.
 *
 * Every operand is a range that must be inside one buffer of the caller; its extent is computed
 * from the shape with overflow checks. The device validates shapes again, but it does not know who
 * owns the memory.
 */
#include <linux/nospec.h>
#include <linux/overflow.h>

#include "axl_submission.h"

#define F32 4
#define BF16 2

/* A rectangle of elements, repeated; strides in elements. */
struct axl_shape {
	u64 rows;
	u64 cols;
	u64 stride;
	u64 batch;
	u64 batch_stride;
	u32 elem;
};

/* Bytes from the first to the end of the last; 0 on overflow or an empty shape. */
static u64 axl_extent(const struct axl_shape *s)
{
	u64 last, step;

	if (unlikely(!s->rows || !s->cols || !s->batch))
		return 0;
	/* All factors are below 2^32, so products fit 64 bits, but their sum may not. */
	last = (s->rows - 1) * s->stride;
	step = (s->batch - 1) * s->batch_stride;
	if (unlikely(check_add_overflow(last, step, &last) ||
		     check_add_overflow(last, s->cols, &last) ||
		     check_mul_overflow(last, (u64)s->elem, &last)))
		return 0;
	return last;
}

static struct axl_buf *axl_ref_buf(const struct axl_xlate *x, u64 ref, u64 bytes)
{
	u64 offset = AXL_REF_OFFSET(ref);
	u32 handle = AXL_REF_HANDLE(ref);
	struct axl_buf *buf;

	if (unlikely(handle >= x->num_bufs))
		return NULL;
	buf = x->bufs[array_index_nospec(handle, x->num_bufs)];
	if (unlikely(!buf || !bytes || offset > buf->bytes || bytes > buf->bytes - offset))
		return NULL;
	buf->last_use[x->hwq] = x->use;
	return buf;
}

/* Translates a reference to device memory into an address. */
static int axl_ref_device(const struct axl_xlate *x, u64 *ref, u64 bytes)
{
	struct axl_buf *buf = axl_ref_buf(x, *ref, bytes);

	if (unlikely(!buf || (buf->kind != AXL_BUF_DEVICE && buf->kind != AXL_BUF_SCRATCH)))
		return -EINVAL;
	*ref = buf->addr + AXL_REF_OFFSET(*ref);
	return 0;
}

static int axl_ref_shape(const struct axl_xlate *x, u64 *ref, const struct axl_shape *shape)
{
	if (unlikely(*ref & (shape->elem - 1)))
		return -EINVAL;
	return axl_ref_device(x, ref, axl_extent(shape));
}

/* The segment that contains a byte of the buffer. */
static u32 axl_mem_segment(const struct axl_mem *mem, u64 offset)
{
	u32 low = 0, high = mem->num_sg - 1;

	while (low < high) {
		u32 mid = high - (high - low) / 2;

		if (mem->sg_start[mid] <= offset)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/* Translates a reference to host memory into a bus address or a part of the buffer's list. */
static int axl_ref_host(const struct axl_xlate *x, struct axl_desc *desc, u64 bytes)
{
	struct axl_copy *copy = &desc->copy;
	u64 offset = AXL_REF_OFFSET(copy->host);
	struct axl_buf *buf = axl_ref_buf(x, copy->host, bytes);
	const struct axl_mem *mem;
	u32 first, last;

	if (unlikely(!buf || (buf->kind != AXL_BUF_HOST && buf->kind != AXL_BUF_USER)))
		return -EINVAL;
	mem = &buf->mem;
	if (mem->num_sg == 1) {
		copy->host = buf->addr + offset;
		return 0;
	}
	first = axl_mem_segment(mem, offset);
	last = axl_mem_segment(mem, offset + bytes - 1);
	if (first == last) {
		copy->host = mem->sg[first].addr + offset - mem->sg_start[first];
		return 0;
	}
	desc->flags |= AXL_DESC_F_SG;
	copy->host = mem->sg_dma + first * sizeof(struct axl_sg);
	copy->sg_count = last - first + 1;
	copy->sg_offset = offset - mem->sg_start[first];
	return 0;
}

static int axl_xlate_copy(const struct axl_xlate *x, struct axl_desc *desc)
{
	struct axl_copy *c = &desc->copy;
	struct axl_shape host = { c->rows, c->bytes, c->host_pitch, 1, 0, 1 };
	struct axl_shape device = { c->rows, c->bytes, c->device_pitch, 1, 0, 1 };
	int err;

	if (c->sg_count | c->sg_offset | c->reserved0 ||
	    c->reserved[0] | c->reserved[1] | c->reserved[2])
		return -EINVAL;
	/* The limit is larger than any buffer, and small enough for axl_extent()'s products. */
	if (c->bytes > AXL_SCRATCHPAD_BASE ||
	    (c->rows > 1 && (c->host_pitch < c->bytes || c->device_pitch < c->bytes)))
		return -EINVAL;
	err = axl_ref_host(x, desc, axl_extent(&host));
	return err ? err : axl_ref_device(x, &c->device, axl_extent(&device));
}

static int axl_xlate_matmul(const struct axl_xlate *x, struct axl_desc *desc)
{
	struct axl_matmul *m = &desc->matmul;
	bool transposed = m->flags & AXL_MM_F_TRANSPOSE_B;
	struct axl_shape a = { m->m, m->k, m->lda, m->batch, m->batch_stride_a,
			       m->flags & AXL_MM_F_A_BF16 ? BF16 : F32 };
	struct axl_shape b = { transposed ? m->n : m->k, transposed ? m->k : m->n, m->ldb,
			       m->batch, m->batch_stride_b,
			       m->flags & AXL_MM_F_B_BF16 ? BF16 : F32 };
	struct axl_shape c = { m->m, m->n, m->ldc, m->batch, m->batch_stride_c, F32 };
	int err;

	if (m->flags & ~AXL_MM_F_ALL)
		return -EINVAL;
	err = axl_ref_shape(x, &m->a, &a);
	if (!err)
		err = axl_ref_shape(x, &m->b, &b);
	return err ? err : axl_ref_shape(x, &m->c, &c);
}

const u8 axl_vector_ops[AXL_NUM_VECTOR_OPS] = {
	[AXL_OP_VEC_FILL - AXL_OP_VEC_FILL] = 0,
	[AXL_OP_VEC_COPY - AXL_OP_VEC_FILL] = AXL_V_SRC0,
	[AXL_OP_VEC_ADD - AXL_OP_VEC_FILL] = AXL_V_SRC0 | AXL_V_SRC1,
	[AXL_OP_VEC_MUL - AXL_OP_VEC_FILL] = AXL_V_SRC0 | AXL_V_SRC1,
	[AXL_OP_VEC_SCALE - AXL_OP_VEC_FILL] = AXL_V_SRC0,
	[AXL_OP_VEC_SILU - AXL_OP_VEC_FILL] = AXL_V_SRC0,
	[AXL_OP_VEC_SILU_MUL - AXL_OP_VEC_FILL] = AXL_V_SRC0 | AXL_V_SRC1,
	[AXL_OP_VEC_GELU - AXL_OP_VEC_FILL] = AXL_V_SRC0,
	[AXL_OP_VEC_RMSNORM - AXL_OP_VEC_FILL] = AXL_V_SRC0 | AXL_V_ROW1,
	[AXL_OP_VEC_SOFTMAX - AXL_OP_VEC_FILL] = AXL_V_SRC0,
	[AXL_OP_VEC_ROPE - AXL_OP_VEC_FILL] = AXL_V_SRC0,
	[AXL_OP_VEC_GATHER - AXL_OP_VEC_FILL] = AXL_V_INDEX0,
	[AXL_OP_VEC_ARGMAX - AXL_OP_VEC_FILL] = AXL_V_SRC0 | AXL_V_SCALAR,
	[AXL_OP_VEC_SUM - AXL_OP_VEC_FILL] = AXL_V_SRC0 | AXL_V_SCALAR,
};

static int axl_xlate_vector(const struct axl_xlate *x, struct axl_desc *desc)
{
	struct axl_vector *v = &desc->vector;
	u8 op = axl_vector_ops[desc->opcode - AXL_OP_VEC_FILL];
	bool scalar = op & AXL_V_SCALAR;
	struct axl_shape src0 = { v->rows, v->cols, v->src0_stride, 1, 0, F32 };
	struct axl_shape src1 = { v->rows, v->cols, v->src1_stride, 1, 0, F32 };
	struct axl_shape dst = { v->rows, scalar ? 1 : v->cols,
				 scalar ? max(v->dst_stride, 1u) : v->dst_stride, 1, 0, F32 };
	int err = 0;

	if (v->flags & ~AXL_VEC_F_ALL || v->reserved)
		return -EINVAL;
	if (op & AXL_V_INDEX0) {
		src0.cols = 1;
		src0.stride = max(v->src0_stride, 1u);
		src1.rows = v->arg0;
	}
	if (op & AXL_V_ROW1 || v->flags & AXL_VEC_F_BROADCAST1)
		src1.rows = 1;
	if (op & (AXL_V_SRC0 | AXL_V_INDEX0))
		err = axl_ref_shape(x, &v->src0, &src0);
	else
		v->src0 = 0;
	if (op & (AXL_V_SRC1 | AXL_V_ROW1 | AXL_V_INDEX0))
		err = err ? err : axl_ref_shape(x, &v->src1, &src1);
	else
		v->src1 = 0;
	return err ? err : axl_ref_shape(x, &v->dst, &dst);
}

/* Semaphores are numbered within the context; the device numbers all of them. */
static int axl_xlate_sem(u32 hw, u16 *sem)
{
	if (*sem == AXL_SEM_NONE)
		return 0;
	if (unlikely(*sem >= AXL_SEMS_PER_CONTEXT))
		return -EINVAL;
	*sem += hw * AXL_SEMS_PER_CONTEXT;
	return 0;
}

static int axl_xlate_op(const struct axl_xlate *x, struct axl_desc *desc)
{
	switch (desc->opcode) {
	case AXL_OP_NOP:
		return desc->engine < AXL_NUM_ENGINES ? 0 : -EINVAL;
	case AXL_OP_COPY_H2D:
		return desc->engine == AXL_ENGINE_H2D ? axl_xlate_copy(x, desc) : -EINVAL;
	case AXL_OP_COPY_D2H:
		return desc->engine == AXL_ENGINE_D2H ? axl_xlate_copy(x, desc) : -EINVAL;
	case AXL_OP_MATMUL:
		return desc->engine == AXL_ENGINE_MATRIX ? axl_xlate_matmul(x, desc) : -EINVAL;
	case AXL_OP_VEC_FILL ... AXL_OP_VEC_SUM:
		return desc->engine == AXL_ENGINE_VECTOR ? axl_xlate_vector(x, desc) : -EINVAL;
	default:
		return -EINVAL;
	}
}

/*
 * Checks a command of any form, copied from user space unchanged, and translates it in place.
 * file->lock is held at least for reading.
 */
int axl_translate(struct axl_xlate *x, struct axl_desc *desc, u32 index)
{
	int err;

	if (unlikely(desc->flags || desc->job || desc->index || desc->correlation ||
		     desc->reserved))
		return -EINVAL;
	if (axl_xlate_sem(x->hw, &desc->wait_sem[0]) || axl_xlate_sem(x->hw, &desc->wait_sem[1]) ||
	    axl_xlate_sem(x->hw, &desc->signal_sem))
		return -EINVAL;

	if (desc->opcode == AXL_OP_COPY_H2D || desc->opcode == AXL_OP_COPY_D2H)
		x->copy_bytes += desc->copy.bytes * desc->copy.rows;
	err = axl_xlate_op(x, desc);
	desc->job = x->job;
	desc->index = index;
	desc->correlation = x->correlation;
	return err;
}
