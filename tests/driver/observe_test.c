// SPDX-License-Identifier: Apache-2.0
/* Interfaces for tools: trace rings, counters, clock samples. */
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

static int ring_open(int fd, uint32_t ring, uint32_t ctx, struct axl_trace_open *out)
{
	uint32_t log2 = out->log2_records ? out->log2_records : 8;
	uint32_t watermark = out->watermark;

	*out = (struct axl_trace_open){ .size = sizeof(*out), .ring = ring, .ctx = ctx,
					.log2_records = log2, .watermark = watermark,
					.classes = AXL_REC_CLASSES_ALL };
	return dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, out);
}

TEST(ring_fields_are_checked)
{
	int fd = dev_open();
	struct axl_trace_open good = { .size = sizeof(good), .log2_records = 8 }, open;
	struct axl_trace_close end = { .size = sizeof(end) };

	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_CLOSE, &end), -ENOENT);
	open = good, open.ring = 3;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.log2_records = 4;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.log2_records = 17;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.classes = 1;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.watermark = 257;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.sample_period_ns = 9999;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.ctx = 1;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	open = good, open.ring = AXL_TRACE_RING_CTX;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -ENOENT);
	open = good, open.job_ps = 1;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EINVAL);
	if (geteuid() == 0 && setresuid(65534, 65534, 65534) == 0) {
		open = good;
		EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EPERM);
	}
}

/*
 * A ring must be contiguous on the bus, which above 2^14 records only an IOMMU guarantees. A ring
 * that is granted works up to its last record; a refusal has the right errno.
 */
TEST(large_rings_work_or_are_refused)
{
	const char *iommu = getenv("AXL_IOMMU");
	uint32_t log2;

	for (log2 = 14; log2 <= 16; log2++) {
		static struct axl_desc nops[AXL_MAX_JOB_COMMANDS];
		uint64_t wanted = (1ull << log2) + 100, made = 0, i, read = 0;
		int fd = dev_open(), err;
		struct axl_trace_open open = { .size = sizeof(open), .log2_records = log2,
					       .classes = AXL_REC_CLASS(AXL_REC_CMD) };
		struct axl_trace_header *header;
		const union axl_record *records;
		struct axl_ctx_create ctx;

		err = dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open);
		if (log2 > 14 && !iommu && err == -EOPNOTSUPP) {
			printf("# 2^%u records: refused, no IOMMU\n", log2);
			close(fd);
			continue;
		}
		ASSERT(err == 0);
		ASSERT(open.map_bytes == AXL_TRACE_HEADER_BYTES +
					 ((uint64_t)AXL_TRACE_RECORD_BYTES << log2));
		header = mmap(NULL, open.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ASSERT(header != MAP_FAILED);
		records = (const void *)((const char *)header + AXL_TRACE_HEADER_BYTES);
		ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
		for (i = 0; i < AXL_MAX_JOB_COMMANDS; i++)
			nops[i] = cmd_nop(i % AXL_NUM_ENGINES);
		while (made < wanted) {
			uint32_t n = wanted - made < AXL_MAX_JOB_COMMANDS ? wanted - made :
									    AXL_MAX_JOB_COMMANDS;
			uint64_t produced;

			ASSERT(submit_wait(fd, ctx.ctx, 0, nops, n) == 0);
			made += n;
			for (i = 0; i < 20000; i++) {
				produced = __atomic_load_n(&header->produced, __ATOMIC_ACQUIRE);
				if (produced >= made)
					break;
				usleep(1000);
			}
			ASSERT(produced == made);
			for (; read < produced; read++)
				if (records[read & ((1u << log2) - 1)].h.sequence !=
				    (uint32_t)read)
					ASSERT(!"each record at its place");
			__atomic_store_n(&header->consumed, read, __ATOMIC_RELEASE);
		}
		EXPECT_EQ(header->lost, 0);
		munmap(header, open.map_bytes);
		close(fd);
	}
}

