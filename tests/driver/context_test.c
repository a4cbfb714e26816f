// SPDX-License-Identifier: Apache-2.0
/* Contexts: limits, handles, priorities, lifetime. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

TEST(fields_are_checked)
{
	int fd = dev_open();
	struct axl_info info = dev_info(fd);
	struct axl_ctx_create ctx;

	EXPECT_EQ(ctx_create(fd, 0, 0, &ctx), -EINVAL);
	EXPECT_EQ(ctx_create(fd, info.num_queues + 1, 0, &ctx), -EINVAL);
	EXPECT_EQ(ctx_create(fd, 1, 4, &ctx), -EINVAL);
	ctx = (struct axl_ctx_create){ .size = sizeof(ctx), .num_queues = 1, .flags = 1 };
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_CTX_CREATE, &ctx), -EINVAL);
	ctx = (struct axl_ctx_create){ .size = sizeof(ctx), .num_queues = 1, .reserved = 1 };
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_CTX_CREATE, &ctx), -EINVAL);
}

TEST(handles_are_per_file)
{
	int a = dev_open(), b = dev_open();
	struct axl_ctx_create ctx;
	struct axl_desc nop = cmd_nop(AXL_ENGINE_MATRIX);

	ASSERT(ctx_create(a, 1, 0, &ctx) == 0);
	EXPECT(ctx.ctx != 0);
	EXPECT_EQ(ctx.num_sems, AXL_SEMS_PER_CONTEXT);
	EXPECT_EQ(submit_wait(a, ctx.ctx, 0, &nop, 1), 0);
	EXPECT_EQ(submit_wait(b, ctx.ctx, 0, &nop, 1), -ENOENT);
	EXPECT_EQ(ctx_destroy(b, ctx.ctx), -ENOENT);
	EXPECT_EQ(ctx_destroy(a, 0), -ENOENT);
	EXPECT_EQ(ctx_destroy(a, ~0u), -ENOENT);
	EXPECT_EQ(ctx_destroy(a, ctx.ctx), 0);
	EXPECT_EQ(ctx_destroy(a, ctx.ctx), -ENOENT);
	EXPECT_EQ(submit_wait(a, ctx.ctx, 0, &nop, 1), -ENOENT);
}

TEST(contexts_run_out_and_come_back)
{
	int fd = dev_open();
	struct axl_info info = dev_info(fd);
	struct axl_ctx_create ctx[AXL_MAX_CONTEXTS + 1];
	uint32_t limit = info.num_contexts < info.num_queues ? info.num_contexts :
							       info.num_queues;
	uint32_t i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < limit; i++)
			EXPECT_EQ(ctx_create(fd, 1, 0, &ctx[i]), 0);
		EXPECT_EQ(ctx_create(fd, 1, 0, &ctx[i]), -ENOSPC);
		if (round == 1) {
			close(fd);
			fd = dev_open();
			continue;
		}
		for (i = 0; i < limit; i++)
			EXPECT_EQ(ctx_destroy(fd, ctx[i].ctx), 0);
	}
}

TEST(queues_run_out)
{
	int fd = dev_open();
	struct axl_info info = dev_info(fd);
	struct axl_ctx_create all, one;

	ASSERT(ctx_create(fd, info.num_queues, 0, &all) == 0);
	EXPECT_EQ(ctx_create(fd, 1, 0, &one), -ENOSPC);
	EXPECT_EQ(ctx_destroy(fd, all.ctx), 0);
	EXPECT_EQ(ctx_create(fd, 1, 0, &one), 0);
}

struct priority {
	const char *name;
	uint32_t value;
	int privileged;
	int expected;
};

TEST_VARIANTS(priorities, struct priority,
	      { "low", 0, 0, 0 }, { "normal", 1, 0, 0 }, { "high_user", 2, 0, -EPERM },
	      { "top_user", 3, 0, -EPERM }, { "high_root", 2, 1, 0 }, { "top_root", 3, 1, 0 })
{
	int fd = dev_open();
	struct axl_ctx_create ctx;

	if (geteuid() != 0)
		harness_skip("needs root");
	if (!variant->privileged)
		ASSERT(setresuid(65534, 65534, 65534) == 0);
	EXPECT_EQ(ctx_create(fd, 1, variant->value, &ctx), variant->expected);
}

/* ---- effect of priorities ---- */

enum { RACE_QUEUES = 7, RACE_COMMANDS = 1024, RACE_WORDS = 1 << 16 };

