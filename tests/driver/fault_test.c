// SPDX-License-Identifier: Apache-2.0
/*
 * Faults of the device one by one: the waiter gets a defined errno within its
 * deadline, other contexts go on with right results. Room: tests/driver.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"
#include "tests/driver/qmp.h"
#include "tests/driver/world.h"

TEST(lost_interrupts_are_made_up_by_polling)
{
	struct world w = world_open();
	long long polled = stat_of("polled_completions");
	struct axl_wait end;
	int64_t start;
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT(qmp_set("fault-lose-irqs", 1) == 0);
		start = now_ns();
		EXPECT_EQ(one_nop(&w, AXL_ENGINE_VECTOR, &end), 0);
		EXPECT(now_ns() - start < 2000000000ll);
	}
	EXPECT(stat_of("polled_completions") >= polled + 5);
	EXPECT_EQ(right_result(&w), 0);
}

/* Nobody sleeps in the driver: the watchdog finds it. */
TEST(lost_interrupt_reaches_a_fence)
{
	struct world w = world_open();
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_submit job;
	struct pollfd fence;

	ASSERT(qmp_set("fault-lose-irqs", 1) == 0);
	ASSERT(submit_flags(w.fd, w.ctx, 0, AXL_SUBMIT_FENCE_FD, &nop, 1, &job) == 0);
	fence = (struct pollfd){ .fd = job.fence_fd, .events = POLLIN };
	EXPECT_EQ(poll(&fence, 1, 10000), 1);
	EXPECT_EQ(fence.revents, POLLIN);
}

TEST(late_interrupts_do_no_harm)
{
	struct world w = world_open();
	struct axl_wait end;
	int i;

	ASSERT(qmp_set("fault-late-irq-ns", 50000000) == 0);
	ASSERT(qmp_set("fault-late-irqs", 5) == 0);
	for (i = 0; i < 5; i++)
		EXPECT_EQ(one_nop(&w, AXL_ENGINE_VECTOR, &end), 0);
	EXPECT_EQ(right_result(&w), 0);
}

struct engine {
	const char *name;
	int engine;
};

TEST_VARIANTS(hang_ends_with_the_guilty_told, struct engine, { "h2d", AXL_ENGINE_H2D },
	      { "d2h", AXL_ENGINE_D2H }, { "matrix", AXL_ENGINE_MATRIX },
	      { "vector", AXL_ENGINE_VECTOR })
{
	struct world bad = world_open(), good = world_open();
	long long timeouts = stat_of("job_timeouts");
	struct axl_desc cmds[3] = { cmd_nop(0), cmd_nop(0), cmd_nop(0) };
	struct axl_submit job, behind;
	struct pollfd fence;
	struct axl_wait end;
	int64_t start = now_ns();
	int i;

	job_timeout_ms(500);
	for (i = 0; i < 3; i++)
		cmds[i].engine = (uint8_t)((variant->engine + i) % AXL_NUM_ENGINES);
	/* The second command of the job is the one that hangs. */
	ASSERT(qmp_set("fault-hang-engine", cmds[1].engine) == 0);
	ASSERT(submit_flags(bad.fd, bad.ctx, 0, AXL_SUBMIT_FENCE_FD, cmds, 3, &job) == 0);
	ASSERT(submit(bad.fd, bad.ctx, 1, cmds, 1, &behind) == 0);
	/* Another context needs the same engine: it has to wait, but not to suffer. */
	EXPECT_EQ(right_result(&good), 0);
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, job.sequence, 15000, &end), -EIO);
	EXPECT_EQ(end.status, AXL_ST_HANG);
	EXPECT_EQ(end.error_index, 1);
	EXPECT(now_ns() - start < 15000000000ll);
	fence = (struct pollfd){ .fd = job.fence_fd, .events = POLLIN };
	EXPECT_EQ(poll(&fence, 1, 0), 1);
	EXPECT_EQ(fence.revents, POLLIN | POLLERR);
	EXPECT_EQ(submit(bad.fd, bad.ctx, 0, cmds, 1, &job), -EIO);
	EXPECT_EQ(stat_of("job_timeouts"), timeouts + 1);
	/* A new context of the same file works. */
	qmp_set("fault-hang-engine", -1);
	EXPECT_EQ(ctx_destroy(bad.fd, bad.ctx), 0);
	bad = world_open();
	EXPECT_EQ(right_result(&bad), 0);
	EXPECT_EQ(right_result(&good), 0);
	job_timeout_ms(10000);
}

