// SPDX-License-Identifier: Apache-2.0
/* The driver's own trace ring, AXL_TRACE_RING_DRIVER: its records, access to it, and its limits. */
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

struct host_ring {
	int fd;
	struct axl_trace_open open;
	struct axl_trace_header *header;
	const volatile union axl_host_record *records;
};

static int open_ring(int fd, uint32_t log2_records, uint32_t watermark, struct axl_trace_open *open)
{
	*open = (struct axl_trace_open){ .size = sizeof(*open), .ring = AXL_TRACE_RING_DRIVER,
					 .log2_records = log2_records, .watermark = watermark };
	return dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, open);
}

static struct host_ring map_ring(uint32_t log2_records, uint32_t watermark)
{
	struct host_ring ring = { .fd = dev_open() };

	ASSERT(open_ring(ring.fd, log2_records, watermark, &ring.open) == 0);
	EXPECT(ring.open.map_bytes >= AXL_TRACE_HEADER_BYTES +
				      ((uint64_t)AXL_TRACE_RECORD_BYTES << log2_records));
	ring.header = mmap(NULL, ring.open.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
			   (off_t)ring.open.mmap_offset);
	ASSERT(ring.header != MAP_FAILED);
	ring.records = (const void *)((const char *)ring.header + AXL_TRACE_HEADER_BYTES);
	EXPECT_EQ(ring.header->magic, AXL_TRACE_MAGIC);
	EXPECT_EQ(ring.header->record_bytes, AXL_TRACE_RECORD_BYTES);
	EXPECT_EQ(ring.header->log2_records, log2_records);
	EXPECT_EQ(ring.header->ring, AXL_TRACE_RING_DRIVER);
	return ring;
}

static uint64_t produced(const struct host_ring *ring)
{
	return __atomic_load_n(&ring->header->produced, __ATOMIC_ACQUIRE);
}

static void run_jobs(int fd, uint32_t ctx, int count)
{
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);

	while (count-- > 0)
		ASSERT(submit_wait(fd, ctx, 0, &nop, 1) == 0);
}

/* Converts as the header of struct axl_rec_host_job specifies. */
static uint64_t to_ns(const struct host_ring *ring, uint64_t stamp, uint64_t known,
		      uint64_t known_ns)
{
	int64_t distance = (int64_t)(stamp - known);

	if (ring->header->stamp_khz)
		distance = (int64_t)((double)distance * 1e6 / ring->header->stamp_khz);
	return known_ns + (uint64_t)distance;
}

TEST(fields_and_privilege_are_checked)
{
	struct axl_trace_open good = { .size = sizeof(good), .ring = AXL_TRACE_RING_DRIVER,
				       .log2_records = 8 }, open;
	int fd = dev_open();

	open = good, open.ctx = 1;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.classes = AXL_REC_CLASS(AXL_REC_CMD);
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.sample_period_ns = 1000000;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.log2_records = 4;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.log2_records = 17;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.watermark = 257;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.job_ps = 1;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.wait_ps = 1;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good;
	ASSERT(setresuid(65534, 65534, 65534) == 0);
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EPERM);
}

TEST(it_has_one_reader)
{
	struct axl_trace_open open, device = { .size = sizeof(device), .log2_records = 8 };
	struct axl_trace_close end = { .size = sizeof(end) };
	int a = dev_open(), b = dev_open();

	ASSERT(open_ring(a, 8, 0, &open) == 0);
	EXPECT(open.job_ps > 0 && open.wait_ps > 0);
	EXPECT_EQ(open_ring(a, 8, 0, &open), -EBUSY);
	EXPECT_EQ(open_ring(b, 8, 0, &open), -EBUSY);
	/* A file can have one ring only. */
	EXPECT_EQ(dev_ioctl(a, AXL_IOCTL_TRACE_OPEN, &device), -EBUSY);
	ASSERT(dev_ioctl(b, AXL_IOCTL_TRACE_OPEN, &device) == 0);
	EXPECT_EQ(dev_ioctl(a, AXL_IOCTL_TRACE_CLOSE, &end), 0);
	EXPECT_EQ(dev_ioctl(a, AXL_IOCTL_TRACE_CLOSE, &end), -ENOENT);
	EXPECT_EQ(open_ring(b, 8, 0, &open), -EBUSY);
	EXPECT_EQ(dev_ioctl(b, AXL_IOCTL_TRACE_CLOSE, &end), 0);
	EXPECT_EQ(open_ring(b, 8, 0, &open), 0);
	close(b);
	EXPECT_EQ(open_ring(a, 8, 0, &open), 0);
}

