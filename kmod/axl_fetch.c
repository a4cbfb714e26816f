// SPDX-License-Identifier: GPL-2.0
/*
 * axl.ko: commands on their way from user space into the ring.
 *
 * The common commands are read a field at a time, checked and translated in registers, and stored
 * once. Fields that must be zero are or-ed together and checked once for the whole job, before the
 * device sees any of it. A command of any other form is copied unchanged and then checked in place
 * (axl_validate.c). Either way each value is read from user space once, so no unchecked value is
 * used.
 *
 * No function may be called while user access is open. Kernels that check array bounds call a
 * handler on failure, so pointers are used here instead of arrays.
 *
 * Fields that the device ignores (pitches of a single row, strides of a single batch, a value
 * without its semaphore) are not read either.
 */
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "axl_submission.h"

#define AXL_OP_WORD(opcode, engine)	((opcode) | (u64)(engine) << 8)
#define AXL_VEC_WORD			AXL_OP_WORD(AXL_OP_VEC_FILL, AXL_ENGINE_VECTOR)

/* The first 64-bit words of a command, as struct axl_desc has them. */
enum { WORD_OP, WORD_CORRELATION, WORD_INDEX, WORD_SEMS, NUM_WORDS = 16 };

/* The buffer of the last reference, since most references name the same one again. */
struct axl_window {
	u64 ref;			/* address of its first byte, 0 = none yet */
	u64 bytes;
	u64 addr;
};

/* Offsets and fields of a job's commands, or-ed together. */
struct axl_gathered {
	u64 zero;			/* what must be 0 */
	u64 words;			/* offsets of 4-byte elements */
	u64 bytes;			/* offsets of bytes */
};

/* An offset this large comes from an impossible handle and may have overflowed a sum. */
#define AXL_OFFSET_BAD	(3ULL << 62)

static_assert(AXL_REF(AXL_MAX_BUFS, 0) < AXL_OFFSET_BAD);

static __always_inline void axl_window_move(const struct axl_xlate *x, struct axl_window *w,
					    u64 ref, bool device)
{
	u64 handle = ref >> AXL_REF_OFFSET_BITS;
	struct axl_buf *buf;
	u64 *last_use;

	if (unlikely(handle >= x->num_bufs))
		return;
	buf = x->bufs[array_index_nospec(handle, x->num_bufs)];
	if (unlikely(!buf))
		return;
	last_use = buf->last_use;
	last_use[x->hwq] = x->use;
	w->ref = AXL_REF(handle, 0);
	w->bytes = device ? buf->device_bytes : buf->flat_bytes;
	w->addr = buf->addr;
}

/*
 * Translates a reference to `count` elements (fewer than 2^60) of 1 << shift bytes into an address.
 * Returns false if it is not inside the window. On success the handle may still differ from the
 * window's if the offset is AXL_OFFSET_BAD; the caller finds that in *gathered.
 */
static __always_inline bool axl_resolve(const struct axl_xlate *x, struct axl_window *w, u64 *ref,
					u64 count, unsigned int shift, u64 *gathered, bool device)
{
	u64 offset = *ref ^ w->ref;

	if (unlikely(offset + (count << shift) > w->bytes)) {
		/* Hidden from the compiler, so that the sum above is part of an address mode. */
		OPTIMIZER_HIDE_VAR(count);
		axl_window_move(x, w, *ref, device);
		offset = *ref ^ w->ref;
		if (unlikely(offset + (count << shift) > w->bytes))
			return false;
	}
	*gathered |= offset;
	*ref = w->addr + offset;
	return true;
}

enum axl_fetched { FETCHED, FETCH_LONG, FETCH_FAULT };

/* Words of 64 bits are copied, and the fields are then examined in the ring. */
#define WORD(at)	(offsetof(struct axl_desc, at) / sizeof(u64))