TEST(one_owner_for_each_ring)
{
	int a = dev_open(), b = dev_open();
	struct axl_trace_open open = { 0 };
	struct axl_trace_close end = { .size = sizeof(end) };

	EXPECT_EQ(ring_open(a, AXL_TRACE_RING_DEVICE, 0, &open), 0);
	EXPECT_EQ(ring_open(a, AXL_TRACE_RING_DEVICE, 0, &open), -EBUSY);
	EXPECT_EQ(ring_open(b, AXL_TRACE_RING_DEVICE, 0, &open), -EBUSY);
	EXPECT_EQ(dev_ioctl(a, AXL_IOCTL_TRACE_CLOSE, &end), 0);
	EXPECT_EQ(ring_open(b, AXL_TRACE_RING_DEVICE, 0, &open), 0);
	close(b);
	EXPECT_EQ(ring_open(a, AXL_TRACE_RING_DEVICE, 0, &open), 0);
}

static void run_jobs(int fd, uint32_t ctx, int count)
{
	struct axl_desc nop[4];
	int i;

	for (i = 0; i < 4; i++)
		nop[i] = cmd_nop(i);
	for (i = 0; i < count; i++)
		ASSERT(submit_wait(fd, ctx, 0, nop, 4) == 0);
}

TEST(ring_sees_every_command_and_job)
{
	int fd = dev_open();
	struct axl_trace_open open = { .log2_records = 10, .watermark = 8 };
	struct axl_ctx_create ctx;
	struct axl_trace_header *header;
	const union axl_record *records;
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	uint64_t i, cmds = 0, jobs = 0, doorbells = 0;

	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	ASSERT(ring_open(fd, AXL_TRACE_RING_DEVICE, 0, &open) == 0);
	header = mmap(NULL, open.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      (off_t)open.mmap_offset);
	ASSERT(header != MAP_FAILED);
	records = (const void *)((const char *)header + AXL_TRACE_HEADER_BYTES);
	EXPECT_EQ(header->magic, AXL_TRACE_MAGIC);
	EXPECT_EQ(header->record_bytes, AXL_TRACE_RECORD_BYTES);
	EXPECT_EQ(poll(&poll_fd, 1, 0), 0);
	run_jobs(fd, ctx.ctx, 20);
	EXPECT_EQ(poll(&poll_fd, 1, PATIENCE_MS), 1);
	EXPECT_EQ(poll_fd.revents, POLLIN);
	/* The index write-back may come after the interrupt of the last job. */
	for (i = 0; i < 20000 && __atomic_load_n(&header->produced, __ATOMIC_ACQUIRE) < 120; i++)
		usleep(1000);
	for (i = 0; i < header->produced && i < 1024; i++) {
		cmds += records[i].h.type == AXL_REC_CMD;
		jobs += records[i].h.type == AXL_REC_JOB;
		doorbells += records[i].h.type == AXL_REC_DOORBELL;
		if (records[i].h.type == AXL_REC_CMD)
			EXPECT(records[i].cmd.start <= records[i].cmd.end &&
			       records[i].cmd.head <= records[i].cmd.start);
	}
	EXPECT_EQ(header->lost, 0);
	EXPECT_EQ(cmds, 80);
	EXPECT_EQ(jobs, 20);
	EXPECT_EQ(doorbells, 20);
	__atomic_store_n(&header->consumed, header->produced, __ATOMIC_RELEASE);
	EXPECT_EQ(poll(&poll_fd, 1, 0), 0);
	/* The mapping survives the end of tracing and of the file. */
	close(fd);
	EXPECT_EQ(header->magic, AXL_TRACE_MAGIC);
}

