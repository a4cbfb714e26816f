// SPDX-License-Identifier: Apache-2.0
/* Submission: refusals, results, order and limits. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

struct world {
	int fd;
	uint32_t ctx;
	struct axl_buf_create host, device, scratch;
	float *map;
};

static struct world world_open(uint32_t queues)
{
	struct world w = { .fd = dev_open() };
	struct axl_ctx_create ctx;

	ASSERT(ctx_create(w.fd, queues, 0, &ctx) == 0);
	w.ctx = ctx.ctx;
	ASSERT(buf_create(w.fd, AXL_BUF_HOST, 1 << 16, NULL, &w.host) == 0);
	ASSERT(buf_create(w.fd, AXL_BUF_DEVICE, 1 << 16, NULL, &w.device) == 0);
	ASSERT(buf_create(w.fd, AXL_BUF_SCRATCH, 1 << 14, NULL, &w.scratch) == 0);
	w.map = buf_map(w.fd, &w.host);
	ASSERT(w.map);
	return w;
}

TEST(arguments_are_checked)
{
	struct world w = world_open(1);
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_submit job;

	EXPECT_EQ(submit(w.fd, w.ctx, 0, &nop, 0, &job), -EINVAL);
	EXPECT_EQ(submit(w.fd, w.ctx, 0, &nop, AXL_MAX_JOB_COMMANDS + 1, &job), -EINVAL);
	EXPECT_EQ(submit(w.fd, w.ctx, 1, &nop, 1, &job), -ENOENT);
	EXPECT_EQ(submit(w.fd, w.ctx + 1, 0, &nop, 1, &job), -ENOENT);
	EXPECT_EQ(submit_flags(w.fd, w.ctx, 0, 1u << 31, &nop, 1, &job), -EINVAL);
	EXPECT_EQ(submit(w.fd, w.ctx, 0, NULL, 1, &job), -EFAULT);
	EXPECT_EQ(submit(w.fd, w.ctx, 0, (void *)(uintptr_t)-4096, 1, &job), -EFAULT);
	job = (struct axl_submit){ .size = sizeof(job), .ctx = w.ctx, .cmds = (uintptr_t)&nop,
				   .num_cmds = 1, .cmd_bytes = 64 };
	EXPECT_EQ(dev_ioctl(w.fd, AXL_IOCTL_SUBMIT, &job), -EINVAL);
	EXPECT_EQ(submit(w.fd, w.ctx, 0, &nop, 1, &job), 0);
	EXPECT_EQ(job.sequence, 1);
	EXPECT_EQ(job.fence_fd, -1);
	EXPECT(job.job != 0);
}

enum spoil {
	OPCODE, ENGINE, FLAGS, JOB, INDEX, CORRELATION, RESERVED, SEM_WAIT, SEM_SIGNAL,
	COPY_HANDLE, COPY_OFFSET, COPY_BYTES, COPY_ZERO, COPY_ROWS, COPY_RESERVED, COPY_SG,
	COPY_KIND, COPY_DEVICE_KIND, MM_FLAGS, MM_ZERO, MM_BIG, MM_WRAP, MM_BATCH, MM_ALIGN,
	MM_STRIDE, VEC_FLAGS, VEC_BIG, VEC_WRAP, VEC_ALIGN, VEC_RESERVED, VEC_GATHER, NO_HANDLE,
	COPY_TOP, COPY_DEVICE_TOP, MM_TOP, MM_BF16_ALIGN, VEC_TOP, VEC_OTHER_HANDLE,
};

struct spoiled {
	const char *name;
	enum spoil what;
};

static struct axl_desc spoiled_command(const struct world *w, enum spoil what)
{
	uint64_t host = AXL_REF(w->host.handle, 0), device = AXL_REF(w->device.handle, 0);
	struct axl_desc copy = cmd_copy(AXL_OP_COPY_H2D, host, device, 4096);
	struct axl_desc mm = cmd_matmul(device, device + 4096, device + 8192, 16, 16, 16);
	struct axl_desc vec = cmd_fill(device, 256, 1.0f);

	switch (what) {
	case OPCODE: copy.opcode = 0x7f; return copy;
	case ENGINE: copy.engine = AXL_ENGINE_MATRIX; return copy;
	case FLAGS: copy.flags = AXL_DESC_F_COMPLETE; return copy;
	case JOB: copy.job = 1; return copy;
	case INDEX: copy.index = 1; return copy;
	case CORRELATION: copy.correlation = 1; return copy;
	case RESERVED: copy.reserved = 1; return copy;
	case SEM_WAIT: copy.wait_sem[1] = AXL_SEMS_PER_CONTEXT; return copy;
	case SEM_SIGNAL: copy.signal_sem = 0x7fff; return copy;
	case COPY_HANDLE: copy.copy.host = AXL_REF(999, 0); return copy;
	case COPY_OFFSET: copy.copy.device += (1 << 16) - 4095; return copy;
	case COPY_BYTES: copy.copy.bytes = ~0ull; return copy;
	case COPY_ZERO: copy.copy.bytes = 0; return copy;
	case COPY_ROWS:
		copy.copy.rows = 0xffffffff;
		copy.copy.host_pitch = 0xffffffff;
		copy.copy.device_pitch = 0xffffffff;
		return copy;
	case COPY_RESERVED: copy.copy.reserved[2] = 1; return copy;
	case COPY_SG: copy.copy.sg_count = 1; return copy;
	case COPY_KIND: copy.copy.host = device; return copy;
	case COPY_DEVICE_KIND: copy.copy.device = host; return copy;
	case MM_FLAGS: mm.matmul.flags = 1u << 31; return mm;
	case MM_ZERO: mm.matmul.k = 0; return mm;
	case MM_BIG: mm.matmul.m = mm.matmul.n = mm.matmul.k = 0xffffffff; return mm;
	case MM_WRAP:
		mm.matmul.batch = mm.matmul.m = 0xffffffff;
		mm.matmul.batch_stride_a = mm.matmul.lda = 0xffffffff;
		return mm;
	case MM_BATCH: mm.matmul.batch = 0; return mm;
	case MM_ALIGN: mm.matmul.a += 2; return mm;
	case MM_STRIDE: mm.matmul.ldc = 1 << 12; return mm;
	case VEC_FLAGS: vec.vector.flags = 1u << 8; return vec;
	case VEC_BIG: vec.vector.cols = (1 << 14) + 1; return vec;
	case VEC_WRAP:
		vec.vector.rows = 0xffffffff;
		vec.vector.dst_stride = 0xffffffff;
		return vec;
	case VEC_ALIGN: vec.vector.dst += 1; return vec;
	case VEC_RESERVED: vec.vector.reserved = 1; return vec;
	case VEC_GATHER:
		vec.opcode = AXL_OP_VEC_GATHER;
		vec.vector.src0 = device;
		vec.vector.src1 = device;
		vec.vector.src1_stride = 256;
		vec.vector.arg0 = 65;	/* rows of the table: one too many */
		return vec;
	/* At the top of 64 bits: with its extent it wraps to a valid offset. */
	case COPY_TOP: copy.copy.host = -64ull; return copy;
	case COPY_DEVICE_TOP: copy.copy.device = -4096ull + 64; return copy;
	case MM_TOP: mm.matmul.b = -64ull; return mm;
	case VEC_TOP: vec.vector.dst = device - 8; return vec;
	case MM_BF16_ALIGN:
		mm.matmul.flags = AXL_MM_F_A_BF16;
		mm.matmul.a += 1;
		return mm;
	case VEC_OTHER_HANDLE: vec.vector.dst = device ^ AXL_REF(0x800000, 0); return vec;
	default: vec.vector.dst = 0; return vec;
	}
}