TEST(a_semaphore_nobody_signals_is_the_waiters_fault)
{
	struct world bad = world_open(), good = world_open();
	struct axl_desc cmd = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_submit job;
	struct axl_wait end;

	job_timeout_ms(500);
	cmd_wait(&cmd, 5, 1);
	ASSERT(submit(bad.fd, bad.ctx, 0, &cmd, 1, &job) == 0);
	EXPECT_EQ(right_result(&good), 0);
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, job.sequence, 15000, &end), -EIO);
	EXPECT_EQ(end.status, AXL_ST_HANG);
	EXPECT_EQ(right_result(&good), 0);
	job_timeout_ms(10000);
}

struct failing {
	const char *name;
	const char *fault;
	uint32_t status;
};

TEST_VARIANTS(failed_command_ends_its_context_only, struct failing,
	      { "dma", "fault-fail-dmas", AXL_ST_DMA_ERROR },
	      { "poison", "fault-poison", AXL_ST_POISONED })
{
	struct world bad = world_open(), good = world_open();
	struct axl_desc cmds[2];
	struct axl_submit job;
	struct axl_wait end;

	cmds[0] = cmd_nop(AXL_ENGINE_D2H);
	cmds[1] = cmd_copy(AXL_OP_COPY_H2D, AXL_REF(bad.host.handle, 0),
			   AXL_REF(bad.device.handle, 0), 4096);
	EXPECT_EQ(submit_wait(bad.fd, bad.ctx, 0, cmds, 1), 0);
	ASSERT(qmp_set(variant->fault, 1) == 0);
	ASSERT(submit(bad.fd, bad.ctx, 0, cmds + 1, 1, &job) == 0);
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, job.sequence, 15000, &end), -EIO);
	EXPECT_EQ(end.status, variant->status);
	EXPECT_EQ(end.error_index, 0);
	/* What was done before stays done. */
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, 1, 0, &end), 0);
	EXPECT_EQ(right_result(&bad), -EIO);
	EXPECT_EQ(right_result(&good), 0);
	/* Its buffers are not busy any more. */
	EXPECT_EQ(buf_destroy(bad.fd, bad.device.handle), 0);
}

TEST(an_index_out_of_its_table_names_the_command)
{
	struct world bad = world_open(), good = world_open();
	uint64_t device = AXL_REF(bad.device.handle, 0);
	struct axl_desc cmds[3];
	struct axl_submit job;
	struct axl_wait end;

	((uint32_t *)bad.map)[0] = 1000000;
	cmds[0] = cmd_copy(AXL_OP_COPY_H2D, AXL_REF(bad.host.handle, 0), device, 4);
	cmd_signal(&cmds[0], 0, 1);
	cmds[1] = cmd_nop(AXL_ENGINE_MATRIX);
	cmds[2] = cmd_fill(device + 8192, 16, 0);
	cmds[2].opcode = AXL_OP_VEC_GATHER;
	cmds[2].vector.src0 = device;
	cmds[2].vector.src1 = device + 4096;
	cmds[2].vector.src1_stride = 16;
	cmds[2].vector.arg0 = 4;
	cmd_wait(&cmds[2], 0, 1);
	ASSERT(submit(bad.fd, bad.ctx, 0, cmds, 3, &job) == 0);
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, job.sequence, 15000, &end), -EIO);
	EXPECT(end.status == AXL_ST_BAD_ADDRESS || end.status == AXL_ST_BAD_FIELD);
	EXPECT_EQ(end.error_index, 2);
	EXPECT_EQ(right_result(&good), 0);
}

