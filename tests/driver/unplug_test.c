// SPDX-License-Identifier: Apache-2.0
/*
 * The device disappears while it is used: by unbinding, removal, an orderly unplug, or surprise.
 * First the effect on users is tested, then many cycles under load. AXL_CYCLES sets their number.
 */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"
#include "tests/driver/qmp.h"

enum way { UNBIND, REMOVE, UNPLUG, SURPRISE };

struct how {
	const char *name;
	enum way way;
};

static char pci_name_[64];
static char port_config_[PATH_MAX + 8];	/* the file of the port above */

/* Opens a live device, whose number changes from time to time, or returns -1. */
static int live_open(void)
{
	glob_t found;
	int fd = -1;
	size_t i;

	if (glob("/dev/axl*", 0, NULL, &found))
		return -1;
	for (i = 0; i < found.gl_pathc && fd < 0; i++)
		fd = open(found.gl_pathv[i], O_RDWR | O_CLOEXEC);
	globfree(&found);
	return fd;
}

static int device_nodes(void)
{
	glob_t found;
	int count;

	if (glob("/dev/axl*", 0, NULL, &found))
		return 0;
	count = (int)found.gl_pathc;
	globfree(&found);
	return count;
}

/* Waits until the driver's node exists, or is gone. */
static int wait_nodes(int wanted)
{
	int i;

	for (i = 0; i < PATIENCE_MS / 10; i++) {
		if (!!device_nodes() == wanted)
			return 0;
		usleep(10000);
	}
	return -1;
}

static void take_away(enum way way)
{
	char path[256];
	int i;

	switch (way) {
	case UNBIND:
		ASSERT(write_text("/sys/bus/pci/drivers/axl/unbind", pci_name_) == 0);
		break;
	case SURPRISE:
		ASSERT(qmp_set("fault-removed", 1) == 0);
		break;
	case REMOVE:
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", pci_name_);
		write_text(path, "1");
		break;
	case UNPLUG:
		/* Refused while the slot still handles the last button press. */
		for (i = 0; i < 1000 && qmp_unplug(); i++)
			usleep(20000);
		ASSERT(i < 1000);
		break;
	}
	ASSERT(wait_nodes(0) == 0);
}

/* Whether the kernel has finished with an empty slot: power off, and then its light. */
static int slot_is_off(void)
{
	uint16_t off = 1 << 10 | 3 << 8, control = 0;
	int fd = open(port_config_, O_RDONLY | O_CLOEXEC), caps;
	uint8_t at = 0x34, next = 0, id = 0;

	ASSERT(fd >= 0);
	for (caps = 0; caps < 48 && id != 0x10; caps++) {
		ASSERT(pread(fd, &next, 1, at) == 1 && next >= 0x40);
		ASSERT(pread(fd, &id, 1, next) == 1);
		at = next + 1;
	}
	ASSERT(pread(fd, &control, sizeof(control), next + 0x18) == sizeof(control));
	close(fd);
	return (control & off) == off;
}

static void bring_back(enum way way)
{
	int i;

	switch (way) {
	case UNBIND:
		ASSERT(write_text("/sys/bus/pci/drivers/axl/bind", pci_name_) == 0);
		break;
	case SURPRISE:
		/* The emulator removes a device that it finds in a slot being switched off. */
		for (i = 0; i < 1000 && !slot_is_off(); i++)
			usleep(20000);
		ASSERT(i < 1000);
		ASSERT(qmp_set("fault-removed", 0) == 0);
		break;
	case REMOVE:
		ASSERT(write_text("/sys/bus/pci/rescan", "1") == 0);
		break;
	case UNPLUG:
		/* The emulator needs a moment to release the old one. */
		for (i = 0; i < 500 && qmp_get("fault-removed") >= 0; i++)
			usleep(20000);
		ASSERT(qmp_plug() == 0);
		break;
	}
	ASSERT(wait_nodes(1) == 0);
}