TEST(a_ring_nobody_reads_counts_its_losses)
{
	int fd = dev_open();
	struct axl_trace_open open = { .log2_records = 5 };
	struct axl_ctx_create ctx;
	struct axl_trace_header *header;
	int i;

	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	ASSERT(ring_open(fd, AXL_TRACE_RING_DEVICE, 0, &open) == 0);
	header = mmap(NULL, open.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT(header != MAP_FAILED);
	run_jobs(fd, ctx.ctx, 20);
	for (i = 0; i < 20000 && __atomic_load_n(&header->lost, __ATOMIC_ACQUIRE) == 0; i++)
		usleep(1000);
	EXPECT(header->lost > 0);
	EXPECT(header->produced <= 32);
}

TEST(context_ring_sees_its_context_only)
{
	int fd = dev_open();
	struct axl_trace_open open = { 0 };
	struct axl_ctx_create mine, other;
	struct axl_trace_header *header;
	const union axl_record *records;
	uint64_t i, produced;

	ASSERT(ctx_create(fd, 1, 0, &mine) == 0);
	ASSERT(ctx_create(fd, 1, 0, &other) == 0);
	ASSERT(ring_open(fd, AXL_TRACE_RING_CTX, mine.ctx, &open) == 0);
	header = mmap(NULL, open.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT(header != MAP_FAILED);
	records = (const void *)((const char *)header + AXL_TRACE_HEADER_BYTES);
	run_jobs(fd, other.ctx, 5);
	run_jobs(fd, mine.ctx, 5);
	for (i = 0; i < 20000 && __atomic_load_n(&header->produced, __ATOMIC_ACQUIRE) < 30; i++)
		usleep(1000);
	produced = header->produced;
	EXPECT(produced >= 30);
	for (i = 0; i < produced && i < 256; i++)
		EXPECT(records[i].h.context == mine.hw_context || records[i].h.context == 0xff);
	/* Without its context the ring stops; the pages stay mapped. */
	EXPECT_EQ(ctx_destroy(fd, mine.ctx), 0);
	ASSERT(ctx_create(fd, 1, 0, &mine) == 0);
	run_jobs(fd, mine.ctx, 5);
	EXPECT_EQ(header->produced, produced);
}

TEST(counters_obey_their_laws)
{
	int fd = dev_open();
	uint64_t v[AXL_NUM_COUNTERS + 4];
	struct axl_counters_read read = { .size = sizeof(read), .values = (uintptr_t)v,
					  .count = AXL_NUM_COUNTERS + 4 };
	struct axl_ctx_create ctx;
	uint64_t jobs;
	int engine, i;

	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	ASSERT(dev_ioctl(fd, AXL_IOCTL_COUNTERS, &read) == 0);
	EXPECT_EQ(read.count, AXL_NUM_COUNTERS);
	jobs = v[AXL_CTR_JOBS];
	run_jobs(fd, ctx.ctx, 7);
	ASSERT(dev_ioctl(fd, AXL_IOCTL_COUNTERS, &read) == 0);
	EXPECT_EQ(v[AXL_CTR_JOBS], jobs + 7);
	EXPECT(read.host_before_ns <= read.host_after_ns);
	for (engine = 0; engine < AXL_NUM_ENGINES; engine++) {
		uint64_t sum = 0;

		for (i = 0; i <= AXL_CTR_H2D_IDLE; i++)
			sum += v[AXL_CTR_ENGINE(engine) + i];
		EXPECT_EQ(sum, v[AXL_CTR_ELAPSED]);
	}
	read.first = AXL_CTR_JOBS;
	read.count = 1;
	ASSERT(dev_ioctl(fd, AXL_IOCTL_COUNTERS, &read) == 0);
	EXPECT_EQ(v[0], jobs + 7);
	read.first = AXL_NUM_COUNTERS + 1;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_COUNTERS, &read), -EINVAL);
	read.first = 0;
	read.count = 4;
	read.values = 8;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_COUNTERS, &read), -EFAULT);
}

TEST(clock_samples_bracket_and_advance)
{
	int fd = dev_open();
	struct axl_info info = dev_info(fd);
	struct axl_clock_sample last = { 0 }, now;
	int i;

	for (i = 0; i < 50; i++) {
		int64_t before = now_ns(), after;

		now = (struct axl_clock_sample){ .size = sizeof(now) };
		ASSERT(dev_ioctl(fd, AXL_IOCTL_CLOCK_SAMPLE, &now) == 0);
		after = now_ns();
		EXPECT(now.host_before_ns <= now.host_after_ns);
		EXPECT((int64_t)now.host_before_ns >= before);
		EXPECT((int64_t)now.host_after_ns <= after);
		EXPECT(now.tsc_before <= now.tsc_after);
		if (info.clock_bits == 64)
			EXPECT(now.device_ticks > last.device_ticks);
		if (now.flags & AXL_CLOCK_PTM) {
			EXPECT((int64_t)now.ptm_host_ns >= before);
			EXPECT((int64_t)now.ptm_host_ns <= after);
			EXPECT(now.ptm_device_ticks != 0);
		}
		last = now;
	}
	EXPECT_EQ(!!(last.flags & AXL_CLOCK_PTM), !!(info.features & AXL_FEATURE_PTM));
	now = (struct axl_clock_sample){ .size = sizeof(now), .flags = 2 };
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_CLOCK_SAMPLE, &now), -EINVAL);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