#define S(what) { #what, what }
TEST_VARIANTS(bad_command_is_einval, struct spoiled, S(OPCODE), S(ENGINE), S(FLAGS), S(JOB),
	      S(INDEX), S(CORRELATION), S(RESERVED), S(SEM_WAIT), S(SEM_SIGNAL), S(COPY_HANDLE),
	      S(COPY_OFFSET), S(COPY_BYTES), S(COPY_ZERO), S(COPY_ROWS), S(COPY_RESERVED),
	      S(COPY_SG), S(COPY_KIND), S(COPY_DEVICE_KIND), S(MM_FLAGS), S(MM_ZERO), S(MM_BIG),
	      S(MM_WRAP), S(MM_BATCH), S(MM_ALIGN), S(MM_STRIDE), S(VEC_FLAGS), S(VEC_BIG),
	      S(VEC_WRAP), S(VEC_ALIGN), S(VEC_RESERVED), S(VEC_GATHER), S(NO_HANDLE),
	      S(COPY_TOP), S(COPY_DEVICE_TOP), S(MM_TOP), S(MM_BF16_ALIGN), S(VEC_TOP),
	      S(VEC_OTHER_HANDLE))
{
	struct world w = world_open(1);
	struct axl_desc cmds[3] = { cmd_nop(AXL_ENGINE_H2D), spoiled_command(&w, variant->what),
				    cmd_nop(AXL_ENGINE_H2D) };
	struct axl_submit job;

	EXPECT_EQ(submit(w.fd, w.ctx, 0, cmds, 3, &job), -EINVAL);
	/* A valid command that named the same buffers before does not let it pass either. */
	cmds[0] = cmd_copy(AXL_OP_COPY_H2D, AXL_REF(w.host.handle, 64),
			   AXL_REF(w.device.handle, 64), 4096);
	EXPECT_EQ(submit(w.fd, w.ctx, 0, cmds, 3, &job), -EINVAL);
	cmds[0] = cmds[2];
	/* The queue and the buffers are still usable. */
	EXPECT_EQ(submit(w.fd, w.ctx, 0, cmds, 1, &job), 0);
	EXPECT_EQ(job.sequence, 1);
	EXPECT_EQ(submit_wait(w.fd, w.ctx, 0, cmds, 1), 0);
	EXPECT_EQ(buf_destroy(w.fd, w.device.handle), 0);
}