static void check_job(const struct host_ring *ring, const struct axl_rec_host_job *job,
		      uint64_t before_ns, uint64_t after_ns)
{
	uint64_t submit_ns = to_ns(ring, job->submit, job->doorbell, job->doorbell_ns);
	uint64_t end_ns = to_ns(ring, job->submit_end, job->doorbell, job->doorbell_ns);
	uint64_t irq_ns = to_ns(ring, job->irq, job->anchor, job->anchor_ns);
	uint64_t complete_ns = to_ns(ring, job->h.time, job->anchor, job->anchor_ns);

	EXPECT(job->submit <= job->doorbell && job->doorbell <= job->submit_end);
	EXPECT(job->doorbell <= job->irq && job->irq <= job->h.time);
	/* A time computed from stamps may be off by 10 ns. */
	EXPECT(before_ns <= submit_ns + 10 && submit_ns <= job->doorbell_ns);
	EXPECT(job->doorbell_ns <= end_ns && job->doorbell_ns <= irq_ns + 10);
	EXPECT(irq_ns <= complete_ns && complete_ns <= after_ns + 10);
}

TEST(a_job_and_its_wait_are_recorded)
{
	struct axl_desc nops[3] = { cmd_nop(0), cmd_nop(1), cmd_nop(2) };
	struct host_ring ring = map_ring(8, 0);
	struct axl_rec_host_wait wait;
	uint64_t before_ns, after_ns;
	struct axl_rec_host_job job;
	struct axl_submit submitted;
	struct axl_ctx_create ctx;
	struct axl_wait end;

	ASSERT(ctx_create(ring.fd, 1, 0, &ctx) == 0);
	before_ns = now_ns();
	ASSERT(submit(ring.fd, ctx.ctx, 0, nops, 3, &submitted) == 0);
	EXPECT_EQ(wait_seq(ring.fd, ctx.ctx, 0, 1, PATIENCE_MS, &end), 0);
	after_ns = now_ns();
	ASSERT(produced(&ring) == 2);
	memcpy(&job, (const void *)&ring.records[0], sizeof(job));
	memcpy(&wait, (const void *)&ring.records[1], sizeof(wait));
	EXPECT_EQ(job.h.type, AXL_REC_HOST_JOB);
	EXPECT_EQ(job.h.sequence, 0);
	EXPECT_EQ(job.h.context, ctx.hw_context);
	EXPECT_EQ(job.seq, 1);
	EXPECT_EQ(job.correlation, submitted.correlation);
	EXPECT_EQ(job.job, submitted.job);
	EXPECT_EQ(job.num_cmds, 3);
	EXPECT_EQ(job.copy_bytes, 0);
	EXPECT_EQ(job.device_ticks, end.device_ticks);
	EXPECT_EQ(job.pid, getpid());
	EXPECT_EQ(job.tid, syscall(SYS_gettid));
	EXPECT_EQ(job.status, AXL_ST_OK);
	check_job(&ring, &job, before_ns, after_ns);
	EXPECT_EQ(wait.h.type, AXL_REC_HOST_WAIT);
	EXPECT_EQ(wait.h.sequence, 1);
	EXPECT_EQ(wait.seq, 1);
	EXPECT_EQ(wait.correlation, submitted.correlation);
	EXPECT_EQ(wait.job, submitted.job);
	EXPECT_EQ(wait.status, AXL_ST_OK);
	EXPECT_EQ(wait.pid, getpid());
	EXPECT(before_ns <= wait.wait_ns && wait.wait_ns <= wait.h.time + 10);
	EXPECT(wait.h.time <= after_ns + 10);
}

/* It has other users' jobs too, since its readers have the right to see them. */
TEST(jobs_of_other_processes_are_recorded)
{
	struct host_ring ring = map_ring(8, 0);
	struct axl_ctx_create ctx;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int fd = dev_open();

		if (ctx_create(fd, 1, 0, &ctx) == 0)
			run_jobs(fd, ctx.ctx, 5);
		_exit(harness_failed());
	}
	ASSERT(waitpid(pid, &status, 0) == pid && status == 0);
	EXPECT_EQ(produced(&ring), 10);
	EXPECT_EQ(ring.records[0].host_job.pid, pid);
	/* A closed ring is gone; its pages stay mapped. */
	close(ring.fd);
	EXPECT_EQ(ring.header->magic, AXL_TRACE_MAGIC);
}

