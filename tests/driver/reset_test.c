// SPDX-License-Identifier: Apache-2.0
/*
 * A context whose reset does not end makes the driver reset the whole device: the guilty job is
 * named, other jobs in flight are reported as canceled, completed jobs stay completed, and all
 * users continue with new contexts. AXL_CYCLES sets the number of cycles under load.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/driver/harness.h"
#include "tests/driver/qmp.h"
#include "tests/driver/world.h"

static void expect_uevent(int fd, const char *wanted)
{
	const char *got = uevent_next(fd);

	if (strcmp(got, wanted))
		harness_fail(__FILE__, __LINE__, "uevent '%s', not '%s'", got, wanted);
}

struct cause {
	const char *name;
	enum { HANGS, FAILS, GOES } how;
	uint32_t status;	/* of the job in the context that is to be reset */
};

#define CAUSES \
	{ "hang", HANGS, AXL_ST_HANG }, { "failed_command", FAILS, AXL_ST_POISONED }, \
	{ "destroyed", GOES, AXL_ST_CANCELED }

/* The job that causes it: its second command hangs, fails, or waits for ever. */
static void start_trouble(const struct world *w, const struct cause *cause, struct axl_submit *job)
{
	struct axl_desc cmds[2] = { cmd_nop(AXL_ENGINE_D2H), cmd_nop(AXL_ENGINE_MATRIX) };

	if (cause->how == HANGS)
		ASSERT(qmp_set("fault-hang-engine", AXL_ENGINE_MATRIX) == 0);
	if (cause->how == GOES)
		cmd_wait(&cmds[1], 100, 1);
	if (cause->how == FAILS)
		ASSERT(qmp_set("fault-poison", 1) == 0);
	/* Poison hits the next command of any engine, so this must be the only one. */
	ASSERT(submit_flags(w->fd, w->ctx, 0, AXL_SUBMIT_FENCE_FD, cmds + (cause->how == FAILS),
			    cause->how == FAILS ? 1 : 2, job) == 0);
	if (cause->how == GOES)
		EXPECT_EQ(ctx_destroy(w->fd, w->ctx), 0);
}

static void expect_fence(int fd, uint32_t status)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	struct axl_fence_status end = { 0 };

	EXPECT_EQ(poll(&poller, 1, PATIENCE_MS), 1);
	EXPECT_EQ(poller.revents, POLLIN | POLLERR);
	EXPECT_EQ(read(fd, &end, sizeof(end)), sizeof(end));
	EXPECT_EQ(end.status, status);
}

TEST_VARIANTS(a_context_that_does_not_reset_takes_the_device_along, struct cause, CAUSES)
{
	struct world bad = world_open(), busy = world_open(), idle = world_open();
	struct axl_trace_open open = { .size = sizeof(open), .log2_records = 9, .watermark = 1,
				       .classes = AXL_REC_CLASS(AXL_REC_JOB) };
	struct axl_desc blocked = cmd_nop(AXL_ENGINE_VECTOR), nop = blocked;
	long long resets = stat_of("device_resets"), alone = stat_of("context_resets");
	long long failed = stat_of("failed_jobs"), canceled = stat_of("canceled_jobs");
	struct sleeper s = { .w = &busy };
	struct axl_trace_header *header;
	struct axl_submit job, waits, refused;
	struct axl_wait end;
	pthread_t thread;
	uint64_t produced;
	int events;

	ASSERT(dev_ioctl(busy.fd, AXL_IOCTL_TRACE_OPEN, &open) == 0);
	header = mmap(NULL, open.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, busy.fd, 0);
	ASSERT(header != MAP_FAILED);
	EXPECT_EQ(right_result(&busy), 0);
	EXPECT_EQ(right_result(&idle), 0);
	busy.map[16000] = 77;
	events = uevents_open();
	ASSERT(qmp_set("fault-stuck-ctx-resets", 1) == 0);
	/*
	 * A job that waits as long as a hung one would be found guilty, so start the hung one
	 * first.
	 */
	if (variant->how == HANGS)
		start_trouble(&bad, variant, &job);
	cmd_wait(&blocked, 100, 1);
	ASSERT(submit_flags(busy.fd, busy.ctx, 0, AXL_SUBMIT_FENCE_FD, &blocked, 1, &waits) == 0);
	s.seq = waits.sequence;
	ASSERT(pthread_create(&thread, NULL, sleeper, &s) == 0);

	if (variant->how == HANGS)
		job_timeout_ms(1000);
	else
		start_trouble(&bad, variant, &job);

	if (variant->how != GOES) {
		EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, job.sequence, PATIENCE_MS, &end), -EIO);
		EXPECT_EQ(end.status, variant->status);
		EXPECT_EQ(end.error_index, variant->how == HANGS);
		expect_uevent(events, "change context_reset live");
	}
	expect_uevent(events, "change device_reset live");
	job_timeout_ms(10000);
	expect_fence(job.fence_fd, variant->status);
	EXPECT_EQ(qmp_get("fault-stuck-ctx-resets"), 0);

	/* Others: jobs in flight are reported, completed jobs stay completed. */
	pthread_join(thread, NULL);
	EXPECT_EQ(s.result, -EIO);
	EXPECT_EQ(s.end.status, AXL_ST_CANCELED);
	expect_fence(waits.fence_fd, AXL_ST_CANCELED);
	EXPECT_EQ(wait_seq(busy.fd, busy.ctx, 0, 1, 0, &end), 0);
	EXPECT_EQ(end.status, AXL_ST_OK);
	EXPECT_EQ(submit(busy.fd, busy.ctx, 1, &nop, 1, &refused), -EIO);
	EXPECT_EQ(submit(idle.fd, idle.ctx, 1, &nop, 1, &refused), -EIO);
	EXPECT_EQ(stat_of("device_resets"), resets + 1);
	EXPECT_EQ(stat_of("context_resets"), alone + (variant->how != GOES));
	EXPECT_EQ(stat_of("failed_jobs"), failed + (variant->how != GOES));
	EXPECT_EQ(stat_of("canceled_jobs"), canceled + 1 + (variant->how == GOES));

	/* Files, buffers, mappings and the ring stay valid. */
	EXPECT_EQ(busy.map[16000], 77);
	world_renew(&busy);
	world_renew(&idle);
	if (variant->how == GOES)
		world_close(&bad), bad = world_open();
	else
		world_renew(&bad);
	produced = __atomic_load_n(&header->produced, __ATOMIC_ACQUIRE);
	__atomic_store_n(&header->consumed, produced, __ATOMIC_RELEASE);
	EXPECT_EQ(right_result(&bad), 0);
	EXPECT_EQ(right_result(&busy), 0);
	EXPECT_EQ(right_result(&idle), 0);
	EXPECT_EQ(poll(&(struct pollfd){ .fd = busy.fd, .events = POLLIN }, 1, PATIENCE_MS), 1);
	EXPECT(__atomic_load_n(&header->produced, __ATOMIC_ACQUIRE) > produced);
	EXPECT_EQ(header->lost, 0);
	EXPECT_EQ(buf_destroy(busy.fd, busy.device.handle), 0);
}

