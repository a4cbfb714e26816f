// SPDX-License-Identifier: Apache-2.0
/*
 * The device is inaccessible for a moment: errors that the root port reports, a function-level
 * reset, a reset of its bus. Users learn in a defined way what was lost, and continue with the same
 * files. AXL_CYCLES sets the number of cycles under load.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/driver/harness.h"
#include "tests/driver/qmp.h"
#include "tests/driver/world.h"

enum event { NONFATAL, FATAL, FLR, BUS };

struct how {
	const char *name;
	enum event event;
};

#define EVENTS { "nonfatal", NONFATAL }, { "fatal", FATAL }, { "flr", FLR }, { "bus", BUS }

static char pci_name_[64];

static int write_pci(const char *file, const char *text)
{
	char path[160];

	if (!*pci_name_) {
		int fd = dev_open();

		strcpy(pci_name_, dev_info(fd).pci_name);
		close(fd);
	}
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", pci_name_, file);
	return write_text(path, text);
}

/* Errors are handled by the root port's interrupt. */
static void wait_recovered(long long resets)
{
	int i;

	for (i = 0; i < PATIENCE_MS / 10; i++) {
		if (stat_of("device_resets") > resets && state_is("live"))
			return;
		usleep(10000);
	}
	harness_fail(__FILE__, __LINE__, "not live again in time");
	harness_stop();
}

static void strike(enum event event)
{
	long long resets = stat_of("device_resets"), errors = stat_of("bus_errors");

	switch (event) {
	case NONFATAL:
		ASSERT(qmp_bus_error("0x4000 0 0 0 0") == 0);	/* a completion that never came */
		break;
	case FATAL:
		ASSERT(qmp_bus_error("0x40000 0 0 0 0") == 0);	/* a malformed packet */
		break;
	case FLR:
		ASSERT(write_pci("reset_method", "flr") == 0);
		ASSERT(write_pci("reset", "1") == 0);
		break;
	case BUS:
		ASSERT(write_pci("reset_method", "bus") == 0);
		ASSERT(write_pci("reset", "1") == 0);
		break;
	}
	wait_recovered(resets);
	EXPECT_EQ(stat_of("bus_errors"), errors + (event == NONFATAL || event == FATAL));
}

/* Takes all records; returns the number of those that report the job. */
static int ring_take(struct axl_trace_header *header, uint32_t job, uint32_t *next)
{
	const union axl_record *records = (void *)((char *)header + AXL_TRACE_HEADER_BYTES);
	uint64_t produced = __atomic_load_n(&header->produced, __ATOMIC_ACQUIRE);
	uint64_t at = header->consumed;
	int found = 0;

	EXPECT(produced - at <= 1u << header->log2_records);
	for (; at != produced; at++) {
		const union axl_record *rec = &records[at & ((1u << header->log2_records) - 1)];

		EXPECT_EQ(rec->h.sequence, *next);
		*next = rec->h.sequence + 1;
		found += rec->h.type == AXL_REC_JOB && rec->job.job == job;
	}
	__atomic_store_n(&header->consumed, at, __ATOMIC_RELEASE);
	return found;
}

static uint32_t run_nop(const struct world *w)
{
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_submit job = { 0 };
	struct axl_wait end;

	EXPECT_EQ(submit(w->fd, w->ctx, 1, &nop, 1, &job), 0);
	EXPECT_EQ(wait_seq(w->fd, w->ctx, 1, job.sequence, PATIENCE_MS, &end), 0);
	return job.job;
}

static int pinned_copy_works(const struct world *w, uint32_t *pinned, uint32_t handle)
{
	uint64_t device = AXL_REF(w->device.handle, 8192);
	struct axl_desc cmds[2];

	pinned[0] = 0x12345678;
	pinned[1024] = 0;
	cmds[0] = cmd_copy(AXL_OP_COPY_H2D, AXL_REF(handle, 0), device, 4);
	cmd_signal(&cmds[0], 9, 1);
	cmds[1] = cmd_copy(AXL_OP_COPY_D2H, AXL_REF(handle, 4096), device, 4);
	cmd_wait(&cmds[1], 9, 1);
	return submit_wait(w->fd, w->ctx, 0, cmds, 2) == 0 && pinned[1024] == 0x12345678;
}

