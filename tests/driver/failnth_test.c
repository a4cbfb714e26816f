// SPDX-License-Identifier: Apache-2.0
/*
 * Makes each allocation and each user-space copy of every call fail in turn (fault injection by
 * /proc/thread-self/fail-nth). The call must return a matching errno, or succeed; without a fault
 * it must work, and at the end nothing may be missing. AXL_POINTS limits the number of points per
 * call (default all).
 */
#include <fcntl.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <linux/ptp_clock.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

enum { MOST_POINTS = 20000, BYTES = 1 << 16, SOMEBODY = 60001 };

static struct {
	int fd;
	uint32_t ctx;
	struct axl_buf_create host, device, made;
	struct axl_ctx_create other;
	struct axl_submit job;
	struct axl_trace_open ring;
	void *user, *map;
	int opened, ptp, pmu_type;
	char pci_name[64];
} w_;

static void inject_everywhere(void)
{
	static const char *const files[][2] = {
		{ "failslab/ignore-gfp-wait", "N" }, { "failslab/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-wait", "N" }, { "fail_page_alloc/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "fail_page_alloc/min-order", "0" }, { "fail_usercopy/verbose", "0" },
	};
	char path[128];
	size_t i;

	if (access("/proc/thread-self/fail-nth", W_OK))
		harness_skip("the kernel has no fault injection");
	for (i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", files[i][0]);
		ASSERT(write_text(path, files[i][1]) == 0);
	}
}

static int open_it(void)
{
	w_.opened = open("/dev/axl0", O_RDWR | O_CLOEXEC);
	return w_.opened < 0 ? -errno : 0;
}

static int close_it(void)
{
	return close(w_.opened) ? -errno : 0;
}

/*
 * Become a user unknown to the driver: the real user id is charged, the effective one keeps its
 * rights. The raw system call only affects this thread.
 */
static int pay_as_somebody(void) { return syscall(SYS_setresuid, SOMEBODY, 0, 0) ? -errno : 0; }
static int pay_as_root(void) { return syscall(SYS_setresuid, 0, 0, 0) ? -errno : 0; }

static int close_and_pay_as_root(void)
{
	return close_it() ? -errno : pay_as_root();
}

/* Opens a file and creates everything that a file can own, for its release. */
static int open_full(void)
{
	struct axl_trace_open ring = w_.ring;
	struct axl_buf_create buf;
	struct axl_ctx_create ctx;

	ASSERT(open_it() == 0);
	ASSERT(ctx_create(w_.opened, 1, 0, &ctx) == 0);
	ASSERT(buf_create(w_.opened, AXL_BUF_HOST, BYTES, NULL, &buf) == 0);
	ring.ring = AXL_TRACE_RING_CTX;
	ring.ctx = ctx.ctx;
	ASSERT(dev_ioctl(w_.opened, AXL_IOCTL_TRACE_OPEN, &ring) == 0);
	return 0;
}

static int info(void)
{
	struct axl_info out = { .size = sizeof(out) };

	return dev_ioctl(w_.fd, AXL_IOCTL_INFO, &out);
}

static int jobs_trace(void)
{
	struct axl_jobs_trace ask = { .size = sizeof(ask) };

	return dev_ioctl(w_.fd, AXL_IOCTL_JOBS_TRACE, &ask);
}

static int clients(void)
{
	struct axl_client found[2];
	struct axl_clients ask = { .size = sizeof(ask), .clients = (uintptr_t)found, .count = 2 };

	return dev_ioctl(w_.fd, AXL_IOCTL_CLIENTS, &ask);
}

static int make_ctx(void) { return ctx_create(w_.fd, 2, 0, &w_.other); }
static int end_ctx(void) { return ctx_destroy(w_.fd, w_.other.ctx); }
static int make_buf(uint32_t kind)
{
	return buf_create(w_.fd, kind, BYTES, kind == AXL_BUF_USER ? w_.user : NULL, &w_.made);
}

static int make_host(void) { return make_buf(AXL_BUF_HOST); }
static int make_user(void) { return make_buf(AXL_BUF_USER); }

/* Allocates pages that are not adjacent, since every second one is allocated first. */
static int scatter(void)
{
	size_t page;

	if (madvise(w_.user, BYTES, MADV_DONTNEED))
		return -errno;
	for (page = 0; page < BYTES; page += 8192)
		((char *)w_.user)[page] = 1;
	for (page = 4096; page < BYTES; page += 8192)
		((char *)w_.user)[page] = 2;
	return 0;
}

static int make_device(void) { return make_buf(AXL_BUF_DEVICE); }
static int make_scratch(void) { return make_buf(AXL_BUF_SCRATCH); }
static int end_buf(void) { return buf_destroy(w_.fd, w_.made.handle); }

static int submit_with(uint32_t flags)
{
	struct axl_desc cmds[2] = {
		cmd_copy(AXL_OP_COPY_H2D, AXL_REF(w_.host.handle, 0), AXL_REF(w_.device.handle, 0),
			 BYTES),
		cmd_fill(AXL_REF(w_.device.handle, 0), 64, 1),
	};

	return submit_flags(w_.fd, w_.ctx, 0, flags, cmds, 2, &w_.job);
}

static int submit_plain(void) { return submit_with(0); }
static int submit_fence(void) { return submit_with(AXL_SUBMIT_FENCE_FD); }

static int wait_it(void)
{
	struct axl_wait end;

	return wait_seq(w_.fd, w_.ctx, 0, w_.job.sequence, 10000, &end);
}

static int read_fence(void)
{
	struct pollfd ready = { .fd = w_.job.fence_fd, .events = POLLIN };
	struct axl_fence_status status;
	int polled = poll(&ready, 1, 10000);

	if (polled < 0)
		return -errno;
	return read(w_.job.fence_fd, &status, sizeof(status)) < 0 ? -errno : 0;
}

static int end_fence(void)
{
	close(w_.job.fence_fd);
	return wait_it();
}

static int counters(void)
{
	uint64_t values[AXL_MAX_COUNTERS];
	struct axl_counters_read read = { .size = sizeof(read), .values = (uintptr_t)values,
					  .count = 8 };

	return dev_ioctl(w_.fd, AXL_IOCTL_COUNTERS, &read);
}

static int clock_sample(void)
{
	struct axl_clock_sample sample = { .size = sizeof(sample) };

	return dev_ioctl(w_.fd, AXL_IOCTL_CLOCK_SAMPLE, &sample);
}

static int ring_open(void)
{
	return dev_ioctl(w_.fd, AXL_IOCTL_TRACE_OPEN, &(struct axl_trace_open){
		.size = sizeof(w_.ring), .log2_records = 8, .classes = AXL_REC_CLASSES_ALL });
}

static int driver_ring_open(void)
{
	return dev_ioctl(w_.fd, AXL_IOCTL_TRACE_OPEN, &(struct axl_trace_open){
		.size = sizeof(w_.ring), .ring = AXL_TRACE_RING_DRIVER, .log2_records = 8 });
}

static int ring_close(void)
{
	struct axl_trace_close end = { .size = sizeof(end) };

	return dev_ioctl(w_.fd, AXL_IOCTL_TRACE_CLOSE, &end);
}

static int map_buf(void)
{
	w_.map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, w_.fd,
		      (off_t)w_.host.mmap_offset);
	return w_.map == MAP_FAILED ? -errno : 0;
}