static __always_inline enum axl_fetched
axl_copy_word(struct axl_desc *to, const u64 __user *from, u32 word)
{
	u64 value;

	unsafe_get_user(value, from + word, fault);
	((u64 *)to)[word] = value;
	return FETCHED;
fault:
	return FETCH_FAULT;
}

/* A word that must be 0 in user space is cleared in the ring. */
static __always_inline enum axl_fetched
axl_zero_word(struct axl_gathered *g, struct axl_desc *to, const u64 __user *from, u32 word)
{
	u64 value;

	unsafe_get_user(value, from + word, fault);
	g->zero |= value;
	((u64 *)to)[word] = 0;
	return FETCHED;
fault:
	return FETCH_FAULT;
}

static __always_inline enum axl_fetched
axl_fetch_ref(const struct axl_xlate *x, struct axl_window *w, u64 *gathered, struct axl_desc *to,
	      const u64 __user *from, u32 word, u64 count, unsigned int shift, bool device)
{
	u64 ref;

	unsafe_get_user(ref, from + word, fault);
	if (!axl_resolve(x, w, &ref, count, shift, gathered, device))
		return FETCH_LONG;
	((u64 *)to)[word] = ref;
	return FETCHED;
fault:
	return FETCH_FAULT;
}

static __always_inline enum axl_fetched
axl_fetch_floats(const struct axl_xlate *x, struct axl_window *w, struct axl_gathered *g,
		 struct axl_desc *to, const u64 __user *from, u32 word, u64 count)
{
	return axl_fetch_ref(x, w, &g->words, to, from, word, count, 2, true);
}

static __always_inline enum axl_fetched
axl_fetch_copy(struct axl_xlate *x, struct axl_window *host, struct axl_window *device,
	       struct axl_gathered *g, struct axl_desc *to, const u64 __user *from)
{
	enum axl_fetched how;
	u32 sg_count;
	u64 bytes;

	how = axl_copy_word(to, from, WORD(copy.rows)) ?:
	      axl_copy_word(to, from, WORD(copy.bytes));
	if (unlikely(how))
		return how;
	bytes = to->copy.bytes;
	if (unlikely(to->copy.rows != 1 || bytes - 1 >= AXL_MAX_COPY_BYTES))
		return FETCH_LONG;
	how = axl_fetch_ref(x, host, &g->bytes, to, from, WORD(copy.host), bytes, 0, false) ?:
	      axl_fetch_ref(x, device, &g->bytes, to, from, WORD(copy.device), bytes, 0, true) ?:
	      axl_zero_word(g, to, from, WORD(copy.sg_offset)) ?:
	      axl_zero_word(g, to, from, WORD(copy.reserved[0])) ?:
	      axl_zero_word(g, to, from, WORD(copy.reserved[1])) ?:
	      axl_zero_word(g, to, from, WORD(copy.reserved[2]));
	if (unlikely(how))
		return how;
	unsafe_get_user(sg_count, (u32 __user *)(from + WORD(copy.device_pitch)) + 1, fault);
	g->zero |= sg_count;
	((u64 *)to)[WORD(copy.device_pitch)] = 0;
	x->copy_bytes += bytes;
	return FETCHED;
fault:
	return FETCH_FAULT;
}

static __always_inline enum axl_fetched
axl_fetch_matmul(const struct axl_xlate *x, struct axl_window *w, struct axl_gathered *g,
		 struct axl_desc *to, const u64 __user *from)
{
	struct axl_matmul *mm = &to->matmul;
	enum axl_fetched how;
	u64 rows, cols, depth;