TEST_VARIANTS(users_are_notified_and_go_on, struct how, EVENTS)
{
	struct world busy = world_open(), idle = world_open();
	struct axl_trace_open ring = { .size = sizeof(ring), .log2_records = 9, .watermark = 1,
				       .classes = AXL_REC_CLASSES_ALL };
	struct axl_clock_sample sample = { .size = sizeof(sample) };
	struct axl_desc cmd = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_fence_status status;
	struct axl_trace_header *header;
	struct axl_buf_create user;
	struct axl_submit job, dead;
	struct sleeper s = { .w = &busy };
	uint32_t *pinned, next = 0;
	struct pollfd poller;
	struct axl_wait end;
	pthread_t thread;

	header = trace_map(busy.fd, &ring);
	pinned = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(buf_create(busy.fd, AXL_BUF_USER, 1 << 16, pinned, &user) == 0);
	EXPECT_EQ(right_result(&idle), 0);
	hang(&busy, &cmd, &job, &s, &thread);

	strike(variant->event);

	pthread_join(thread, NULL);
	EXPECT_EQ(s.result, -EIO);
	EXPECT_EQ(s.end.status, AXL_ST_CANCELED);
	poller = (struct pollfd){ .fd = job.fence_fd, .events = POLLIN };
	EXPECT_EQ(poll(&poller, 1, 0), 1);
	EXPECT_EQ(poller.revents, POLLIN | POLLERR);
	EXPECT_EQ(read(job.fence_fd, &status, sizeof(status)), sizeof(status));
	EXPECT_EQ(status.status, AXL_ST_CANCELED);
	/* Completed jobs stay completed; contexts are lost, idle ones too. */
	EXPECT_EQ(wait_seq(busy.fd, busy.ctx, 0, 1, 0, &end), 0);
	EXPECT_EQ(end.status, AXL_ST_OK);
	EXPECT_EQ(submit(busy.fd, busy.ctx, 0, &cmd, 1, &dead), -EIO);
	EXPECT_EQ(submit(idle.fd, idle.ctx, 1, &cmd, 1, &dead), -EIO);

	/* Files, buffers and mappings stay valid. */
	EXPECT_EQ(busy.map[16000], 77);
	world_renew(&busy);
	world_renew(&idle);
	EXPECT_EQ(right_result(&busy), 0);
	EXPECT_EQ(right_result(&idle), 0);
	EXPECT(pinned_copy_works(&busy, pinned, user.handle));
	EXPECT_EQ(dev_ioctl(busy.fd, AXL_IOCTL_CLOCK_SAMPLE, &sample), 0);
	/* So does the ring: its reader can notice the reset by its record only. */
	ASSERT(header->produced > header->consumed);
	next = ((union axl_record *)((char *)header + AXL_TRACE_HEADER_BYTES))->h.sequence;
	EXPECT_EQ(next, 0);
	ring_take(header, 0, &next);
	poller = (struct pollfd){ .fd = busy.fd, .events = POLLIN };
	EXPECT_EQ(ring_take(header, run_nop(&busy), &next), 1);
	run_nop(&idle);
	EXPECT_EQ(poll(&poller, 1, PATIENCE_MS), 1);
	EXPECT_EQ(poller.revents, POLLIN);
	/* Lost jobs hold no resources. */
	EXPECT_EQ(buf_destroy(busy.fd, user.handle), 0);
	EXPECT_EQ(buf_destroy(busy.fd, busy.device.handle), 0);
	EXPECT_EQ(buf_destroy(busy.fd, busy.host.handle), 0);
}