static void remember_name(void)
{
	char path[128], device[PATH_MAX];
	int fd = live_open();

	ASSERT(fd >= 0);
	strcpy(pci_name_, dev_info(fd).pci_name);
	close(fd);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", pci_name_);
	ASSERT(realpath(path, device));
	*strrchr(device, '/') = 0;
	snprintf(port_config_, sizeof(port_config_), "%s/config", device);
}

struct victim {
	_Atomic pid_t tid;
	int fd;
	uint32_t ctx;
	uint64_t seq;
	int result;
};

static void *sleeper(void *arg)
{
	struct victim *v = arg;
	struct axl_wait end;

	v->tid = (pid_t)syscall(SYS_gettid);
	v->result = wait_seq(v->fd, v->ctx, 0, v->seq, -1, &end);
	return NULL;
}

/* Returns once that thread sleeps in that system call; tid is 0 until it is known. */
static void await_asleep(const _Atomic pid_t *tid, long number)
{
	char path[64], text[32] = "";
	ssize_t count;
	int i, fd;

	for (i = 0; i < PATIENCE_MS && (!*tid || atol(text) != number); i++) {
		usleep(1000);
		snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", *tid);
		fd = open(path, O_RDONLY);
		count = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		text[count > 0 ? count : 0] = 0;	/* else "running", or its number first */
		close(fd);
	}
	ASSERT(i < PATIENCE_MS);
}

/* Has no trace ring, and only waits for the end. */
static void *bystander(void *arg)
{
	struct pollfd *poller = arg;

	poll(poller, 1, -1);
	return NULL;
}

/* A user of the device when it disappears: a context, buffers, rings, a job that never ends. */
struct user {
	struct victim v;	/* waits for the job */
	pthread_t thread;
	struct pollfd other;	/* watched by the bystander */
	pthread_t watcher;
	struct axl_buf_create host;
	char *map;
	struct axl_trace_open ring, own;
	struct axl_trace_header *header, *own_header;
	int own_fd;
	struct axl_desc cmd;
	struct axl_submit job;
};

static struct axl_trace_header *map_ring(int fd, struct axl_trace_open *ring)
{
	struct axl_trace_header *header;

	ASSERT(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, ring) == 0);
	header = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT(header != MAP_FAILED);
	return header;
}

static void use_device(struct user *u)
{
	struct axl_ctx_create ctx;
	struct axl_buf_create user;
	char *pinned;

	u->ring = (struct axl_trace_open){ .size = sizeof(u->ring), .log2_records = 8,
					   .classes = AXL_REC_CLASSES_ALL };
	u->own = (struct axl_trace_open){ .size = sizeof(u->own), .ring = AXL_TRACE_RING_DRIVER,
					  .log2_records = 8 };
	u->own_fd = live_open();
	u->own_header = map_ring(u->own_fd, &u->own);
	u->v.fd = live_open();
	ASSERT(ctx_create(u->v.fd, 2, 0, &ctx) == 0);
	u->v.ctx = ctx.ctx;
	ASSERT(buf_create(u->v.fd, AXL_BUF_HOST, 1 << 20, NULL, &u->host) == 0);
	u->map = buf_map(u->v.fd, &u->host);
	pinned = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(buf_create(u->v.fd, AXL_BUF_USER, 1 << 16, pinned, &user) == 0);
	u->header = map_ring(u->v.fd, &u->ring);
	ASSERT(u->map);
	u->map[12345] = 77;
	u->cmd = cmd_nop(AXL_ENGINE_VECTOR);
	cmd_wait(&u->cmd, 0, 1);
	ASSERT(submit_flags(u->v.fd, u->v.ctx, 0, AXL_SUBMIT_FENCE_FD, &u->cmd, 1, &u->job) == 0);
	u->v.seq = u->job.sequence;
	ASSERT(pthread_create(&u->thread, NULL, sleeper, &u->v) == 0);
	u->other = (struct pollfd){ .fd = live_open(), .events = POLLIN };
	ASSERT(u->other.fd >= 0);
	ASSERT(pthread_create(&u->watcher, NULL, bystander, &u->other) == 0);
	/* A wait that begins too late finds the device gone and leaves no record. */
	await_asleep(&u->v.tid, SYS_ioctl);
}