/* All clients have a context and none is creating one. */
static void await_right_results(struct client *clients, int count)
{
	int t, i;

	for (t = 0; t < count; t++) {
		long before = __atomic_load_n(&clients[t].right, __ATOMIC_RELAXED);

		for (i = 0; i < 20000; i++) {
			if (__atomic_load_n(&clients[t].right, __ATOMIC_RELAXED) != before)
				break;
			usleep(1000);
		}
		EXPECT(i < 20000);
	}
}

TEST(under_load)
{
	enum { THREADS = 4 };
	const char *cycles = getenv("AXL_CYCLES");
	int count = cycles ? atoi(cycles) : 4, events = uevents_open(), i, t;
	long long resets = stat_of("device_resets");
	struct client clients[THREADS] = { 0 };
	struct world w;

	clients_start(clients, THREADS);
	for (i = 0; i < count; i++) {
		struct axl_submit job;

		await_right_results(clients, THREADS);
		w = world_open();
		ASSERT(qmp_set("fault-stuck-ctx-resets", 1) == 0);
		start_trouble(&w, &(struct cause){ "destroyed", GOES, 0 }, &job);
		expect_uevent(events, "change device_reset live");
		expect_fence(job.fence_fd, AXL_ST_CANCELED);
		close(job.fence_fd);
		world_close(&w);
	}
	await_right_results(clients, THREADS);
	clients_stop(clients, THREADS);
	for (t = 0; t < THREADS; t++) {
		EXPECT_EQ(clients[t].unexpected, 0);
		EXPECT(clients[t].right > 0);
		EXPECT(clients[t].lost >= 1 && clients[t].lost <= count);
		world_close(&clients[t].w);
	}
	EXPECT_EQ(stat_of("device_resets"), resets + count);
	w = world_open();
	EXPECT_EQ(right_result(&w), 0);
	EXPECT_EQ(dev_info(w.fd).dram_free_bytes, dev_info(w.fd).dram_bytes - 4096 - (1 << 16));
}

/* A context is cleared before it gets a new owner. */
TEST(a_context_that_does_not_reset_is_not_given_away_as_it_is)
{
	struct world busy = world_open();
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_submit refused;
	struct axl_ctx_create ctx;
	long long resets = stat_of("device_resets");
	int fd = dev_open();

	EXPECT_EQ(right_result(&busy), 0);
	ASSERT(qmp_set("fault-stuck-ctx-resets", 1) == 0);
	EXPECT_EQ(ctx_create(fd, 1, 0, &ctx), 0);
	EXPECT_EQ(qmp_get("fault-stuck-ctx-resets"), 0);
	EXPECT_EQ(stat_of("device_resets"), resets + 1);
	EXPECT_EQ(submit_wait(fd, ctx.ctx, 0, &nop, 1), 0);
	EXPECT_EQ(submit(busy.fd, busy.ctx, 0, &nop, 1, &refused), -EIO);
	world_renew(&busy);
	EXPECT_EQ(right_result(&busy), 0);
	world_close(&busy);
	close(fd);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
