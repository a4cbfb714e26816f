// SPDX-License-Identifier: Apache-2.0
/*
 * The machine sleeps with files open, jobs waiting, rings mapped and clients at work: devices
 * suspended and resumed (pm_test), and the whole way to idle and back by a key, which
 * tests/vm/driver-sleep.sh presses. Runs in a sealed guest, because the file system of other guests
 * does not survive a suspend. AXL_CYCLES sets the number of cycles.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/driver/harness.h"
#include "tests/driver/world.h"

struct way {
	const char *name;
	const char *pm_test;	/* platform: all of it but idling, for a second */
};

#define WAYS { "devices", "platform" }, { "s2idle", "none" }
#define KEYBOARD "/sys/devices/platform/i8042/serio0/power/wakeup"

static void nap(const struct way *way)
{
	if (access("/sys/power/pm_test", W_OK))
		harness_skip("this kernel has no /sys/power/pm_test");
	write_text("/sys/module/suspend/parameters/pm_test_delay", "1");
	if (strcmp(way->pm_test, "none") == 0 && write_text(KEYBOARD, "enabled"))
		harness_skip("no key would wake this machine");
	ASSERT(write_text("/sys/power/pm_test", way->pm_test) == 0);
	EXPECT_EQ(write_text("/sys/power/state", "freeze"), 0);
}

TEST_VARIANTS(users_are_notified_and_go_on, struct way, WAYS)
{
	struct world busy = world_open(), idle = world_open();
	struct axl_trace_open ring = { .size = sizeof(ring), .log2_records = 9, .watermark = 1,
				       .classes = AXL_REC_CLASS(AXL_REC_JOB) };
	struct axl_desc cmd = cmd_nop(AXL_ENGINE_VECTOR);
	long long resets = stat_of("device_resets");
	struct sleeper s = { .w = &busy };
	struct axl_trace_header *header;
	struct axl_submit job, dead;
	struct pollfd poller;
	uint64_t produced;
	struct axl_wait end;
	pthread_t thread;

	header = trace_map(busy.fd, &ring);
	EXPECT_EQ(right_result(&idle), 0);
	hang(&busy, &cmd, &job, &s, &thread);
	produced = header->produced;

	nap(variant);

	EXPECT(stat_of("device_resets") > resets);
	pthread_join(thread, NULL);
	EXPECT_EQ(s.result, -EIO);
	EXPECT_EQ(s.end.status, AXL_ST_CANCELED);
	poller = (struct pollfd){ .fd = job.fence_fd, .events = POLLIN };
	EXPECT_EQ(poll(&poller, 1, 0), 1);
	EXPECT_EQ(poller.revents, POLLIN | POLLERR);
	EXPECT_EQ(wait_seq(busy.fd, busy.ctx, 0, 1, 0, &end), 0);
	EXPECT_EQ(submit(busy.fd, busy.ctx, 0, &cmd, 1, &dead), -EIO);
	EXPECT_EQ(submit(idle.fd, idle.ctx, 1, &cmd, 1, &dead), -EIO);
	EXPECT_EQ(busy.map[16000], 77);
	world_renew(&busy);
	world_renew(&idle);
	EXPECT_EQ(right_result(&busy), 0);
	EXPECT_EQ(right_result(&idle), 0);
	/* The ring continues where it was. */
	poller = (struct pollfd){ .fd = busy.fd, .events = POLLIN };
	EXPECT_EQ(poll(&poller, 1, PATIENCE_MS), 1);
	EXPECT(header->produced > produced);
}

enum { THREADS = 4 };

TEST_VARIANTS(under_load, struct way, WAYS)
{
	const char *cycles = getenv("AXL_CYCLES");
	int count = cycles ? atoi(cycles) : 2, i, t;
	struct client clients[THREADS] = { 0 };

	clients_start(clients, THREADS);
	for (i = 0; i < count; i++) {
		usleep(50000);
		nap(variant);
	}
	usleep(100000);
	clients_stop(clients, THREADS);
	for (t = 0; t < THREADS; t++) {
		EXPECT_EQ(clients[t].unexpected, 0);
		EXPECT(clients[t].right > 0);
		EXPECT_EQ(clients[t].lost, count);
		EXPECT_EQ(right_result(&clients[t].w), 0);
	}
	printf("# figure sleeps_under_load %d cycles\n", count);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