/* Waiters and pollers wake up, and the fence says that the job was canceled. */
static void expect_woken(struct user *u)
{
	struct axl_fence_status status;
	struct pollfd files[2];

	pthread_join(u->thread, NULL);
	EXPECT(u->v.result == -ENODEV || u->v.result == -EIO);
	pthread_join(u->watcher, NULL);
	EXPECT_EQ(u->other.revents, POLLERR | POLLHUP);
	close(u->other.fd);
	files[0] = (struct pollfd){ .fd = u->v.fd, .events = POLLIN };
	files[1] = (struct pollfd){ .fd = u->job.fence_fd, .events = POLLIN };
	/* The node disappears first, then jobs in flight end. */
	EXPECT_EQ(poll(files + 1, 1, PATIENCE_MS), 1);
	EXPECT_EQ(poll(files, 2, 0), 2);
	EXPECT(files[0].revents & POLLHUP);
	EXPECT_EQ(files[1].revents, POLLIN | POLLERR);
	EXPECT_EQ(read(u->job.fence_fd, &status, sizeof(status)), sizeof(status));
	EXPECT_EQ(status.status, AXL_ST_CANCELED);
}

static void expect_calls_refused(struct user *u)
{
	struct axl_info info = { .size = sizeof(info) };
	struct axl_submit job;

	EXPECT_EQ(dev_ioctl(u->v.fd, AXL_IOCTL_INFO, &info), -ENODEV);
	EXPECT_EQ(submit(u->v.fd, u->v.ctx, 0, &u->cmd, 1, &job), -ENODEV);
	EXPECT_EQ(buf_destroy(u->v.fd, u->host.handle), -ENODEV);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_SHARED, u->v.fd, u->host.mmap_offset) ==
	       MAP_FAILED);
}

/* Mappings stay valid. */
static void expect_mappings_kept(struct user *u)
{
	EXPECT_EQ(u->map[12345], 77);
	EXPECT_EQ(u->header->magic, AXL_TRACE_MAGIC);
	u->map[0] = 1;
	u->header->consumed = 3;
	/* The job that was canceled, and the wait for it. */
	EXPECT_EQ(poll(&(struct pollfd){ .fd = u->own_fd, .events = POLLIN }, 1, 0), 1);
	EXPECT_EQ(u->own_header->magic, AXL_TRACE_MAGIC);
	EXPECT(u->own_header->produced >= 1);
	u->own_header->consumed = ~0ull;
}

TEST_VARIANTS(users_are_notified, struct how, { "unbind", UNBIND }, { "remove", REMOVE },
	      { "unplug", UNPLUG }, { "surprise", SURPRISE })
{
	struct axl_info info = { .size = sizeof(info) };
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_ctx_create ctx;
	struct user u = { 0 };
	int fd;

	remember_name();
	use_device(&u);
	/* On a slow machine a hot plug may take longer than a job's time limit. */
	job_timeout_ms(0);
	take_away(variant->way);

	expect_woken(&u);
	expect_calls_refused(&u);
	expect_mappings_kept(&u);

	bring_back(variant->way);
	job_timeout_ms(10000);
	fd = live_open();
	ASSERT(fd >= 0);
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	EXPECT_EQ(submit_wait(fd, ctx.ctx, 0, &nop, 1), 0);
	/* The old file still returns the same error. */
	EXPECT_EQ(dev_ioctl(u.v.fd, AXL_IOCTL_INFO, &info), -ENODEV);
	EXPECT_EQ(u.map[12345], 77);
	munmap(u.map, 1 << 20);
	munmap(u.header, u.ring.map_bytes);
	munmap(u.own_header, u.own.map_bytes);
	close(u.v.fd);
	close(u.own_fd);
	EXPECT_EQ(submit_wait(fd, ctx.ctx, 0, &nop, 1), 0);
}