/* Its completion then comes before that of a job which the device drops. */
TEST(a_failure_may_overtake_earlier_jobs)
{
	struct world bad = world_open(), good = world_open();
	long long spoiled = stat_of("bad_completions");
	struct axl_desc waits = cmd_nop(AXL_ENGINE_D2H);
	struct axl_desc fails = cmd_fill(AXL_REF(bad.device.handle, 0), 16, 0);
	struct axl_submit first, second, third;
	struct pollfd fence;
	struct axl_wait end;

	cmd_wait(&waits, 5, 1);
	ASSERT(submit(bad.fd, bad.ctx, 0, &waits, 1, &first) == 0);
	ASSERT(qmp_set("fault-poison", 1) == 0);
	ASSERT(submit_flags(bad.fd, bad.ctx, 0, AXL_SUBMIT_FENCE_FD, &fails, 1, &second) == 0);
	/* It may come too late for that. */
	if (submit(bad.fd, bad.ctx, 0, &waits, 1, &third) == 0) {
		EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, third.sequence, 15000, &end), -EIO);
		EXPECT_EQ(end.status, AXL_ST_CANCELED);
	}
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, first.sequence, 15000, &end), -EIO);
	EXPECT_EQ(end.status, AXL_ST_CANCELED);
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, second.sequence, 15000, &end), -EIO);
	EXPECT_EQ(end.status, AXL_ST_POISONED);
	EXPECT_EQ(end.error_index, 0);
	fence = (struct pollfd){ .fd = second.fence_fd, .events = POLLIN };
	EXPECT_EQ(poll(&fence, 1, 10000), 1);
	EXPECT_EQ(fence.revents, POLLIN | POLLERR);
	EXPECT_EQ(stat_of("bad_completions"), spoiled);
	EXPECT_EQ(right_result(&good), 0);
}

TEST(spoiled_completions_are_refused)
{
	struct world bad = world_open(), good = world_open();
	long long count = stat_of("bad_completions");
	struct axl_wait end;
	int i, err, failed = 0;

	job_timeout_ms(500);
	for (i = 0; i < 8; i++) {
		ASSERT(qmp_set("fault-corrupt-completions", 1) == 0);
		err = one_nop(&bad, AXL_ENGINE_VECTOR, &end);
		EXPECT(err == 0 || err == -EIO);
		if (err == -EIO) {
			failed++;
			EXPECT(end.status == AXL_ST_RING_ERROR || end.status == AXL_ST_HANG);
			world_close(&bad);
			bad = world_open();
		}
		qmp_set("fault-corrupt-completions", 0);
		EXPECT_EQ(right_result(&good), 0);
	}
	EXPECT(failed > 0);
	EXPECT(stat_of("bad_completions") > count);
	job_timeout_ms(10000);
}

TEST(repeated_completions_are_ignored)
{
	struct world w = world_open();
	long long count = stat_of("bad_completions");
	struct axl_wait end;

	ASSERT(qmp_set("fault-dup-completions", 1) == 0);
	EXPECT_EQ(one_nop(&w, AXL_ENGINE_VECTOR, &end), 0);
	EXPECT_EQ(right_result(&w), 0);
	EXPECT_EQ(stat_of("bad_completions"), count + 1);
}

TEST(link_changes_are_seen)
{
	struct world w = world_open();
	struct axl_info before = dev_info(w.fd), now;
	long long changes = stat_of("link_changes");
	int i;

	ASSERT(qmp_set("link-speed", 1) == 0);
	ASSERT(qmp_set("link-width", 1) == 0);
	for (i = 0; i < 200 && stat_of("link_changes") == changes; i++)
		usleep(10000);
	EXPECT(stat_of("link_changes") > changes);
	EXPECT_EQ(right_result(&w), 0);
	now = dev_info(w.fd);
	EXPECT_EQ(now.link_speed, 1);
	EXPECT_EQ(now.link_width, 1);
	EXPECT_EQ(now.link_speed_max, before.link_speed_max);
	ASSERT(qmp_set("link-speed", 0) == 0);
	ASSERT(qmp_set("link-width", 0) == 0);
}

TEST(memory_errors_are_counted)
{
	struct world w = world_open();
	long long count = stat_of("ecc_events");
	int i;

	ASSERT(qmp_set("fault-ecc", 3) == 0);
	for (i = 0; i < 200 && stat_of("ecc_events") == count; i++)
		usleep(10000);
	EXPECT(stat_of("ecc_events") > count);
	EXPECT_EQ(right_result(&w), 0);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
