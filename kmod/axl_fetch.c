// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: commands on their way from user space into the ring. Room: kmod.
 *
 * The common commands are read a field at a time, checked and translated in
 * registers, and stored once. What they must leave zero is gathered and looked
 * at once for the whole job: nothing of it is the device's before that. A
 * command of any other form is copied as it stands and then checked where it
 * is (axl_validate.c). Either way no value is used that was not checked, for
 * none is read twice.
 *
 * Fields that the device does not look at (pitches of a single row, strides of
 * a single batch, a value without its semaphore) are not read either.
 */
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "axl_dev.h"

#define AXL_OP_WORD(opcode, engine)	((opcode) | (u64)(engine) << 8)
#define AXL_VEC_WORD			AXL_OP_WORD(AXL_OP_VEC_FILL, AXL_ENGINE_VECTOR)

/* The first 64-bit words of a command, as struct axl_desc has them. */
enum { WORD_OP, WORD_CORRELATION, WORD_INDEX, WORD_SEMS, NUM_WORDS = 16 };

/* Larger dimensions are left to the long way: up to here no extent overflows. */
#define AXL_FAST_DIM	AXL_MAX_DIM
#define AXL_FAST_COLS	AXL_MAX_ELEMENTS

/* The buffer that the last reference named: most references name it again. */
struct axl_window {
	u64 ref;			/* its first byte, 0 = none yet */
	u64 bytes;
	u64 addr;
};

/* Offsets and fields of a job's commands, or-ed. */
struct axl_gathered {
	u64 zero;			/* what must be 0 */
	u64 words;			/* offsets of 4-byte elements */
	u64 bytes;			/* offsets of bytes */
};

/* An offset this large comes from a handle that cannot be, and may have wrapped a sum. */
#define AXL_OFFSET_BAD	(3ULL << 62)

static_assert(AXL_REF(AXL_MAX_BUFS, 0) < AXL_OFFSET_BAD);

static __always_inline void axl_window_move(const struct axl_xlate *x, struct axl_window *w,
					    u64 ref, bool device)
{
	u64 handle = ref >> AXL_REF_OFFSET_BITS;
	struct axl_buf *buf;

	if (unlikely(handle >= x->num_bufs))
		return;
	buf = x->bufs[array_index_nospec(handle, x->num_bufs)];
	if (unlikely(!buf))
		return;
	buf->last_use[x->hwq] = x->use;
	w->ref = AXL_REF(handle, 0);
	w->bytes = device ? buf->device_bytes : buf->flat_bytes;
	w->addr = buf->addr;
}

/*
 * A reference to that many bytes (below 2^62) becomes an address, or is not
 * inside the window. In the first case a handle that differs from the window's
 * is still possible if its offset is AXL_OFFSET_BAD: *gathered tells.
 */
static __always_inline bool axl_resolve(const struct axl_xlate *x, struct axl_window *w, u64 *ref,
					u64 bytes, u64 *gathered, bool device)
{
	u64 offset = *ref ^ w->ref;

	if (unlikely(offset + bytes > w->bytes)) {
		axl_window_move(x, w, *ref, device);
		offset = *ref ^ w->ref;
		if (unlikely(offset + bytes > w->bytes))
			return false;
	}
	*gathered |= offset;
	*ref = w->addr + offset;
	return true;
}

#define GET(value, field)	unsafe_get_user(value, &(user)->field, fault)

/* 1: not this way; the caller's label `fault` is what GET() needs. */
enum axl_fetched { FETCHED, FETCH_LONG, FETCH_FAULT };

static __always_inline enum axl_fetched
axl_fetch_copy(struct axl_xlate *x, struct axl_window *host, struct axl_window *device,
	       struct axl_gathered *g, struct axl_copy *to, const struct axl_copy __user *user)
{
	u64 bytes, host_ref, device_ref, word;
	u32 rows, count;

	GET(rows, rows);
	GET(bytes, bytes);
	if (unlikely(rows != 1 || bytes - 1 >= AXL_MAX_COPY_BYTES))
		return FETCH_LONG;
	GET(host_ref, host);
	GET(device_ref, device);
	if (!axl_resolve(x, host, &host_ref, bytes, &g->bytes, false) ||
	    !axl_resolve(x, device, &device_ref, bytes, &g->bytes, true))
		return FETCH_LONG;
	x->copy_bytes += bytes;
	to->host = host_ref;
	to->device = device_ref;
	to->bytes = bytes;
	to->rows = 1;
	to->host_pitch = 0;
	to->device_pitch = 0;
	GET(count, sg_count);
	g->zero |= count;
	to->sg_count = 0;
	GET(word, sg_offset);
	g->zero |= word;
	GET(word, reserved0);
	g->zero |= word;
	to->sg_offset = 0;
	to->reserved0 = 0;
	GET(word, reserved[0]);
	g->zero |= word;
	GET(word, reserved[1]);
	g->zero |= word;
	GET(word, reserved[2]);
	g->zero |= word;
	to->reserved[0] = 0;
	to->reserved[1] = 0;
	to->reserved[2] = 0;
	return FETCHED;
fault:
	return FETCH_FAULT;
}