/* ---- under load ---- */

static int stop_;
static long rounds_[8];
static int mapped_;	/* clients that have a ring mapped and submit jobs */

/* The user who is charged for files that this thread opens: root or one of three, in turn. */
static void pay_as(unsigned int seed)
{
	enum { SOMEBODY = 60001 };

	/* Sets the real id of this thread only; the effective one keeps its rights. */
	ASSERT(syscall(SYS_setresuid, seed % 4 ? SOMEBODY + seed % 4 : 0, 0, 0) == 0);
}

/* Maps the context's ring, or the driver's own; `ring` says which. */
static void *open_ring(int fd, unsigned int seed, struct axl_trace_open *ring)
{
	struct axl_trace_open own = { .size = sizeof(own), .log2_records = 6,
				      .ring = AXL_TRACE_RING_DRIVER, .watermark = 1 };
	void *header = MAP_FAILED;

	/* One in four tries the driver's own ring, which has one reader. */
	if (seed % 4 == 1 && dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &own) == 0) {
		*ring = own;
		header = mmap(NULL, own.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	if (header == MAP_FAILED && dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, ring) == 0)
		header = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return header;
}

/* Submits jobs of copies while the device accepts them, and makes a client's other requests. */
static void submit_copies(int fd, uint32_t ctx, uint32_t host, uint32_t device)
{
	struct axl_clock_sample sample = { .size = sizeof(sample) };
	struct axl_jobs_trace jobs = { .size = sizeof(jobs) };
	struct axl_desc cmds[8];
	struct axl_submit job;
	struct axl_wait end;
	int i;

	for (i = 0; i < 8; i++)
		cmds[i] = cmd_copy(i % 2 ? AXL_OP_COPY_D2H : AXL_OP_COPY_H2D,
				   AXL_REF(host, 4096 * (uint64_t)i),
				   AXL_REF(device, 4096 * (uint64_t)i), 4096);
	for (i = 0; i < 20 && !__atomic_load_n(&stop_, __ATOMIC_RELAXED); i++) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };

		if (submit_flags(fd, ctx, 0, i % 3 ? 0 : AXL_SUBMIT_FENCE_FD, cmds, 8, &job))
			break;
		if (job.fence_fd >= 0) {
			poll(&(struct pollfd){ .fd = job.fence_fd, .events = POLLIN }, 1, 2000);
			close(job.fence_fd);
		}
		if (i % 4 == 1)
			poll(&wait, 1, 1);
		dev_ioctl(fd, AXL_IOCTL_CLOCK_SAMPLE, &sample);
		dev_ioctl(fd, AXL_IOCTL_JOBS_TRACE, &jobs);
		if (wait_seq(fd, ctx, 0, job.sequence, 2000, &end))
			break;
	}
}

/* One life of a client, until the device ends it. Returns what it read from mappings. */
static int client(unsigned int seed)
{
	struct axl_trace_open ring = { .size = sizeof(ring), .ring = AXL_TRACE_RING_CTX,
				       .log2_records = 6, .watermark = 1,
				       .classes = AXL_REC_CLASSES_ALL };
	struct axl_buf_create host = { 0 }, device, pinned;
	struct axl_ctx_create ctx;
	static char user[8][1 << 16] __attribute__((aligned(4096)));
	void *header = MAP_FAILED, *map = NULL;
	int fd, sum = 0;

	pay_as(seed);
	fd = live_open();
	if (fd < 0) {
		usleep(1000);
		return 0;
	}
	if (seed % 2)
		buf_create(fd, AXL_BUF_USER, sizeof(*user), user[seed % 8], &pinned);
	if (ctx_create(fd, 1, 0, &ctx) || buf_create(fd, AXL_BUF_DEVICE, 1 << 16, NULL, &device) ||
	    buf_create(fd, AXL_BUF_HOST, 1 << 16, NULL, &host))
		goto out;
	map = buf_map(fd, &host);
	ring.ctx = ctx.ctx;
	header = open_ring(fd, seed, &ring);
	if (header != MAP_FAILED)
		__atomic_add_fetch(&mapped_, 1, __ATOMIC_RELAXED);
	submit_copies(fd, ctx.ctx, host.handle, device.handle);
	if (header != MAP_FAILED)
		__atomic_sub_fetch(&mapped_, 1, __ATOMIC_RELAXED);
	if (seed % 2)
		ctx_destroy(fd, ctx.ctx);
out:
	if (seed % 3)
		close(fd);	/* before the mappings */
	if (map) {
		sum += *(volatile int *)map;
		munmap(map, host.bytes);
	}
	if (header != MAP_FAILED) {
		sum += ((volatile struct axl_trace_header *)header)->magic != 0;
		munmap(header, ring.map_bytes);
	}
	if (seed % 3 == 0)
		close(fd);
	return sum;
}

