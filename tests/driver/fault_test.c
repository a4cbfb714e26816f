// SPDX-License-Identifier: Apache-2.0
/*
 * Faults of the device, one at a time: the waiter gets a defined errno within its deadline, other
 * contexts continue with correct results.
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

/* With no sleeper in the driver, the watchdog finds the completion. */
TEST(lost_interrupt_reaches_a_fence)
{
	struct world w = world_open();
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_submit job;
	struct pollfd fence;

	ASSERT(qmp_set("fault-lose-irqs", 1) == 0);
	ASSERT(submit_flags(w.fd, w.ctx, 0, AXL_SUBMIT_FENCE_FD, &nop, 1, &job) == 0);
	fence = (struct pollfd){ .fd = job.fence_fd, .events = POLLIN };
	EXPECT_EQ(poll(&fence, 1, PATIENCE_MS), 1);
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

TEST_VARIANTS(hang_ends_with_the_guilty_named, struct engine, { "h2d", AXL_ENGINE_H2D },
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
	/* The second command of the job hangs. */
	ASSERT(qmp_set("fault-hang-engine", cmds[1].engine) == 0);
	ASSERT(submit_flags(bad.fd, bad.ctx, 0, AXL_SUBMIT_FENCE_FD, cmds, 3, &job) == 0);
	ASSERT(submit(bad.fd, bad.ctx, 1, cmds, 1, &behind) == 0);
	/* Another context needs the same engine: it has to wait, but must not fail. */
	EXPECT_EQ(right_result(&good), 0);
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, job.sequence, PATIENCE_MS, &end), -EIO);
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
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, job.sequence, PATIENCE_MS, &end), -EIO);
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
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, job.sequence, PATIENCE_MS, &end), -EIO);
	EXPECT_EQ(end.status, variant->status);
	EXPECT_EQ(end.error_index, 0);
	/* Completed jobs stay completed. */
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, 1, 0, &end), 0);
	EXPECT_EQ(right_result(&bad), -EIO);
	EXPECT_EQ(right_result(&good), 0);
	/* Its buffers are no longer busy. */
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
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, job.sequence, PATIENCE_MS, &end), -EIO);
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
	/* It may be too late for that. */
	if (submit(bad.fd, bad.ctx, 0, &waits, 1, &third) == 0) {
		EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, third.sequence, PATIENCE_MS, &end), -EIO);
		EXPECT_EQ(end.status, AXL_ST_CANCELED);
	}
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, first.sequence, PATIENCE_MS, &end), -EIO);
	EXPECT_EQ(end.status, AXL_ST_CANCELED);
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, second.sequence, PATIENCE_MS, &end), -EIO);
	EXPECT_EQ(end.status, AXL_ST_POISONED);
	EXPECT_EQ(end.error_index, 0);
	fence = (struct pollfd){ .fd = second.fence_fd, .events = POLLIN };
	EXPECT_EQ(poll(&fence, 1, PATIENCE_MS), 1);
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
	for (i = 0; i < 2000 && stat_of("link_changes") == changes; i++)
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
	for (i = 0; i < 2000 && stat_of("ecc_events") == count; i++)
		usleep(10000);
	EXPECT(stat_of("ecc_events") > count);
	EXPECT_EQ(right_result(&w), 0);
}

/* ---- faults that affect observers, not jobs ---- */

struct reader {
	struct axl_trace_header *header;
	const union axl_record *records;
};

static struct reader ring_map(const struct world *w, uint32_t ring, uint32_t classes)
{
	struct axl_trace_open open = { .size = sizeof(open), .ring = ring, .log2_records = 6,
				       .ctx = ring == AXL_TRACE_RING_CTX ? w->ctx : 0,
				       .classes = classes };
	struct reader r;

