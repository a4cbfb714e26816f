// SPDX-License-Identifier: Apache-2.0
/* Command buffers for the ioctl fuzzer: valid, then slightly corrupted. */
#include <string.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/fuzz.h"

/* A place in one of the file's buffers, in device or in host memory, which nearly always fits. */
static uint64_t any_ref(struct fuzz *f, const struct fuzz_file *file, int on_device, uint64_t bytes)
{
	const struct fuzz_buf *buf = NULL;
	uint64_t room;
	int tries;

	for (tries = 0; tries < 4 * FUZZ_BUFS; tries++) {
		buf = &file->bufs[fuzz_below(f, FUZZ_BUFS)];
		if (buf->handle && buf->bytes >= bytes &&
		    on_device == (buf->kind == AXL_BUF_DEVICE || buf->kind == AXL_BUF_SCRATCH))
			break;
	}
	room = buf->bytes > bytes ? buf->bytes - bytes : 0;
	return AXL_REF(buf->handle, fuzz_random(f) % (room + 1) & ~3ull);
}

static struct axl_desc a_copy(struct fuzz *f, const struct fuzz_file *file)
{
	uint64_t bytes = 1 + fuzz_below(f, 16384);
	struct axl_desc cmd = cmd_copy(fuzz_one_in(f, 2) ? AXL_OP_COPY_H2D : AXL_OP_COPY_D2H,
				       any_ref(f, file, 0, bytes), any_ref(f, file, 1, bytes),
				       bytes);

	if (fuzz_one_in(f, 3)) {
		cmd.copy.bytes = 1 + fuzz_below(f, 64);
		cmd.copy.rows = 1 + (uint32_t)(bytes / 128);
		cmd.copy.host_pitch = 64 + fuzz_below(f, 64);
		cmd.copy.device_pitch = 64 + fuzz_below(f, 64);
	}
	return cmd;
}

static struct axl_desc a_matmul(struct fuzz *f, const struct fuzz_file *file)
{
	uint32_t m = 1 + fuzz_below(f, 32), n = 1 + fuzz_below(f, 32), k = 1 + fuzz_below(f, 32);
	struct axl_desc cmd = cmd_matmul(any_ref(f, file, 1, 4096), any_ref(f, file, 1, 4096),
					 any_ref(f, file, 1, 4096), m, n, k);

	cmd.matmul.flags = fuzz_below(f, AXL_MM_F_ALL + 1);
	if (cmd.matmul.flags & AXL_MM_F_TRANSPOSE_B)
		cmd.matmul.ldb = k;
	if (fuzz_one_in(f, 4)) {
		cmd.matmul.batch = 1 + fuzz_below(f, 4);
		cmd.matmul.batch_stride_a = fuzz_below(f, 64);
		cmd.matmul.batch_stride_c = m * n;
	}
	return cmd;
}

static struct axl_desc a_vector(struct fuzz *f, const struct fuzz_file *file)
{
	uint32_t cols = 1 + fuzz_below(f, 64);
	struct axl_desc cmd = cmd_fill(any_ref(f, file, 1, 8192), cols, 0.5f);
	struct axl_vector *v = &cmd.vector;

	cmd.opcode = (uint8_t)(AXL_OP_VEC_FILL + fuzz_below(f, 14));
	v->rows = 1 + fuzz_below(f, 16);
	v->src0 = any_ref(f, file, 1, 8192);
	v->src1 = any_ref(f, file, 1, 8192);
	v->src0_stride = v->src1_stride = v->dst_stride = cols + fuzz_below(f, 4);
	v->flags = fuzz_below(f, AXL_VEC_F_ALL + 1);
	v->arg0 = 1 + fuzz_below(f, 16);
	v->arg1 = fuzz_one_in(f, 2) ? cols : fuzz_below(f, 64);
	return cmd;
}

static void add_semaphores(struct fuzz *f, struct axl_desc *cmd)
{
	/* Rarely, since a wait that never ends costs the context its time limit. */
	if (fuzz_one_in(f, 60))
		cmd_wait(cmd, (uint16_t)fuzz_below(f, AXL_SEMS_PER_CONTEXT + 1), fuzz_number(f));
	if (fuzz_one_in(f, 4))
		cmd_wait(cmd, (uint16_t)fuzz_below(f, AXL_SEMS_PER_CONTEXT), 0);
	if (fuzz_one_in(f, 3))
		cmd_signal(cmd, (uint16_t)fuzz_below(f, AXL_SEMS_PER_CONTEXT), fuzz_number(f));
}

static void spoil(struct fuzz *f, struct axl_desc *cmd)
{
	unsigned char *bytes = (unsigned char *)cmd;
	uint32_t at;
	uint64_t number = fuzz_number(f);

	switch (fuzz_below(f, 4)) {
	case 0:
		bytes[fuzz_below(f, sizeof(*cmd))] ^= (unsigned char)(1u << fuzz_below(f, 8));
		break;
	case 1:
		at = fuzz_below(f, sizeof(*cmd) / 4) * 4;
		memcpy(bytes + at, &number, 4);
		break;
	case 2:
		at = fuzz_below(f, sizeof(*cmd) / 8) * 8;
		memcpy(bytes + at, &number, 8);
		break;
	default:
		cmd->opcode = (uint8_t)fuzz_random(f);
		cmd->engine = (uint8_t)fuzz_below(f, 6);
		break;
	}
}

uint32_t fuzz_commands(struct fuzz *f, const struct fuzz_file *file, struct axl_desc *cmds)
{
	uint32_t count = 1 + fuzz_below(f, fuzz_one_in(f, 8) ? FUZZ_CMDS : 4), i;
	int wrong = fuzz_one_in(f, 4);

	for (i = 0; i < count; i++) {
		switch (fuzz_below(f, 5)) {
		case 0: cmds[i] = cmd_nop((uint8_t)fuzz_below(f, AXL_NUM_ENGINES)); break;
		case 1: cmds[i] = a_matmul(f, file); break;
		case 2: cmds[i] = a_vector(f, file); break;
		default: cmds[i] = a_copy(f, file); break;
		}
		add_semaphores(f, &cmds[i]);
	}
	if (wrong)
		spoil(f, &cmds[fuzz_below(f, count)]);
	return count;
}