TEST(matmul_between_copies)
{
	enum { N = 24 };
	struct world w = world_open(1);
	uint64_t host = AXL_REF(w.host.handle, 0), device = AXL_REF(w.device.handle, 0);
	struct axl_desc cmds[4];
	int i, j, k;

	for (i = 0; i < 2 * N * N; i++)
		w.map[i] = (float)(i % 17) - 8.0f;
	cmds[0] = cmd_copy(AXL_OP_COPY_H2D, host, device, 2 * N * N * 4);
	cmd_signal(&cmds[0], 0, 1);
	cmds[1] = cmd_matmul(device, device + N * N * 4, device + 2 * N * N * 4, N, N, N);
	cmd_wait(&cmds[1], 0, 1);
	cmd_signal(&cmds[1], 1, 5);
	cmds[2] = cmd_copy(AXL_OP_COPY_D2H, host + 2 * N * N * 4, device + 2 * N * N * 4,
			   N * N * 4);
	cmd_wait(&cmds[2], 1, 5);
	cmds[3] = cmd_nop(AXL_ENGINE_VECTOR);
	ASSERT(submit_wait(w.fd, w.ctx, 0, cmds, 4) == 0);
	for (i = 0; i < N; i++) {
		for (j = 0; j < N; j++) {
			float sum = 0, got = w.map[2 * N * N + i * N + j];

			for (k = 0; k < N; k++)
				sum += w.map[i * N + k] * w.map[N * N + k * N + j];
			if (got != sum)
				harness_fail(__FILE__, __LINE__, "C[%d][%d] = %g, not %g", i, j,
					     got, sum);
		}
	}
}