TEST_VARIANTS(a_hung_job_keeps_its_guilt, struct how, EVENTS)
{
	struct world bad = world_open(), good = world_open(), late = world_open();
	struct axl_desc cmd = cmd_nop(AXL_ENGINE_D2H), stuck = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_submit hung, waits, second;
	struct axl_wait end;

	job_timeout_ms(500);
	ASSERT(qmp_set("fault-hang-engine", AXL_ENGINE_D2H) == 0);
	ASSERT(submit(bad.fd, bad.ctx, 0, &cmd, 1, &hung) == 0);
	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, hung.sequence, PATIENCE_MS, &end), -EIO);
	EXPECT_EQ(end.status, AXL_ST_HANG);
	job_timeout_ms(0);
	/* It only waits for another job. A second job hangs when the bus is reset. */
	cmd_wait(&stuck, 0, 1000);
	ASSERT(submit(good.fd, good.ctx, 0, &stuck, 1, &waits) == 0);
	ASSERT(qmp_set("fault-hang-engine", AXL_ENGINE_D2H) == 0);
	ASSERT(submit(late.fd, late.ctx, 0, &cmd, 1, &second) == 0);
	usleep(20000);

	strike(variant->event);

	EXPECT_EQ(wait_seq(bad.fd, bad.ctx, 0, hung.sequence, 0, &end), -EIO);
	EXPECT_EQ(end.status, AXL_ST_HANG);
	EXPECT_EQ(wait_seq(good.fd, good.ctx, 0, waits.sequence, 0, &end), -EIO);
	EXPECT_EQ(end.status, AXL_ST_CANCELED);
	EXPECT_EQ(wait_seq(late.fd, late.ctx, 0, second.sequence, 0, &end), -EIO);
	EXPECT_EQ(end.status, AXL_ST_CANCELED);
	qmp_set("fault-hang-engine", -1);
	job_timeout_ms(10000);
	world_renew(&bad);
	world_renew(&good);
	EXPECT_EQ(right_result(&bad), 0);
	EXPECT_EQ(right_result(&good), 0);
}

/* ---- memory that changes its owner meanwhile ---- */

enum { SECRET = 0x5ec7e7ad };

struct leaving {
	const char *name;
	int closes;		/* the whole file, not its buffers one by one */
};

static void keep_secret(struct world *w, const struct axl_buf_create *memory)
{
	struct axl_desc copy = cmd_copy(AXL_OP_COPY_H2D, AXL_REF(w->host.handle, 0),
					AXL_REF(memory->handle, 0), 1 << 16);
	int i;

	for (i = 0; i < 1 << 14; i++)
		((uint32_t *)w->map)[i] = SECRET;
	ASSERT(submit_wait(w->fd, w->ctx, 0, &copy, 1) == 0);
}

/* The number of words that are not zero. */
static int words_left(struct world *w, const struct axl_buf_create *memory)
{
	struct axl_desc copy = cmd_copy(AXL_OP_COPY_D2H, AXL_REF(w->host.handle, 0),
					AXL_REF(memory->handle, 0), 1 << 16);
	int i, left = 0;

	memset(w->map, 0xee, 1 << 16);
	EXPECT_EQ(submit_wait(w->fd, w->ctx, 0, &copy, 1), 0);
	for (i = 0; i < 1 << 14; i++)
		left += ((uint32_t *)w->map)[i] != 0;
	return left;
}

static void *reset_thread(void *arg)
{
	*(int *)arg = write_pci("reset", "1");
	return NULL;
}