static __always_inline enum axl_fetched
axl_fetch_matmul(struct axl_xlate *x, struct axl_window *w, struct axl_gathered *g,
		 struct axl_matmul *to, const struct axl_matmul __user *user)
{
	u32 m, n, k, lda, ldb, ldc, batch, flags, alpha;
	u64 a, b, c, rows, cols, depth;

	GET(flags, flags);
	GET(batch, batch);
	if (unlikely(flags & ~AXL_MM_F_ACCUMULATE || batch != 1))
		return FETCH_LONG;
	GET(m, m);
	GET(n, n);
	GET(k, k);
	rows = m - 1ULL;
	cols = n - 1ULL;
	depth = k - 1ULL;
	if (unlikely((rows | cols | depth) >= AXL_FAST_DIM))
		return FETCH_LONG;
	GET(lda, lda);
	GET(ldb, ldb);
	GET(ldc, ldc);
	GET(a, a);
	GET(b, b);
	GET(c, c);
	if (!axl_resolve(x, w, &a, (rows * lda + k) * 4, &g->words, true) ||
	    !axl_resolve(x, w, &b, (depth * ldb + n) * 4, &g->words, true) ||
	    !axl_resolve(x, w, &c, (rows * ldc + n) * 4, &g->words, true))
		return FETCH_LONG;
	GET(alpha, alpha_f32);
	to->a = a;
	to->b = b;
	to->c = c;
	to->m = m;
	to->n = n;
	to->k = k;
	to->lda = lda;
	to->ldb = ldb;
	to->ldc = ldc;
	to->batch = 1;
	to->batch_stride_a = 0;
	to->batch_stride_b = 0;
	to->batch_stride_c = 0;
	to->alpha_f32 = alpha;
	to->flags = flags;
	return FETCHED;
fault:
	return FETCH_FAULT;
}

static __always_inline enum axl_fetched
axl_fetch_vector(struct axl_xlate *x, struct axl_window *w, struct axl_gathered *g, u8 operands,
		 struct axl_vector *to, const struct axl_vector __user *user)
{
	u32 rows, cols, stride0, stride1, dst_stride, flags;
	u64 src0 = 0, src1 = 0, dst, more, word;

	GET(flags, flags);
	GET(rows, rows);
	GET(cols, cols);
	more = rows - 1ULL;
	if (unlikely(flags || operands & ~(AXL_V_SRC0 | AXL_V_SRC1) || more >= AXL_FAST_DIM ||
		     cols - 1ULL >= AXL_FAST_COLS))
		return FETCH_LONG;
	GET(stride0, src0_stride);
	GET(stride1, src1_stride);
	GET(dst_stride, dst_stride);
	if (operands & AXL_V_SRC0) {
		GET(src0, src0);
		if (!axl_resolve(x, w, &src0, (more * stride0 + cols) * 4, &g->words, true))
			return FETCH_LONG;
	}
	if (operands & AXL_V_SRC1) {
		GET(src1, src1);
		if (!axl_resolve(x, w, &src1, (more * stride1 + cols) * 4, &g->words, true))
			return FETCH_LONG;
	}
	GET(dst, dst);
	if (!axl_resolve(x, w, &dst, (more * dst_stride + cols) * 4, &g->words, true))
		return FETCH_LONG;
	to->src0 = src0;
	to->src1 = src1;
	to->dst = dst;
	to->rows = rows;
	to->cols = cols;
	to->src0_stride = stride0;
	to->src1_stride = stride1;
	to->dst_stride = dst_stride;
	to->flags = 0;
	unsafe_get_user(word, (const u64 __user *)&user->alpha_f32, fault);
	*(u64 *)&to->alpha_f32 = word;
	unsafe_get_user(word, (const u64 __user *)&user->arg0, fault);
	*(u64 *)&to->arg0 = word;
	GET(word, reserved);
	g->zero |= word;
	to->reserved = 0;
	return FETCHED;
fault:
	return FETCH_FAULT;
}

/* Of all forms: as user space wrote it, for axl_translate(). */
static __always_inline bool axl_fetch_raw(struct axl_desc *to, const struct axl_desc __user *user)
{
	u64 word;
	u32 i;

	for (i = 0; i < NUM_WORDS; i++) {
		unsafe_get_user(word, (const u64 __user *)user + i, fault);
		((u64 *)to)[i] = word;
	}
	return true;
fault:
	return false;
}

/* Semaphores are numbered within the context; the device numbers all of them. */
static __always_inline bool axl_fetch_sem(u64 *sems, unsigned int shift, u64 first)
{
	u64 sem = (*sems >> shift) & AXL_SEM_NONE;

	if (sem == AXL_SEM_NONE)
		return true;
	*sems += first << shift;
	return likely(sem < AXL_SEMS_PER_CONTEXT);
}