/* Far more commands than fit the ring, across wraps, with one result that needs all of them. */
TEST(ring_wraps_many_times)
{
	enum { JOBS = 60, CMDS = 300 };
	struct world w = world_open(1);
	uint64_t device = AXL_REF(w.device.handle, 0);
	static struct axl_desc cmds[CMDS];
	struct axl_submit job;
	struct axl_wait end;
	int i;

	w.map[0] = 1.0f;
	cmds[0] = cmd_copy(AXL_OP_COPY_H2D, AXL_REF(w.host.handle, 0), device, 4);
	ASSERT(submit_wait(w.fd, w.ctx, 0, cmds, 1) == 0);
	for (i = 0; i < CMDS; i++)
		cmds[i] = cmd_nop(AXL_ENGINE_VECTOR);
	/* x = x * 1 + 1 in each job's first command */
	cmds[0] = cmd_fill(device, 1, 1.0f);
	cmds[0].opcode = AXL_OP_VEC_SCALE;
	cmds[0].vector.src0 = device;
	cmds[0].vector.src0_stride = 1;
	cmds[0].vector.beta_f32 = cmds[0].vector.alpha_f32;
	for (i = 0; i < JOBS; i++) {
		ASSERT(submit(w.fd, w.ctx, 0, cmds, CMDS, &job) == 0);
		EXPECT_EQ(job.sequence, i + 2);
	}
	ASSERT(wait_seq(w.fd, w.ctx, 0, job.sequence, PATIENCE_MS, &end) == 0);
	cmds[0] = cmd_copy(AXL_OP_COPY_D2H, AXL_REF(w.host.handle, 0), device, 4);
	ASSERT(submit_wait(w.fd, w.ctx, 0, cmds, 1) == 0);
	EXPECT_EQ(w.map[0], JOBS + 1);
}

TEST(full_ring_is_eagain_when_asked)
{
	static struct axl_desc cmds[AXL_MAX_JOB_COMMANDS];
	struct world w = world_open(2);
	struct axl_submit job, go;
	struct axl_wait end;
	int i, err = 0;

	for (i = 0; i < AXL_MAX_JOB_COMMANDS; i++)
		cmds[i] = cmd_nop(AXL_ENGINE_VECTOR);
	cmd_wait(&cmds[0], 0, 1);
	for (i = 0; i < 64 && !err; i++)
		err = submit_flags(w.fd, w.ctx, 0, AXL_SUBMIT_NONBLOCK, cmds,
				   AXL_MAX_JOB_COMMANDS, &job);
	EXPECT_EQ(err, -EAGAIN);
	EXPECT(i >= 2);
	cmds[0] = cmd_nop(AXL_ENGINE_MATRIX);
	cmd_signal(&cmds[0], 0, 1);
	ASSERT(submit(w.fd, w.ctx, 1, cmds, 1, &go) == 0);
	/* With blocking it may wait for space. */
	ASSERT(submit(w.fd, w.ctx, 0, cmds + 1, AXL_MAX_JOB_COMMANDS - 1, &job) == 0);
	EXPECT_EQ(wait_seq(w.fd, w.ctx, 0, job.sequence, PATIENCE_MS, &end), 0);
}

/* Commands in memory that is absent, partly absent, or becomes read-only. */
TEST(commands_are_faulted_in)
{
	struct world w = world_open(1);
	char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	struct axl_desc *cmds = (struct axl_desc *)(pages + 4096 - 64);
	struct axl_submit job;
	int i;

	for (i = 0; i < 40; i++)
		cmds[i] = cmd_nop(AXL_ENGINE_D2H);
	/* Dropped file pages come back from the page cache, each with a fault. */
	ASSERT(madvise(pages + 8192, 4096, MADV_DONTNEED) == 0);
	EXPECT_EQ(submit(w.fd, w.ctx, 0, cmds, 31, &job), 0);
	ASSERT(mprotect(pages, 3 * 4096, PROT_READ) == 0);
	EXPECT_EQ(submit_wait(w.fd, w.ctx, 0, cmds, 31), 0);
	munmap(pages + 4096, 4096);
	EXPECT_EQ(submit(w.fd, w.ctx, 0, cmds, 31, &job), -EFAULT);
}

TEST(a_context_cannot_reach_another_files_buffers)
{
	struct world a = world_open(1), b = world_open(1);
	struct axl_submit job;
	struct axl_desc cmd;
	struct axl_buf_create extra;

	/* b has handles that a does not have. */
	ASSERT(buf_create(b.fd, AXL_BUF_DEVICE, 4096, NULL, &extra) == 0);
	cmd = cmd_fill(AXL_REF(extra.handle, 0), 16, 1.0f);
	EXPECT_EQ(submit_wait(b.fd, b.ctx, 0, &cmd, 1), 0);
	EXPECT_EQ(submit(a.fd, a.ctx, 0, &cmd, 1, &job), -EINVAL);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