static int map_ring(void)
{
	w_.map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, w_.opened, 0);
	return w_.map == MAP_FAILED ? -errno : 0;
}

static int open_ring(void)
{
	if (w_.opened >= 0)
		return 0;
	ASSERT(open_it() == 0);
	w_.ring.log2_records = 12;
	return dev_ioctl(w_.opened, AXL_IOCTL_TRACE_OPEN, &w_.ring);
}

static int unmap_buf(void) { return munmap(w_.map, BYTES) ? -errno : 0; }

static int poll_it(void)
{
	return poll(&(struct pollfd){ .fd = w_.fd, .events = POLLIN }, 1, 0) < 0 ? -errno : 0;
}

static int read_all(const char *pattern)
{
	char text[4096];
	glob_t found;
	size_t i;
	int err = 0;

	if (glob(pattern, 0, NULL, &found))
		return 0;
	for (i = 0; i < found.gl_pathc && !err; i++) {
		int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0 || read(fd, text, sizeof(text)) < 0)
			err = -errno;
		if (fd >= 0)
			close(fd);
	}
	globfree(&found);
	return err;
}

static int perf_open(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = (uint32_t)w_.pmu_type };

	w_.opened = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
	return w_.opened < 0 ? -errno : 0;
}

static int perf_read(void)
{
	uint64_t value;

	return read(w_.opened, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int ptp_extended(void)
{
	struct ptp_sys_offset_extended request = { .n_samples = 3 };

	return ioctl(w_.ptp, PTP_SYS_OFFSET_EXTENDED, &request) < 0 ? -errno : 0;
}

static int ptp_precise(void)
{
	struct ptp_sys_offset_precise request = { 0 };

	return ioctl(w_.ptp, PTP_SYS_OFFSET_PRECISE, &request) < 0 ? -errno : 0;
}

static int read_sysfs(void) { return read_all("/sys/class/axl/axl0/stats/*"); }
static int read_debugfs(void) { return read_all("/sys/kernel/debug/axl/*/state"); }
static int reset(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", w_.pci_name);
	return write_text(path, "1");
}

static int unbind(void) { return write_text("/sys/bus/pci/drivers/axl/unbind", w_.pci_name); }
static int bind(void) { return write_text("/sys/bus/pci/drivers/axl/bind", w_.pci_name); }

struct chain {
	const char *name;
	int (*before)(void);	/* each time, without faults */
	int (*run)(void);
	int (*after)(void);	/* when run went well */
	int (*otherwise)(void);	/* when it did not */
	int alone;		/* nothing may be open */
};

/* Returns 1 if this call had a fault, 0 if it had fewer than n points. */
static int one(const struct chain *chain, int nth, int *err)
{
	char text[16] = "";
	int fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC), left, tries;

	ASSERT(fd >= 0);
	snprintf(text, sizeof(text), "%d", nth);
	ASSERT(pwrite(fd, text, strlen(text), 0) > 0);
	*err = chain->run();
	memset(text, 0, sizeof(text));
	/* The number of points left; this read may itself be hit. */
	left = pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 1;
	for (tries = 0; tries < 3 && pwrite(fd, "0", 1, 0) != 1; tries++)
		;
	close(fd);
	return left == 0;
}

static int documented(int err)
{
	switch (-err) {
	case 0: case ENOMEM: case EFAULT: case ENOSPC: case EAGAIN: case EINTR: case EMFILE:
		return 1;
	}
	return 0;
}

static void sweep(const struct chain *chain)
{
	const char *most = getenv("AXL_POINTS");
	int limit = most ? atoi(most) : MOST_POINTS, nth, err, refused = 0, points = 0, hit = 1;

	for (nth = 1; hit && points < limit; nth++) {
		if (chain->before)
			ASSERT(chain->before() == 0);
		hit = one(chain, nth, &err);
		points += hit;
		refused += hit && err;
		/* The result of a probe depends on the kernel's own code. */
		if (!(hit ? documented(err) || chain->alone : !err))
			harness_fail(__FILE__, __LINE__, "%s, fault %d: %d (%s)", chain->name,
				     hit ? nth : 0, -err, strerror(-err));
		if (!err && chain->after)
			ASSERT(chain->after() == 0);
		else if (err && chain->otherwise)
			chain->otherwise();
		if (points && points % 100 == 0) {
			printf("# %-14s %5d points so far\n", chain->name, points);
			fflush(stdout);
		}
	}
	printf("# %-14s %5d points%s, %d calls refused\n", chain->name, points,
	       hit ? " (not all)" : "", refused);
	printf("# figure fail_nth_points %d points\n# figure fail_nth_chains 1 chains\n"
	       "# figure fail_nth_chains_cut %d chains\n", points, hit);
	/*
	 * A release allocates nothing and therefore cannot fail. Neither does a submission, and it
	 * reads user memory a word at a time, which this kind of fault does not hit.
	 */
	EXPECT(points > 0 || chain->run == close_it || chain->run == submit_plain);
}

static int number_in(const char *path)
{
	FILE *file = fopen(path, "r");
	int number = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

static void world_open(void)
{
	glob_t found;

	w_.fd = dev_open();
	w_.opened = -1;
	w_.pmu_type = number_in("/sys/bus/event_source/devices/axl_0/type");
	ASSERT(glob("/dev/ptp*", 0, NULL, &found) == 0);
	w_.ptp = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
	globfree(&found);
	ASSERT(w_.pmu_type > 0 && w_.ptp >= 0);
	strcpy(w_.pci_name, dev_info(w_.fd).pci_name);
	w_.ring = (struct axl_trace_open){ .size = sizeof(w_.ring), .log2_records = 8,
					   .classes = AXL_REC_CLASSES_ALL };
	ASSERT(ctx_create(w_.fd, 1, 0, &w_.other) == 0);
	w_.ctx = w_.other.ctx;
	ASSERT(buf_create(w_.fd, AXL_BUF_HOST, BYTES, NULL, &w_.host) == 0);
	ASSERT(buf_create(w_.fd, AXL_BUF_DEVICE, BYTES, NULL, &w_.device) == 0);
	w_.user = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(w_.user != MAP_FAILED);
}

static void sweep_in_a_world(const struct chain *variant)
{
	struct axl_info all;
	int fd;

	inject_everywhere();
	world_open();
	if (variant->alone) {
		close(w_.fd);
		close(w_.ptp);
		if (variant->run == bind)
			ASSERT(unbind() == 0);
	}
	sweep(variant);
	if (variant->alone) {
		unbind();
		ASSERT(bind() == 0);
	} else {
		close(w_.fd);
	}
	fd = dev_open();
	all = dev_info(fd);
	EXPECT_EQ(all.dram_free_bytes, all.dram_bytes - 4096);
}

TEST_VARIANTS(each_call_fails, struct chain,
	      { "open", NULL, open_it, close_it, NULL, 0 },
	      { "open_as_another", pay_as_somebody, open_it, close_and_pay_as_root, pay_as_root,
		0 },
	      { "close", open_full, close_it, NULL, NULL, 0 },
	      { "info", NULL, info, NULL, NULL, 0 },
	      { "ctx_create", NULL, make_ctx, end_ctx, NULL, 0 },
	      { "ctx_destroy", make_ctx, end_ctx, NULL, end_ctx, 0 },
	      { "buf_host", NULL, make_host, end_buf, NULL, 0 },
	      { "buf_user", NULL, make_user, end_buf, NULL, 0 },
	      { "buf_scattered", scatter, make_user, end_buf, NULL, 0 },
	      { "buf_device", NULL, make_device, end_buf, NULL, 0 },
	      { "buf_scratch", NULL, make_scratch, end_buf, NULL, 0 },
	      { "buf_destroy", make_user, end_buf, NULL, end_buf, 0 },
	      { "submit", NULL, submit_plain, wait_it, NULL, 0 },
	      { "submit_fence", NULL, submit_fence, end_fence, NULL, 0 },
	      { "fence_read", submit_fence, read_fence, end_fence, end_fence, 0 },
	      { "wait", submit_plain, wait_it, NULL, NULL, 0 },
	      { "jobs_trace", NULL, jobs_trace, NULL, NULL, 0 },
	      { "clients", NULL, clients, NULL, NULL, 0 },
	      { "counters", NULL, counters, NULL, NULL, 0 },
	      { "clock_sample", NULL, clock_sample, NULL, NULL, 0 },
	      /* If the answer does not reach the caller, the ring stays open. */
	      { "trace_open", NULL, ring_open, ring_close, ring_close, 0 },
	      { "driver_ring_open", NULL, driver_ring_open, ring_close, ring_close, 0 },
	      { "driver_ring_submit", driver_ring_open, submit_plain, wait_it, NULL, 0 },
	      { "trace_close", ring_open, ring_close, NULL, ring_close, 0 },
	      { "mmap", NULL, map_buf, unmap_buf, NULL, 0 },
	      { "mmap_ring", open_ring, map_ring, unmap_buf, NULL, 0 },
	      { "perf_open", NULL, perf_open, close_it, NULL, 0 },
	      { "perf_read", perf_open, perf_read, close_it, close_it, 0 },
	      { "ptp_extended", NULL, ptp_extended, NULL, NULL, 0 },
	      { "ptp_precise", NULL, ptp_precise, NULL, NULL, 0 },
	      { "poll", NULL, poll_it, NULL, NULL, 0 },
	      { "sysfs", NULL, read_sysfs, NULL, NULL, 0 },
	      { "debugfs", NULL, read_debugfs, NULL, NULL, 0 },
	      { "reset", NULL, reset, NULL, NULL, 1 })
{
	sweep_in_a_world(variant);
}

TEST_VARIANTS(the_device_comes_and_goes, struct chain,
	      { "probe", NULL, bind, unbind, NULL, 1 },
	      { "remove", NULL, unbind, bind, NULL, 1 })
{
	sweep_in_a_world(variant);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