static __always_inline enum axl_fetched
axl_fetch_sems(const struct axl_xlate *x, struct axl_gathered *g, u64 *sems, struct axl_desc *to,
	       const struct axl_desc __user *user)
{
	u64 first = (u64)x->hw * AXL_SEMS_PER_CONTEXT, value;

	g->zero |= *sems >> 48;
	if (!axl_fetch_sem(sems, 0, first) || !axl_fetch_sem(sems, 16, first) ||
	    !axl_fetch_sem(sems, 32, first))
		return FETCH_LONG;
	GET(value, wait_value[0]);
	to->wait_value[0] = value;
	GET(value, wait_value[1]);
	to->wait_value[1] = value;
	GET(value, signal_value);
	to->signal_value = value;
	return FETCHED;
fault:
	return FETCH_FAULT;
}

/* wait_sem[0], wait_sem[1], signal_sem and the reserved field behind them, when none is used. */
#define AXL_NO_SEMS	0x0000ffffffffffffULL

static __always_inline enum axl_fetched
axl_fetch_one(struct axl_xlate *x, struct axl_window *host, struct axl_window *device,
	      struct axl_gathered *g, u32 index, struct axl_desc *to,
	      const struct axl_desc __user *user)
{
	const u64 __user *from = (const u64 __user *)user;
	u64 op, correlation, tag, sems, vector;
	u64 *words = (u64 *)to;

	unsafe_get_user(op, from + WORD_OP, fault);
	unsafe_get_user(correlation, from + WORD_CORRELATION, fault);
	unsafe_get_user(tag, from + WORD_INDEX, fault);
	unsafe_get_user(sems, from + WORD_SEMS, fault);
	g->zero |= correlation;
	g->zero |= (u32)tag;
	if (unlikely(sems != AXL_NO_SEMS)) {
		enum axl_fetched how = axl_fetch_sems(x, g, &sems, to, user);

		if (unlikely(how != FETCHED))
			return how;
	}
	/* Also says that flags and job are 0: they are in the same word. */
	words[WORD_OP] = op | x->job_bits;
	words[WORD_CORRELATION] = x->correlation;
	words[WORD_INDEX] = tag + index;
	words[WORD_SEMS] = sems;

	vector = op - AXL_VEC_WORD;
	if (vector < AXL_NUM_VECTOR_OPS)
		return axl_fetch_vector(x, device, g, axl_vector_ops[vector], &to->vector,
					&user->vector);
	if (op == AXL_OP_WORD(AXL_OP_MATMUL, AXL_ENGINE_MATRIX))
		return axl_fetch_matmul(x, device, g, &to->matmul, &user->matmul);
	if (op == AXL_OP_WORD(AXL_OP_COPY_H2D, AXL_ENGINE_H2D) ||
	    op == AXL_OP_WORD(AXL_OP_COPY_D2H, AXL_ENGINE_D2H))
		return axl_fetch_copy(x, host, device, g, &to->copy, &user->copy);
	if (op < AXL_OP_WORD(0, AXL_NUM_ENGINES) && (u8)op == AXL_OP_NOP)
		return FETCHED;
	return FETCH_LONG;
fault:
	return FETCH_FAULT;
}

/*
 * Puts a job's commands into the ring from its free-running index on, as the
 * device wants them. -EFAULT: the user's page was not there; page faults are
 * off. With file->lock held, and q->submit.
 */
int axl_fetch(struct axl_xlate *x, struct axl_desc *ring, u32 at,
	      const struct axl_desc __user *user, u32 num_cmds)
{
	struct axl_window host = {}, device = {};
	struct axl_gathered g = {};
	struct axl_desc *to = &ring[at & (AXL_SQ_ENTRIES - 1)];
	int err = -EFAULT;
	u32 i;

	pagefault_disable();
	if (!user_access_begin(user, num_cmds * sizeof(*user)))
		goto out;
	for (i = 0; i < num_cmds; i++) {
		enum axl_fetched how = axl_fetch_one(x, &host, &device, &g, i, to, user);

		if (unlikely(how != FETCHED)) {
			if (how == FETCH_FAULT || !axl_fetch_raw(to, user))
				goto fault;
			user_access_end();
			err = axl_translate(x, to, i);
			if (err)
				goto out;
			err = -EFAULT;
			if (!user_access_begin(user, sizeof(*user)))
				goto out;
		}
		user++;
		if (unlikely(++to == ring + AXL_SQ_ENTRIES))
			to = ring;
	}
	err = g.zero || (g.words & (AXL_OFFSET_BAD | 3)) || (g.bytes & AXL_OFFSET_BAD) ? -EINVAL : 0;
fault:
	user_access_end();
out:
	pagefault_enable();
	return err;
}