/* Frees the memory between begin and end of a reset; returns whether it was in time. */
static int leave_while_offline(struct world *owner, const struct axl_buf_create *scratch,
			       int closes, struct world *other)
{
	struct axl_buf_create refused;
	int i, err, hit, reset = -1;
	pthread_t thread;

	/* A reset is short, so everything else is released before it. */
	EXPECT_EQ(ctx_destroy(owner->fd, owner->ctx), 0);
	munmap(owner->map, owner->host.bytes);
	EXPECT_EQ(buf_destroy(owner->fd, owner->host.handle), 0);
	ASSERT(pthread_create(&thread, NULL, reset_thread, &reset) == 0);
	for (i = 0; i < 20000 && !state_is("offline"); i++)
		usleep(500);
	if (closes) {
		close(owner->fd);
	} else {
		EXPECT_EQ(buf_destroy(owner->fd, owner->device.handle), 0);
		EXPECT_EQ(buf_destroy(owner->fd, scratch->handle), 0);
	}
	/* Memory that cannot be cleared now is not allocated. */
	err = buf_create(other->fd, AXL_BUF_DEVICE, 4096, NULL, &refused);
	hit = state_is("offline");
	if (hit)
		EXPECT_EQ(err, -EIO);
	else if (!err)
		buf_destroy(other->fd, refused.handle);
	pthread_join(thread, NULL);
	EXPECT_EQ(reset, 0);
	return hit;
}

/* The device keeps its memory over this reset, so the driver has to clear it afterwards. */
TEST_VARIANTS(memory_given_back_meanwhile_comes_clean, struct leaving,
	      { "destroyed", 0 }, { "closed", 1 })
{
	struct world owner, next = { .fd = dev_open() };
	struct axl_buf_create scratch, device, pad;
	struct axl_ctx_create ctx;
	int turn, hit = 0;

	ASSERT(write_pci("reset_method", "flr") == 0);
	ASSERT(buf_create(next.fd, AXL_BUF_HOST, 1 << 16, NULL, &next.host) == 0);
	next.map = buf_map(next.fd, &next.host);
	ASSERT(next.map);
	/* Makes the memory to clear more than one range. */
	ASSERT(buf_create(next.fd, AXL_BUF_DEVICE, 4096, NULL, &pad) == 0);
	for (turn = 0; turn < 20 && !hit; turn++) {
		owner = world_open();
		ASSERT(buf_create(owner.fd, AXL_BUF_SCRATCH, 1 << 16, NULL, &scratch) == 0);
		keep_secret(&owner, &owner.device);
		keep_secret(&owner, &scratch);
		hit = leave_while_offline(&owner, &scratch, variant->closes, &next);
		if (!hit && !variant->closes)
			close(owner.fd);
	}
	ASSERT(hit);
	ASSERT(state_is("live"));
	ASSERT(ctx_create(next.fd, 2, 0, &ctx) == 0);
	next.ctx = ctx.ctx;
	ASSERT(buf_create(next.fd, AXL_BUF_DEVICE, 1 << 16, NULL, &device) == 0);
	EXPECT_EQ(device.device_addr, owner.device.device_addr);
	EXPECT_EQ(words_left(&next, &device), 0);
	ASSERT(buf_create(next.fd, AXL_BUF_SCRATCH, 1 << 16, NULL, &device) == 0);
	EXPECT_EQ(device.device_addr, scratch.device_addr);
	EXPECT_EQ(words_left(&next, &device), 0);
}

static int first_number(const char *path)
{
	FILE *file = fopen(path, "r");
	int value = -1;

	if (file) {
		if (fscanf(file, "%d", &value) != 1)
			value = -1;
		fclose(file);
	}
	return value;
}

static uint64_t event_value(int fd)
{
	uint64_t value = 0;

	ASSERT(read(fd, &value, sizeof(value)) == sizeof(value));
	return value;
}