TEST(jobs_in_flight_are_recorded_when_asked)
{
	struct axl_jobs_trace ask = { .size = sizeof(ask) };
	struct axl_desc stuck = cmd_nop(AXL_ENGINE_VECTOR);
	struct host_ring ring = map_ring(8, 0);
	struct axl_ctx_create ctx;
	struct axl_submit job;

	ASSERT(ctx_create(ring.fd, 1, 0, &ctx) == 0);
	cmd_wait(&stuck, 5, 1);
	ASSERT(submit(ring.fd, ctx.ctx, 0, &stuck, 1, &job) == 0);
	EXPECT_EQ(produced(&ring), 0);
	EXPECT_EQ(dev_ioctl(ring.fd, AXL_IOCTL_JOBS_TRACE, &ask), 0);
	EXPECT_EQ(ask.jobs, 1);
	ASSERT(produced(&ring) == 1);
	EXPECT_EQ(ring.records[0].host_job.status, 0xffffffff);
	EXPECT_EQ(ring.records[0].h.time, 0);
	EXPECT(ring.records[0].host_job.doorbell_ns > 0);
	EXPECT_EQ(ctx_destroy(ring.fd, ctx.ctx), 0);
	ASSERT(produced(&ring) == 2);
	EXPECT_EQ(ring.records[1].host_job.status, AXL_ST_CANCELED);
	EXPECT_EQ(ring.records[1].host_job.irq, 0);
	EXPECT(ring.records[1].h.time > 0);
}

TEST(a_full_ring_counts_its_losses)
{
	struct host_ring ring = map_ring(5, 0);
	struct axl_ctx_create ctx;

	ASSERT(ctx_create(ring.fd, 1, 0, &ctx) == 0);
	run_jobs(ring.fd, ctx.ctx, 20);
	EXPECT_EQ(produced(&ring), 32);
	EXPECT_EQ(ring.header->lost, 8);
	__atomic_store_n(&ring.header->consumed, 32, __ATOMIC_RELEASE);
	run_jobs(ring.fd, ctx.ctx, 1);
	EXPECT_EQ(produced(&ring), 34);
	EXPECT_EQ(ring.records[0].h.sequence, 40);
	EXPECT_EQ(ring.records[1].h.sequence, 41);
	EXPECT_EQ(ring.header->lost, 8);
}

/* A reader may write anything into its mapping; that harms only its own ring. */
TEST(a_hostile_reader_harms_his_ring_only)
{
	static const uint64_t lies[] = { UINT64_MAX, 1, 1ull << 63, 12345, UINT64_MAX - 40, 33 };
	struct host_ring ring = map_ring(5, 8);
	struct pollfd poll_fd = { .fd = ring.fd, .events = POLLIN };
	struct axl_ctx_create ctx;
	uint64_t before;
	size_t i;

	ASSERT(ctx_create(ring.fd, 1, 0, &ctx) == 0);
	for (i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		memset(ring.header, 0xff, AXL_TRACE_HEADER_BYTES);
		__atomic_store_n(&ring.header->consumed, lies[i], __ATOMIC_RELEASE);
		run_jobs(ring.fd, ctx.ctx, 40);
		poll(&poll_fd, 1, 0);
	}
	/* With valid indexes again, it continues. */
	__atomic_store_n(&ring.header->consumed, 0, __ATOMIC_RELEASE);
	run_jobs(ring.fd, ctx.ctx, 1);
	for (before = 0; before < 1000; before++) {
		__atomic_store_n(&ring.header->consumed, before, __ATOMIC_RELEASE);
		run_jobs(ring.fd, ctx.ctx, 1);
		if (produced(&ring) != UINT64_MAX && produced(&ring) > before)
			break;
	}
	EXPECT(before < 1000);
}

TEST(poll_waits_for_the_watermark)
{
	struct host_ring ring = map_ring(8, 8);
	struct pollfd poll_fd = { .fd = ring.fd, .events = POLLIN };
	struct axl_ctx_create ctx;

	ASSERT(ctx_create(ring.fd, 1, 0, &ctx) == 0);
	run_jobs(ring.fd, ctx.ctx, 3);
	EXPECT_EQ(poll(&poll_fd, 1, 0), 0);
	run_jobs(ring.fd, ctx.ctx, 1);
	EXPECT_EQ(poll(&poll_fd, 1, PATIENCE_MS), 1);
	EXPECT_EQ(poll_fd.revents, POLLIN);
	__atomic_store_n(&ring.header->consumed, produced(&ring), __ATOMIC_RELEASE);
	EXPECT_EQ(poll(&poll_fd, 1, 0), 0);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