	ASSERT(dev_ioctl(w->fd, AXL_IOCTL_TRACE_OPEN, &open) == 0);
	r.header = mmap(NULL, open.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	ASSERT(r.header != MAP_FAILED);
	r.records = (const void *)((const char *)r.header + AXL_TRACE_HEADER_BYTES);
	return r;
}

/* Records are announced a little after they are made; any register read makes that happen. */
static uint64_t await_index(int fd, const __u64 *index, uint64_t wanted)
{
	uint64_t value = 0;
	int i;

	for (i = 0; i < 2000; i++) {
		struct axl_clock_sample sample = { .size = sizeof(sample) };

		dev_ioctl(fd, AXL_IOCTL_CLOCK_SAMPLE, &sample);
		value = __atomic_load_n(index, __ATOMIC_ACQUIRE);
		if (value >= wanted)
			break;
		usleep(5000);
	}
	return value;
}

TEST(a_stalled_ring_reports_what_it_lost)
{
	struct world all = world_open(), own = world_open();
	struct reader device = ring_map(&all, AXL_TRACE_RING_DEVICE, AXL_REC_CLASS(AXL_REC_JOB));
	struct reader ctx = ring_map(&own, AXL_TRACE_RING_CTX, AXL_REC_CLASS(AXL_REC_JOB));
	const union axl_record *rec;
	int i;

	for (i = 0; i < 3; i++)
		EXPECT_EQ(right_result(&own), 0);
	EXPECT_EQ(await_index(all.fd, &device.header->produced, 3), 3);
	ASSERT(qmp_set("fault-trace-stall", 1) == 0);
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(right_result(&own), 0);
		EXPECT_EQ(right_result(&all), 0);
	}
	EXPECT_EQ(await_index(all.fd, &device.header->lost, 10), 10);
	EXPECT_EQ(await_index(all.fd, &ctx.header->lost, 5), 5);
	EXPECT_EQ(device.header->produced, 3);
	ASSERT(qmp_set("fault-trace-stall", 0) == 0);
	EXPECT_EQ(right_result(&own), 0);
	EXPECT_EQ(await_index(all.fd, &device.header->produced, 5), 5);
	EXPECT_EQ(await_index(all.fd, &ctx.header->produced, 5), 5);
	rec = &device.records[3];
	EXPECT_EQ(rec->h.type, AXL_REC_LOSS);
	EXPECT_EQ(rec->loss.lost, 10);
	EXPECT_EQ(rec->h.sequence, 13);
	EXPECT_EQ(rec[1].h.type, AXL_REC_JOB);
	rec = &ctx.records[3];
	EXPECT_EQ(rec->h.type, AXL_REC_LOSS);
	EXPECT_EQ(rec->loss.lost, 5);
	EXPECT_EQ(device.header->lost, 10);
	EXPECT_EQ(ctx.header->lost, 5);
}

static uint64_t engine_ticks(int fd)
{
	uint64_t value = 0;
	struct axl_counters_read read = { .size = sizeof(read), .count = 1,
					  .values = (uintptr_t)&value,
					  .first = AXL_CTR_MATRIX_BUSY };

	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_COUNTERS, &read), 0);
	return value;
}

struct step {
	const char *name;
	long long ticks;
};

/* A thousand seconds exceed the duration of a test. */
TEST_VARIANTS(a_leap_of_the_clock_harms_no_job, struct step, { "forward", 1000000000000 },
	      { "back", -1000000000000 })
{
	struct world w = world_open(), good = world_open();
	struct reader ring = ring_map(&w, AXL_TRACE_RING_DEVICE, AXL_REC_CLASS(AXL_REC_EVENT));
	struct axl_clock_sample before = { .size = sizeof(before) }, after = before;
	struct axl_desc cmds[2] = { cmd_nop(AXL_ENGINE_MATRIX), cmd_nop(AXL_ENGINE_VECTOR) };
	uint64_t busy = engine_ticks(w.fd);
	struct axl_submit waits, frees;
	struct axl_wait end;
	double least, most;
	long long moved;

	/* One job waits across the jump. */
	cmd_wait(&cmds[0], 7, 1);
	cmd_signal(&cmds[1], 7, 1);
	ASSERT(submit(w.fd, w.ctx, 0, &cmds[0], 1, &waits) == 0);
	EXPECT_EQ(dev_ioctl(w.fd, AXL_IOCTL_CLOCK_SAMPLE, &before), 0);
	ASSERT(qmp_set("fault-clock-step", variant->ticks) == 0);
	EXPECT_EQ(dev_ioctl(w.fd, AXL_IOCTL_CLOCK_SAMPLE, &after), 0);
	EXPECT_EQ(right_result(&good), 0);
	ASSERT(submit(w.fd, w.ctx, 1, &cmds[1], 1, &frees) == 0);
	EXPECT_EQ(wait_seq(w.fd, w.ctx, 0, waits.sequence, PATIENCE_MS, &end), 0);
	EXPECT_EQ(end.status, AXL_ST_OK);
	/* The clock continues from its new value: within the host's measurement, and 1 %. */
	moved = (long long)(after.device_ticks - before.device_ticks) - variant->ticks;
	least = (double)(after.host_before_ns - before.host_after_ns) * 1e-9;
	most = (double)(after.host_after_ns - before.host_before_ns) * 1e-9;
	EXPECT((double)moved >= 0.99 * least * (double)dev_info(w.fd).clock_hz);
	EXPECT((double)moved <= 1.01 * most * (double)dev_info(w.fd).clock_hz);
	/* Completions have the new time; counters are not affected. */
	EXPECT(end.device_ticks - after.device_ticks < 500000000000);
	EXPECT(engine_ticks(w.fd) - busy < 500000000000);
	EXPECT_EQ(await_index(w.fd, &ring.header->produced, 1), 1);
	EXPECT_EQ(ring.records[0].event.event, AXL_EV_CLOCK);
	EXPECT(ring.records[0].h.time - ring.records[0].event.arg[1] == (uint64_t)variant->ticks);
	EXPECT_EQ(right_result(&w), 0);
}