	how = axl_copy_word(to, from, WORD(matmul.alpha_f32)) ?:
	      axl_copy_word(to, from, WORD(matmul.batch)) ?:
	      axl_copy_word(to, from, WORD(matmul.m)) ?:
	      axl_copy_word(to, from, WORD(matmul.k));
	if (unlikely(how))
		return how;
	rows = mm->m - 1ULL;
	cols = mm->n - 1ULL;
	depth = mm->k - 1ULL;
	if (unlikely(mm->flags & ~AXL_MM_F_ACCUMULATE || mm->batch != 1 ||
		     (rows | cols | depth) >= AXL_MAX_DIM))
		return FETCH_LONG;
	((u64 *)to)[WORD(matmul.batch_stride_b)] = 0;
	return axl_fetch_floats(x, w, g, to, from, WORD(matmul.a), rows * mm->lda + mm->k) ?:
	       axl_copy_word(to, from, WORD(matmul.ldb)) ?:
	       axl_fetch_floats(x, w, g, to, from, WORD(matmul.b), depth * mm->ldb + mm->n) ?:
	       axl_fetch_floats(x, w, g, to, from, WORD(matmul.c), rows * mm->ldc + mm->n);
}

static __always_inline enum axl_fetched
axl_fetch_vector(const struct axl_xlate *x, struct axl_window *w, struct axl_gathered *g,
		 u8 operands, struct axl_desc *to, const u64 __user *from)
{
	struct axl_vector *v = &to->vector;
	enum axl_fetched how;
	u64 more;

	how = axl_copy_word(to, from, WORD(vector.dst_stride)) ?:
	      axl_copy_word(to, from, WORD(vector.rows)) ?:
	      axl_copy_word(to, from, WORD(vector.src0_stride));
	if (unlikely(how))
		return how;
	more = v->rows - 1ULL;
	if (unlikely(v->flags || (more | (v->cols - 1ULL)) >= AXL_MAX_DIM))
		return FETCH_LONG;
	v->src0 = 0;
	v->src1 = 0;
	if (operands) {
		if (unlikely(operands & ~(AXL_V_SRC0 | AXL_V_SRC1)))
			return FETCH_LONG;
		how = axl_fetch_floats(x, w, g, to, from, WORD(vector.src0),
				       more * v->src0_stride + v->cols);
		if (operands & AXL_V_SRC1)
			how = how ?: axl_fetch_floats(x, w, g, to, from, WORD(vector.src1),
						      more * v->src1_stride + v->cols);
	}
	return how ?:
	       axl_fetch_floats(x, w, g, to, from, WORD(vector.dst),
				more * v->dst_stride + v->cols) ?:
	       axl_copy_word(to, from, WORD(vector.alpha_f32)) ?:
	       axl_copy_word(to, from, WORD(vector.arg0)) ?:
	       axl_zero_word(g, to, from, WORD(vector.reserved));
}