static long long host_bytes(void)
{
	FILE *file = fopen("/sys/module/axl/parameters/host_bytes", "r");
	long long bytes = -1;

	ASSERT(file && fscanf(file, "%lld", &bytes) == 1);
	fclose(file);
	return bytes;
}

static void *load_thread(void *arg)
{
	long *rounds = arg;
	unsigned int seed = (unsigned int)(rounds - rounds_);

	while (!__atomic_load_n(&stop_, __ATOMIC_RELAXED)) {
		client(seed++);
		__atomic_add_fetch(rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_VARIANTS(under_load, struct how, { "unbind", UNBIND }, { "remove", REMOVE },
	      { "unplug", UNPLUG }, { "surprise", SURPRISE })
{
	const char *cycles = getenv("AXL_CYCLES");
	int count = cycles ? atoi(cycles) : 3, i, t;
	pthread_t threads[8];
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_ctx_create ctx;
	int fd, waits, with_rings = 0;
	long long before = host_bytes();
	long total = 0;

	remember_name();
	/* All tracepoints, if there is a tracefs. */
	write_text("/sys/kernel/tracing/events/axl/enable", "1");
	for (i = 0; i < 8; i++)
		ASSERT(pthread_create(&threads[i], NULL, load_thread, &rounds_[i]) == 0);
	/* Removal must not wait for the eight clients that keep the processors busy. */
	setpriority(PRIO_PROCESS, 0, -20);
	for (i = 0; i < count; i++) {
		usleep(1000 + 3000 * (i % 7));
		for (waits = 0; waits < 5000 && !__atomic_load_n(&mapped_, __ATOMIC_RELAXED);
		     waits++)
			usleep(2000);
		with_rings += __atomic_load_n(&mapped_, __ATOMIC_RELAXED) > 0;
		take_away(variant->way);
		usleep(1000 * (i % 3));
		bring_back(variant->way);
		if (i % 10 == 9) {
			printf("# %d cycles\n", i + 1);
			fflush(stdout);
		}
	}
	__atomic_store_n(&stop_, 1, __ATOMIC_RELAXED);
	for (t = 0; t < 8; t++) {
		pthread_join(threads[t], NULL);
		total += rounds_[t];
	}
	printf("# %d cycles, %ld client lives\n", count, total);
	printf("# figure unplug_cycles_under_load %d cycles\n# figure unplug_threads %d threads\n"
	       "# figure unplug_cycles_with_mapped_rings %d cycles\n",
	       i, (int)(sizeof(threads) / sizeof(*threads)), with_rings);
	EXPECT(total > count);
	EXPECT_EQ(with_rings, count);
	write_text("/sys/kernel/tracing/events/axl/enable", "0");
	EXPECT_EQ(host_bytes(), before);
	fd = live_open();
	ASSERT(fd >= 0);
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	EXPECT_EQ(submit_wait(fd, ctx.ctx, 0, &nop, 1), 0);
	EXPECT_EQ(dev_info(fd).dram_free_bytes, dev_info(fd).dram_bytes - 4096);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