/* A reset zeroes the device's counters, but not what perf has counted. */
TEST_VARIANTS(perf_counts_across_it, struct how, EVENTS)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .config = AXL_CTR_JOBS,
		.type = (uint32_t)first_number("/sys/bus/event_source/devices/axl_0/type"),
	};
	int cpu = first_number("/sys/bus/event_source/devices/axl_0/cpumask"), fd, i;
	struct world w = world_open();

	for (i = 0; i < 5; i++)
		EXPECT_EQ(right_result(&w), 0);
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
	ASSERT(fd >= 0);
	EXPECT_EQ(right_result(&w), 0);
	EXPECT_EQ(event_value(fd), 1);
	strike(variant->event);
	EXPECT_EQ(event_value(fd), 1);
	world_renew(&w);
	EXPECT_EQ(right_result(&w), 0);
	EXPECT_EQ(event_value(fd), 2);
	/* More jobs than before it: the counter exceeds its old value, which hides the reset. */
	strike(variant->event);
	world_renew(&w);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(right_result(&w), 0);
	EXPECT_EQ(event_value(fd), 5);
	close(fd);
}

TEST(errors_on_top_of_each_other)
{
	struct world w = world_open();
	long long resets = stat_of("device_resets"), seen;
	int i;

	/*
	 * A non-fatal error first: when the recovery from another error has cleared its status,
	 * Linux 6.1 ignores it and keeps a reference to the device for good
	 * (aer_process_err_devices()), which kmemleak would attribute to the driver.
	 */
	ASSERT(qmp_bus_error("0x4000 0 0 0 0") == 0);
	for (i = 0; i < 5; i++)
		ASSERT(qmp_bus_error("0x40000 0 0 0 0") == 0);
	/* The number of recoveries depends on the kernel; the last may still be in progress. */
	do {
		wait_recovered(resets);
		seen = stat_of("device_resets");
		sleep(1);
	} while (seen != stat_of("device_resets") || !state_is("live"));
	world_renew(&w);
	EXPECT_EQ(right_result(&w), 0);
	/* The reset of the error must have saved the state for the next one. */
	strike(FLR);
	strike(FATAL);
	strike(BUS);
	strike(FATAL);
	world_renew(&w);
	EXPECT_EQ(right_result(&w), 0);
}

TEST_VARIANTS(the_driver_lets_go_after_it, struct how, EVENTS)
{
	struct world w = world_open(), again;
	struct axl_info info = { .size = sizeof(info) };

	strike(variant->event);
	ASSERT(write_text("/sys/bus/pci/drivers/axl/unbind", pci_name_) == 0 || !*pci_name_);
	if (!*pci_name_) {
		strcpy(pci_name_, dev_info(w.fd).pci_name);
		ASSERT(write_text("/sys/bus/pci/drivers/axl/unbind", pci_name_) == 0);
	}
	EXPECT_EQ(dev_ioctl(w.fd, AXL_IOCTL_INFO, &info), -ENODEV);
	world_close(&w);
	ASSERT(write_text("/sys/bus/pci/drivers/axl/bind", pci_name_) == 0);
	again = world_open();
	EXPECT_EQ(right_result(&again), 0);
}

/* ---- under load ---- */

enum { THREADS = 6 };

TEST_VARIANTS(under_load, struct how, EVENTS)
{
	const char *cycles = getenv("AXL_CYCLES");
	int count = cycles ? atoi(cycles) : 3, i, t;
	struct client clients[THREADS] = { 0 };
	long right = 0, lost = 0;
	struct world w;

	clients_start(clients, THREADS);
	for (i = 0; i < count; i++) {
		usleep(30000 + 7000 * (i % 7));
		strike(variant->event);
	}
	usleep(100000);
	clients_stop(clients, THREADS);
	for (t = 0; t < THREADS; t++) {
		world_close(&clients[t].w);
		EXPECT_EQ(clients[t].unexpected, 0);
		right += clients[t].right;
		lost += clients[t].lost;
	}
	printf("# figure recoveries_under_load %d cycles\n", count);
	printf("# %ld right results, %ld lost contexts\n", right, lost);
	EXPECT(right > 0);
	EXPECT(lost > 0);
	w = world_open();
	EXPECT_EQ(right_result(&w), 0);
	EXPECT_EQ(dev_info(w.fd).dram_free_bytes, dev_info(w.fd).dram_bytes - 4096 - (1 << 16));
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