/* Copies a command of any form unchanged, for axl_translate(). */
static __always_inline enum axl_fetched
axl_fetch_raw(struct axl_desc *to, const u64 __user *from)
{
	enum axl_fetched how = FETCHED;
	u32 i;

	for (i = 0; i < NUM_WORDS && !how; i++)
		how = axl_copy_word(to, from, i);
	return how;
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
axl_fetch_sems(const struct axl_xlate *x, struct axl_gathered *g, u64 sems, struct axl_desc *to,
	       const u64 __user *from)
{
	u64 first = (u64)x->hw * AXL_SEMS_PER_CONTEXT;

	g->zero |= sems >> 48;
	if (!axl_fetch_sem(&sems, 0, first) || !axl_fetch_sem(&sems, 16, first) ||
	    !axl_fetch_sem(&sems, 32, first))
		return FETCH_LONG;
	((u64 *)to)[WORD_SEMS] = sems;
	return axl_copy_word(to, from, WORD(wait_value[0])) ?:
	       axl_copy_word(to, from, WORD(wait_value[1])) ?:
	       axl_copy_word(to, from, WORD(signal_value));
}

/* wait_sem[0], wait_sem[1], signal_sem and the reserved field after them if none is used. */
#define AXL_NO_SEMS	0x0000ffffffffffffULL

/* Fetches one command. FETCH_LONG: its form or buffer needs the general path. */
static __always_inline enum axl_fetched
axl_fetch_one(struct axl_xlate *x, struct axl_window *host, struct axl_window *device,
	      struct axl_gathered *g, u64 index, struct axl_desc *to,
	      const u64 __user *from)
{
	u64 op, correlation, tag, sems, vector;
	const u8 *vector_ops = axl_vector_ops;
	u64 *words = (u64 *)to;

	unsafe_get_user(op, from + WORD_OP, fault);
	unsafe_get_user(correlation, from + WORD_CORRELATION, fault);
	unsafe_get_user(tag, from + WORD_INDEX, fault);
	unsafe_get_user(sems, from + WORD_SEMS, fault);
	g->zero |= correlation;
	g->zero |= (u32)tag;
	if (likely(sems == AXL_NO_SEMS)) {
		words[WORD_SEMS] = AXL_NO_SEMS;
	} else {
		enum axl_fetched how = axl_fetch_sems(x, g, sems, to, from);

		if (unlikely(how != FETCHED))
			return how;
	}
	/* The match also proves that flags and job are 0, since they are in the same word. */
	words[WORD_OP] = op | x->job_bits;
	words[WORD_CORRELATION] = x->correlation;
	words[WORD_INDEX] = tag + index;

	vector = op - AXL_VEC_WORD;
	if (vector < AXL_NUM_VECTOR_OPS)
		return axl_fetch_vector(x, device, g, vector_ops[vector], to, from);
	if (op == AXL_OP_WORD(AXL_OP_MATMUL, AXL_ENGINE_MATRIX))
		return axl_fetch_matmul(x, device, g, to, from);
	if (op == AXL_OP_WORD(AXL_OP_COPY_H2D, AXL_ENGINE_H2D) ||
	    op == AXL_OP_WORD(AXL_OP_COPY_D2H, AXL_ENGINE_D2H))
		return axl_fetch_copy(x, host, device, g, to, from);
	if (op < AXL_OP_WORD(0, AXL_NUM_ENGINES) && (u8)op == AXL_OP_NOP)
		return FETCHED;
	return FETCH_LONG;
fault:
	return FETCH_FAULT;
}

/*
 * Puts a job's commands into the ring from its free-running index on, in the device's format, the
 * last one with a completion. -EFAULT: the user's page was not present and page faults are
 * disabled. file->lock and q->submit held.
 */
int axl_fetch(struct axl_xlate *x, struct axl_desc *ring, u32 at,
	      const struct axl_desc __user *user, u32 num_cmds)
{
	const u64 __user *from = (const u64 __user *)user;
	struct axl_window host = {}, device = {};
	struct axl_gathered g = {};
	struct axl_desc *to;
	int err = -EFAULT;
	u64 i = 0, end;

	at &= AXL_SQ_ENTRIES - 1;
	to = &ring[at];
	/* Up to the end of the ring, then from its start. */
	end = min_t(u32, num_cmds, AXL_SQ_ENTRIES - at);
	pagefault_disable();
	if (!user_access_begin(user, num_cmds * sizeof(*user)))
		goto out;
	for (;;) {
		for (; i != end; i++, to++, from += NUM_WORDS) {
			enum axl_fetched how = axl_fetch_one(x, &host, &device, &g, i, to, from);

			if (likely(how == FETCHED))
				continue;
			if (how == FETCH_FAULT || axl_fetch_raw(to, from))
				goto fault;
			user_access_end();
			err = axl_translate(x, to, i);
			if (err)
				goto out;
			err = -EFAULT;
			if (!user_access_begin(user, num_cmds * sizeof(*user)))
				goto out;
		}
		if (end == num_cmds)
			break;
		end = num_cmds;
		to = ring;
	}
	to[-1].flags |= AXL_DESC_F_COMPLETE | AXL_DESC_F_IRQ;
	err = 0;
	if (g.zero || g.words & (AXL_OFFSET_BAD | 3) || g.bytes & AXL_OFFSET_BAD)
		err = -EINVAL;
fault:
	user_access_end();
out:
	pagefault_enable();
	return err;
}