/* Fills queues with work for one engine that begins at go(), with this many words per command. */
static struct axl_ctx_create line_up(int fd, uint32_t priority, uint32_t buf, uint32_t words)
{
	static struct axl_desc fills[RACE_COMMANDS];
	struct axl_ctx_create ctx;
	struct axl_submit job;
	uint32_t q;

	ASSERT(ctx_create(fd, RACE_QUEUES + 1, priority, &ctx) == 0);
	for (q = 0; q < RACE_COMMANDS; q++)
		fills[q] = cmd_fill(AXL_REF(buf, 0), words, 1);
	cmd_wait(&fills[0], 0, 1);
	for (q = 0; q < RACE_QUEUES; q++)
		ASSERT(submit(fd, ctx.ctx, q, fills, RACE_COMMANDS, &job) == 0);
	return ctx;
}

static void go(int fd, const struct axl_ctx_create *ctx)
{
	struct axl_desc cmd = cmd_nop(AXL_ENGINE_MATRIX);
	struct axl_submit job;

	cmd_signal(&cmd, 0, 1);
	ASSERT(submit(fd, ctx->ctx, RACE_QUEUES, &cmd, 1, &job) == 0);
}

/* Device time at which the last of its queues completed. */
static uint64_t finish(int fd, const struct axl_ctx_create *ctx)
{
	struct axl_wait end;
	uint64_t last = 0;
	uint32_t q;

	for (q = 0; q < RACE_QUEUES; q++) {
		ASSERT(wait_seq(fd, ctx->ctx, q, 1, PATIENCE_MS, &end) == 0);
		last = end.device_ticks > last ? end.device_ticks : last;
	}
	return last;
}

struct race {
	const char *name;
	uint32_t first, second;	/* priorities */
	int overtakes;
};

/* Equal work: the later one can only end earlier because of its priority. */
TEST_VARIANTS(a_higher_priority_goes_first, struct race,
	      { "equal", 1, 1, 0 }, { "by_one", 0, 1, 1 }, { "top", 2, 3, 1 })
{
	struct axl_ctx_create first, second;
	struct axl_buf_create buf;
	int fd = dev_open(), both = 0;
	uint32_t words;
	uint64_t ends[2];

	if (dev_info(fd).num_queues < 2 * (RACE_QUEUES + 1))
		harness_skip("too few queues");
	ASSERT(buf_create(fd, AXL_BUF_DEVICE, 4 * RACE_WORDS, NULL, &buf) == 0);
	/* If the first ends before the second has begun, repeat with more work. */
	for (words = 64; !both && words <= RACE_WORDS; words *= 2) {
		first = line_up(fd, variant->first, buf.handle, words);
		second = line_up(fd, variant->second, buf.handle, words);
		go(fd, &first);
		go(fd, &second);
		both = wait_seq(fd, first.ctx, 0, 1, 0, &(struct axl_wait){ 0 }) == -ETIMEDOUT;
		ends[0] = finish(fd, &first);
		ends[1] = finish(fd, &second);
		EXPECT_EQ(ctx_destroy(fd, first.ctx), 0);
		EXPECT_EQ(ctx_destroy(fd, second.ctx), 0);
	}
	ASSERT(both);
	EXPECT_EQ(ends[1] < ends[0], variant->overtakes);
}

/* A process that dies during its work leaves nothing allocated. */
TEST(death_releases_everything)
{
	int fd = dev_open();
	uint64_t free_bytes = dev_info(fd).dram_free_bytes;
	int i;

	for (i = 0; i < 8; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			int own = dev_open();
			struct axl_ctx_create ctx;
			struct axl_buf_create buf;
			struct axl_submit job;
			struct axl_desc cmd;
			int j;

			if (ctx_create(own, 1, 0, &ctx) ||
			    buf_create(own, AXL_BUF_DEVICE, 1 << 20, NULL, &buf))
				_exit(1);
			for (j = 0; j < 100; j++) {
				cmd = cmd_fill(AXL_REF(buf.handle, 0), 1 << 18, 1.0f);
				if (submit(own, ctx.ctx, 0, &cmd, 1, &job))
					_exit(2);
			}
			abort();
		}
		ASSERT(waitpid(pid, &status, 0) == pid);
		EXPECT(WIFSIGNALED(status));
	}
	EXPECT_EQ(dev_info(fd).dram_free_bytes, free_bytes);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