TEST(throttling_slows_but_breaks_nothing)
{
	struct world w = world_open(), good = world_open();
	struct reader ring = ring_map(&w, AXL_TRACE_RING_CTX, AXL_REC_CLASS(AXL_REC_CMD));
	long long events = stat_of("throttle_events");
	uint64_t device = AXL_REF(w.device.handle, 0);
	struct axl_desc matmul = cmd_matmul(device, device + 16384, device + 32768, 64, 64, 64);
	const struct axl_rec_cmd *full, *slow;
	int i;

	EXPECT_EQ(submit_wait(w.fd, w.ctx, 0, &matmul, 1), 0);
	ASSERT(qmp_set("throttle-permille", 50) == 0);
	for (i = 0; i < 2000 && stat_of("throttle_events") == events; i++)
		usleep(10000);
	EXPECT_EQ(stat_of("throttle_events"), events + 1);
	EXPECT_EQ(right_result(&good), 0);
	EXPECT_EQ(submit_wait(w.fd, w.ctx, 0, &matmul, 1), 0);
	EXPECT_EQ(await_index(w.fd, &ring.header->produced, 2), 2);
	full = &ring.records[0].cmd;
	slow = &ring.records[1].cmd;
	EXPECT_EQ(full->stall[AXL_STALL_THROTTLE], 0);
	EXPECT(slow->stall[AXL_STALL_THROTTLE] > 0);
	EXPECT(slow->end - slow->start > full->end - full->start);
	ASSERT(qmp_set("throttle-permille", 1000) == 0);
	for (i = 0; i < 2000 && stat_of("throttle_events") == events + 1; i++)
		usleep(10000);
	EXPECT_EQ(stat_of("throttle_events"), events + 2);
	EXPECT_EQ(right_result(&w), 0);
	EXPECT_EQ(right_result(&good), 0);
}

/* Throttled so much that there is no progress: treated as a hang, without harm to others. */
TEST(throttled_to_a_standstill_is_a_hang)
{
	struct world bad = world_open(), good = world_open();
	uint64_t device = AXL_REF(bad.device.handle, 0);
	struct axl_desc matmul = cmd_matmul(device, device + 16384, device + 32768, 64, 64, 64);
	struct axl_submit job;
	struct axl_wait end;

	job_timeout_ms(500);
	matmul.matmul.batch = AXL_MAX_MACS / (64 * 64 * 64);	/* all of it the same product */
	ASSERT(qmp_set("throttle-permille", 1) == 0);
	ASSERT(submit(bad.fd, bad.ctx, 0, &matmul, 1, &job) == 0);
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, job.sequence, PATIENCE_MS, &end), -EIO);
	EXPECT_EQ(end.status, AXL_ST_HANG);
	EXPECT_EQ(end.error_index, 0);
	EXPECT_EQ(right_result(&good), 0);
	ASSERT(qmp_set("throttle-permille", 1000) == 0);
	EXPECT_EQ(right_result(&good), 0);
	job_timeout_ms(10000);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
