// SPDX-License-Identifier: Apache-2.0
/*
 * Runs AXL_LARGE of the largest possible matmuls in sequence; tests/vm/device-aside.sh observes the
 * emulator meanwhile.
 */
#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

enum { ROWS = 2048, COLS = 2048, DEPTH = 1024, WORDS = 1024 };

static void fill_all(int fd, uint32_t ctx, const struct axl_buf_create *buf, float value)
{
	struct axl_desc cmd = cmd_fill(AXL_REF(buf->handle, 0), buf->bytes / 4, value);

	ASSERT(submit_wait(fd, ctx, 0, &cmd, 1) == 0);
}

TEST(the_largest_matmul_is_right)
{
	const char *times = getenv("AXL_LARGE");
	int fd = dev_open(), i, n = times ? atoi(times) : 1, wrong = 0;
	struct axl_buf_create a, b, c, host;
	struct axl_ctx_create ctx;
	struct axl_desc cmd;
	float *map;

	job_timeout_ms(0);
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	ASSERT(buf_create(fd, AXL_BUF_DEVICE, 4ull * ROWS * DEPTH, NULL, &a) == 0);
	ASSERT(buf_create(fd, AXL_BUF_DEVICE, 4ull * DEPTH * COLS, NULL, &b) == 0);
	ASSERT(buf_create(fd, AXL_BUF_DEVICE, 4ull * ROWS * COLS, NULL, &c) == 0);
	ASSERT(buf_create(fd, AXL_BUF_HOST, 4 * WORDS, NULL, &host) == 0);
	map = buf_map(fd, &host);
	ASSERT(map);
	fill_all(fd, ctx.ctx, &a, 0.5f);
	fill_all(fd, ctx.ctx, &b, 3.0f);
	for (i = 0; i < n; i++) {
		cmd = cmd_matmul(AXL_REF(a.handle, 0), AXL_REF(b.handle, 0), AXL_REF(c.handle, 0),
				 ROWS, COLS, DEPTH);
		ASSERT(submit_wait(fd, ctx.ctx, 0, &cmd, 1) == 0);
	}
	cmd = cmd_copy(AXL_OP_COPY_D2H, AXL_REF(host.handle, 0),
		       AXL_REF(c.handle, c.bytes - 4 * WORDS), 4 * WORDS);
	ASSERT(submit_wait(fd, ctx.ctx, 0, &cmd, 1) == 0);
	for (i = 0; i < WORDS; i++)
		wrong += map[i] != 1.5f * DEPTH;
	EXPECT_EQ(wrong, 0);
	job_timeout_ms(10000);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
