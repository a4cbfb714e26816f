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
 * A reference to `count` elements (fewer than 2^60) of 1 << shift bytes becomes
 * an address, or is not inside the window. In the first case a handle that
 * differs from the window's is still possible if its offset is AXL_OFFSET_BAD:
 * *gathered tells.
 */
static __always_inline bool axl_resolve(const struct axl_xlate *x, struct axl_window *w, u64 *ref,
					u64 count, unsigned int shift, u64 *gathered, bool device)
{
	u64 offset = *ref ^ w->ref;

	if (unlikely(offset + (count << shift) > w->bytes)) {
		/* Computed again here, so that above it is part of an address mode. */
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

/* 64 bits at a time; the caller has a label `fault`. Fields are then read in the ring. */
#define WORD(at)			(offsetof(struct axl_desc, at) / sizeof(u64))
#define GET_WORD(value, word)		unsafe_get_user(value, from + (word), fault)
#define COPY_WORD(word)							\
	do {								\
		u64 value_;						\
									\
		GET_WORD(value_, word);					\
		((u64 *)to)[word] = value_;				\
	} while (0)
/* What must be 0 in user space becomes so in the ring. */
#define ZERO_WORD(word)							\
	do {								\
		u64 value_;						\
									\
		GET_WORD(value_, word);					\
		g->zero |= value_;					\
		((u64 *)to)[word] = 0;					\
	} while (0)

/* A reference on its way to the ring; gives up with FETCH_LONG. */
#define FETCH_REF(word, window, count, shift, gathered, device_)	\
	do {								\
		u64 ref_;						\
									\
		GET_WORD(ref_, word);					\
		if (!axl_resolve(x, window, &ref_, count, shift, gathered, device_)) \
			return FETCH_LONG;				\
		((u64 *)to)[word] = ref_;				\
	} while (0)
#define FETCH_BYTES(field, window, bytes, device_)			\
	FETCH_REF(WORD(field), window, bytes, 0, &g->bytes, device_)
#define FETCH_FLOATS(field, count)					\
	FETCH_REF(WORD(field), w, count, 2, &g->words, true)

static __always_inline enum axl_fetched
axl_fetch_copy(struct axl_xlate *x, struct axl_window *host, struct axl_window *device,
	       struct axl_gathered *g, struct axl_desc *to, const u64 __user *from)
{
	u64 bytes, word;

	COPY_WORD(WORD(copy.rows));
	GET_WORD(bytes, WORD(copy.bytes));
	if (unlikely(to->copy.rows != 1 || bytes - 1 >= AXL_MAX_COPY_BYTES))
		return FETCH_LONG;
	to->copy.bytes = bytes;
	FETCH_BYTES(copy.host, host, bytes, false);
	FETCH_BYTES(copy.device, device, bytes, true);
	x->copy_bytes += bytes;
	GET_WORD(word, WORD(copy.device_pitch));
	g->zero |= word >> 32;
	((u64 *)to)[WORD(copy.device_pitch)] = 0;
	ZERO_WORD(WORD(copy.sg_offset));
	ZERO_WORD(WORD(copy.reserved[0]));
	ZERO_WORD(WORD(copy.reserved[1]));
	ZERO_WORD(WORD(copy.reserved[2]));
	return FETCHED;
fault:
	return FETCH_FAULT;
}

static __always_inline enum axl_fetched
axl_fetch_matmul(struct axl_xlate *x, struct axl_window *w, struct axl_gathered *g,
		 struct axl_desc *to, const u64 __user *from)
{
	struct axl_matmul *mm = &to->matmul;
	u64 rows, cols, depth;

	COPY_WORD(WORD(matmul.alpha_f32));
	COPY_WORD(WORD(matmul.batch));
	COPY_WORD(WORD(matmul.m));
	COPY_WORD(WORD(matmul.k));
	if (unlikely(mm->flags & ~AXL_MM_F_ACCUMULATE || mm->batch != 1))
		return FETCH_LONG;
	rows = mm->m - 1ULL;
	cols = mm->n - 1ULL;
	depth = mm->k - 1ULL;
	if (unlikely((rows | cols | depth) >= AXL_MAX_DIM))
		return FETCH_LONG;
	FETCH_FLOATS(matmul.a, rows * mm->lda + mm->k);
	COPY_WORD(WORD(matmul.ldb));
	FETCH_FLOATS(matmul.b, depth * mm->ldb + mm->n);
	FETCH_FLOATS(matmul.c, rows * mm->ldc + mm->n);
	((u64 *)to)[WORD(matmul.batch_stride_b)] = 0;
	return FETCHED;
fault:
	return FETCH_FAULT;
}

static __always_inline enum axl_fetched
axl_fetch_vector(struct axl_xlate *x, struct axl_window *w, struct axl_gathered *g, u8 operands,
		 struct axl_desc *to, const u64 __user *from)
{
	struct axl_vector *v = &to->vector;
	u64 more;

	COPY_WORD(WORD(vector.dst_stride));
	COPY_WORD(WORD(vector.rows));
	more = v->rows - 1ULL;
	if (unlikely(v->flags || (more | (v->cols - 1ULL)) >= AXL_MAX_DIM))
		return FETCH_LONG;
	COPY_WORD(WORD(vector.src0_stride));
	if (!operands) {
		v->src0 = 0;
		v->src1 = 0;
	} else if (operands == AXL_V_SRC0) {
		FETCH_FLOATS(vector.src0, more * v->src0_stride + v->cols);
		v->src1 = 0;
	} else if (operands == (AXL_V_SRC0 | AXL_V_SRC1)) {
		FETCH_FLOATS(vector.src0, more * v->src0_stride + v->cols);
		FETCH_FLOATS(vector.src1, more * v->src1_stride + v->cols);
	} else {
		return FETCH_LONG;
	}
	FETCH_FLOATS(vector.dst, more * v->dst_stride + v->cols);
	COPY_WORD(WORD(vector.alpha_f32));
	COPY_WORD(WORD(vector.arg0));
	ZERO_WORD(WORD(vector.reserved));
	return FETCHED;
fault:
	return FETCH_FAULT;
}

/* Of all forms: as user space wrote it, for axl_translate(). */
static __always_inline bool axl_fetch_raw(struct axl_desc *to, const u64 __user *from)
{
	u32 i;

	for (i = 0; i < NUM_WORDS; i++)
		COPY_WORD(i);
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
axl_fetch_sems(const struct axl_xlate *x, struct axl_gathered *g, u64 sems, struct axl_desc *to,
	       const u64 __user *from)
{
	u64 first = (u64)x->hw * AXL_SEMS_PER_CONTEXT;

	g->zero |= sems >> 48;
	if (!axl_fetch_sem(&sems, 0, first) || !axl_fetch_sem(&sems, 16, first) ||
	    !axl_fetch_sem(&sems, 32, first))
		return FETCH_LONG;
	((u64 *)to)[WORD_SEMS] = sems;
	COPY_WORD(WORD(wait_value[0]));
	COPY_WORD(WORD(wait_value[1]));
	COPY_WORD(WORD(signal_value));
	return FETCHED;
fault:
	return FETCH_FAULT;
}

/* wait_sem[0], wait_sem[1], signal_sem and the reserved field behind them, when none is used. */
#define AXL_NO_SEMS	0x0000ffffffffffffULL

static __always_inline enum axl_fetched
axl_fetch_one(struct axl_xlate *x, struct axl_window *host, struct axl_window *device,
	      struct axl_gathered *g, u64 index, struct axl_desc *to,
	      const u64 __user *from)
{
	u64 op, correlation, tag, sems, vector;
	u64 *words = (u64 *)to;

	GET_WORD(op, WORD_OP);
	GET_WORD(correlation, WORD_CORRELATION);
	GET_WORD(tag, WORD_INDEX);
	GET_WORD(sems, WORD_SEMS);
	g->zero |= correlation;
	g->zero |= (u32)tag;
	if (likely(sems == AXL_NO_SEMS)) {
		words[WORD_SEMS] = AXL_NO_SEMS;
	} else {
		enum axl_fetched how = axl_fetch_sems(x, g, sems, to, from);

		if (unlikely(how != FETCHED))
			return how;
	}
	/* Also says that flags and job are 0: they are in the same word. */
	words[WORD_OP] = op | x->job_bits;
	words[WORD_CORRELATION] = x->correlation;
	words[WORD_INDEX] = tag + index;

	vector = op - AXL_VEC_WORD;
	if (vector < AXL_NUM_VECTOR_OPS)
		return axl_fetch_vector(x, device, g, axl_vector_ops[vector], to, from);
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
 * Puts a job's commands into the ring from its free-running index on, as the
 * device wants them, the last with its completion. -EFAULT: the user's page was not there; page faults are
 * off. With file->lock held, and q->submit.
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
			if (how == FETCH_FAULT || !axl_fetch_raw(to, from))
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
	err = g.zero || (g.words & (AXL_OFFSET_BAD | 3)) || (g.bytes & AXL_OFFSET_BAD) ? -EINVAL : 0;
fault:
	user_access_end();
out:
	pagefault_enable();
	return err;
}
