// SPDX-License-Identifier: Apache-2.0
/* Buffers of all kinds: limits, mapping, copies across their boundaries. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

TEST(fields_are_checked)
{
	int fd = dev_open();
	struct axl_buf_create buf;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT_EQ(buf_create(fd, AXL_BUF_HOST, 0, NULL, &buf), -EINVAL);
	EXPECT_EQ(buf_create(fd, 4, 4096, NULL, &buf), -EINVAL);
	EXPECT_EQ(buf_create(fd, AXL_BUF_HOST, 4096, page, &buf), -EINVAL);
	EXPECT_EQ(buf_create(fd, AXL_BUF_DEVICE, 4096, page, &buf), -EINVAL);
	EXPECT_EQ(buf_create(fd, AXL_BUF_USER, 4096, (char *)page + 1, &buf), -EINVAL);
	EXPECT_EQ(buf_create(fd, AXL_BUF_USER, 1ull << 40, page, &buf), -EINVAL);
	EXPECT_EQ(buf_create(fd, AXL_BUF_HOST, ~0ull, NULL, &buf), -EINVAL);
	EXPECT_EQ(buf_create(fd, AXL_BUF_DEVICE, 1ull << 40, NULL, &buf), -ENOSPC);
	buf = (struct axl_buf_create){ .size = sizeof(buf), .bytes = 4096, .flags = 1 };
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_BUF_CREATE, &buf), -EINVAL);
	EXPECT_EQ(buf_destroy(fd, 0), -ENOENT);
	EXPECT_EQ(buf_destroy(fd, 1), -ENOENT);
	EXPECT_EQ(buf_destroy(fd, ~0u), -ENOENT);
}

TEST(unmapped_user_memory_is_efault)
{
	int fd = dev_open();
	struct axl_buf_create buf;
	char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(two + 4096, 4096);
	EXPECT_EQ(buf_create(fd, AXL_BUF_USER, 8192, two, &buf), -EFAULT);
	EXPECT_EQ(buf_create(fd, AXL_BUF_USER, 4096, two, &buf), 0);
}

TEST(pinned_memory_obeys_memlock)
{
	int fd = dev_open();
	struct rlimit limit = { 4 * 4096, 4 * 4096 };
	struct axl_buf_create buf, more;
	char *map = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (geteuid() != 0)
		harness_skip("needs root to become an ordinary user");
	ASSERT(setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && setresuid(65534, 65534, 65534) == 0);
	EXPECT_EQ(buf_create(fd, AXL_BUF_USER, 5 * 4096, map, &buf), -ENOMEM);
	EXPECT_EQ(buf_create(fd, AXL_BUF_USER, 4 * 4096, map, &buf), 0);
	EXPECT_EQ(buf_create(fd, AXL_BUF_USER, 4096, map, &more), -ENOMEM);
	EXPECT_EQ(buf_destroy(fd, buf.handle), 0);
	EXPECT_EQ(buf_create(fd, AXL_BUF_USER, 4096, map, &more), 0);
}

TEST(device_memory_runs_out_and_comes_back)
{
	int fd = dev_open();
	struct axl_info info = dev_info(fd);
	uint64_t quarter = info.dram_free_bytes / 4 & ~4095ull;
	struct axl_buf_create buf[5];
	int i;

	for (i = 0; i < 4; i++)
		ASSERT(buf_create(fd, AXL_BUF_DEVICE, quarter, NULL, &buf[i]) == 0);
	EXPECT_EQ(buf_create(fd, AXL_BUF_DEVICE, quarter, NULL, &buf[4]), -ENOSPC);
	/* A hole in the middle is reused, and two adjacent ones are merged. */
	EXPECT_EQ(buf_destroy(fd, buf[1].handle), 0);
	EXPECT_EQ(buf_destroy(fd, buf[2].handle), 0);
	EXPECT_EQ(buf_create(fd, AXL_BUF_DEVICE, 2 * quarter, NULL, &buf[4]), 0);
	EXPECT_EQ(buf[4].device_addr, buf[1].device_addr);
	close(fd);
	fd = dev_open();
	EXPECT_EQ(dev_info(fd).dram_free_bytes, info.dram_free_bytes);
}

TEST(device_memory_does_not_overlap)
{
	int fd = dev_open();
	struct axl_buf_create buf[64];
	int i, j;

	for (i = 0; i < 64; i++) {
		ASSERT(buf_create(fd, i % 4 ? AXL_BUF_DEVICE : AXL_BUF_SCRATCH, 4096 * (1 + i % 3),
				  NULL, &buf[i]) == 0);
		for (j = 0; j < i; j++)
			EXPECT(buf[i].device_addr >= buf[j].device_addr + buf[j].bytes ||
			       buf[j].device_addr >= buf[i].device_addr + buf[i].bytes);
	}
}

TEST(handles_run_out)
{
	int fd = dev_open();
	struct axl_buf_create buf;
	int i, err = 0;

	for (i = 0; i < 5000 && !err; i++)
		err = buf_create(fd, AXL_BUF_DEVICE, 4096, NULL, &buf);
	EXPECT_EQ(err, -ENOSPC);
	EXPECT(i >= 4000);
	EXPECT_EQ(buf_destroy(fd, 17), 0);
	EXPECT_EQ(buf_create(fd, AXL_BUF_DEVICE, 4096, NULL, &buf), 0);
	EXPECT_EQ(buf.handle, 17);
}

TEST(mapping_is_bounded)
{
	int fd = dev_open();
	struct axl_buf_create buf, device;
	char *map;

	ASSERT(buf_create(fd, AXL_BUF_HOST, 3 * 4096, NULL, &buf) == 0);
	ASSERT(buf_create(fd, AXL_BUF_DEVICE, 3 * 4096, NULL, &device) == 0);
	EXPECT(mmap(NULL, 4 * 4096, PROT_READ, MAP_SHARED, fd, buf.mmap_offset) == MAP_FAILED);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, buf.mmap_offset + 3 * 4096) ==
	       MAP_FAILED);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, buf.mmap_offset) == MAP_FAILED);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, (off_t)device.handle << 32) ==
	       MAP_FAILED);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, (off_t)77 << 32) == MAP_FAILED);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, buf.mmap_offset + 4096);
	ASSERT(map != MAP_FAILED);
	map[0] = 42;
	/* The mapping keeps its page after the buffer and the file are gone. */
	EXPECT_EQ(buf_destroy(fd, buf.handle), 0);
	close(fd);
	EXPECT_EQ(map[0], 42);
	map[4095] = 1;
}

static void fill(uint32_t *words, uint64_t count, uint32_t seed)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		words[i] = seed + (uint32_t)i * 2654435761u;
}

struct kind {
	const char *name;
	uint32_t kind;
	uint64_t bytes;
	int scatter;	/* user pages that are not neighbours */
};

/* To the device and back through different parts of buffers, pages in and out of order. */
TEST_VARIANTS(copy_round_trip, struct kind,
	      { "host_page", AXL_BUF_HOST, 4096, 0 }, { "host_large", AXL_BUF_HOST, 6 << 20, 0 },
	      { "user_page", AXL_BUF_USER, 4096, 0 }, { "user_large", AXL_BUF_USER, 3 << 20, 0 },
	      { "user_scattered", AXL_BUF_USER, 1 << 20, 1 })
{
	int fd = dev_open();
	struct axl_ctx_create ctx;
	struct axl_buf_create host, device;
	struct axl_desc cmds[2];
	uint32_t *map, *back;
	uint64_t half = variant->bytes / 2, skew = 20, i;

	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	ASSERT(buf_create(fd, AXL_BUF_DEVICE, variant->bytes, NULL, &device) == 0);
	if (variant->kind == AXL_BUF_USER) {
		map = mmap(NULL, variant->bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		/*
		 * When they are touched from the end, the kernel allocates pages in descending
		 * order.
		 */
		for (i = variant->bytes; variant->scatter && i; i -= 4096) {
			char *hole = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			((char *)map)[i - 1] = 1;
			hole[0] = 1;
		}
		ASSERT(buf_create(fd, AXL_BUF_USER, variant->bytes, map, &host) == 0);
	} else {
		ASSERT(buf_create(fd, AXL_BUF_HOST, variant->bytes, NULL, &host) == 0);
		map = buf_map(fd, &host);
	}
	ASSERT(map);
	fill(map, half / 4, 7);
	back = map + half / 4;
	cmds[0] = cmd_copy(AXL_OP_COPY_H2D, AXL_REF(host.handle, 0), AXL_REF(device.handle, skew),
			   half - skew);
	cmd_signal(&cmds[0], 3, 1);
	cmds[1] = cmd_copy(AXL_OP_COPY_D2H, AXL_REF(host.handle, half + skew),
			   AXL_REF(device.handle, skew), half - skew);
	cmd_wait(&cmds[1], 3, 1);
	ASSERT(submit_wait(fd, ctx.ctx, 0, cmds, 2) == 0);
	EXPECT(memcmp((char *)back + skew, map, half - skew) == 0);
	for (i = 0; i < skew / 4; i++)
		EXPECT_EQ(back[i], 0);
	EXPECT_EQ(buf_destroy(fd, host.handle), 0);
}

/* Rows with a pitch, through a buffer that is not contiguous on the bus. */
TEST(strided_copy_through_scatter_list)
{
	enum { ROWS = 40, ROW = 5000, PITCH = 12288, TIGHT = 5120 };
	int fd = dev_open();
	struct axl_ctx_create ctx;
	struct axl_buf_create host, device;
	struct axl_desc cmd;
	uint8_t *map = mmap(NULL, ROWS * PITCH * 2, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *back = map + ROWS * PITCH;
	uint64_t i;

	for (i = 0; i < ROWS * PITCH; i++)
		map[i] = i % 251;
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	ASSERT(buf_create(fd, AXL_BUF_DEVICE, ROWS * TIGHT, NULL, &device) == 0);
	ASSERT(buf_create(fd, AXL_BUF_USER, ROWS * PITCH * 2, map, &host) == 0);
	cmd = cmd_copy(AXL_OP_COPY_H2D, AXL_REF(host.handle, 100), AXL_REF(device.handle, 0), ROW);
	cmd.copy.rows = ROWS;
	cmd.copy.host_pitch = PITCH;
	cmd.copy.device_pitch = TIGHT;
	ASSERT(submit_wait(fd, ctx.ctx, 0, &cmd, 1) == 0);
	cmd = cmd_copy(AXL_OP_COPY_D2H, AXL_REF(host.handle, ROWS * PITCH),
		       AXL_REF(device.handle, 0), ROW);
	cmd.copy.rows = ROWS;
	cmd.copy.host_pitch = ROW;
	cmd.copy.device_pitch = TIGHT;
	ASSERT(submit_wait(fd, ctx.ctx, 0, &cmd, 1) == 0);
	for (i = 0; i < ROWS; i++)
		EXPECT(memcmp(back + i * ROW, map + 100 + i * PITCH, ROW) == 0);
}

/* A buffer stays until the jobs that use it are done. */
TEST(busy_buffer_stays)
{
	int fd = dev_open();
	struct axl_ctx_create ctx;
	struct axl_buf_create buf;
	struct axl_submit first, second;
	struct axl_wait end;
	struct axl_desc cmd;

	ASSERT(ctx_create(fd, 2, 0, &ctx) == 0);
	ASSERT(buf_create(fd, AXL_BUF_DEVICE, 4096, NULL, &buf) == 0);
	cmd = cmd_fill(AXL_REF(buf.handle, 0), 1024, 1.0f);
	cmd_wait(&cmd, 0, 1);
	ASSERT(submit(fd, ctx.ctx, 0, &cmd, 1, &first) == 0);
	EXPECT_EQ(buf_destroy(fd, buf.handle), -EBUSY);
	cmd = cmd_nop(AXL_ENGINE_MATRIX);
	cmd_signal(&cmd, 0, 1);
	ASSERT(submit(fd, ctx.ctx, 1, &cmd, 1, &second) == 0);
	EXPECT_EQ(wait_seq(fd, ctx.ctx, 0, first.sequence, PATIENCE_MS, &end), 0);
	EXPECT_EQ(buf_destroy(fd, buf.handle), 0);
}

/* ---- memory of a former owner cannot be read ---- */

enum { SECRET_BYTES = 256 << 10, SECRET = 0x5ec7e7ad };

/* Reads all of the memory; returns whether every word equals value. */
static int all_words_are(int fd, uint32_t ctx, const struct axl_buf_create *memory, uint32_t value)
{
	struct axl_buf_create host;
	struct axl_desc copy;
	uint32_t *map;
	int right = 1;
	size_t i;

	ASSERT(buf_create(fd, AXL_BUF_HOST, memory->bytes, NULL, &host) == 0);
	map = buf_map(fd, &host);
	ASSERT(map);
	memset(map, 0xee, memory->bytes);
	copy = cmd_copy(AXL_OP_COPY_D2H, AXL_REF(host.handle, 0), AXL_REF(memory->handle, 0),
			memory->bytes);
	EXPECT_EQ(submit_wait(fd, ctx, 0, &copy, 1), 0);
	for (i = 0; i < memory->bytes / 4; i++)
		right &= map[i] == value;
	munmap(map, memory->bytes);
	EXPECT_EQ(buf_destroy(fd, host.handle), 0);
	return right;
}

static void keep_secret(int fd, uint32_t ctx, uint32_t kind, struct axl_buf_create *memory)
{
	struct axl_desc fill;
	float secret;

	ASSERT(buf_create(fd, kind, SECRET_BYTES, NULL, memory) == 0);
	memcpy(&secret, &(uint32_t){ SECRET }, sizeof(secret));
	fill = cmd_fill(AXL_REF(memory->handle, 0), SECRET_BYTES / 4, secret);
	EXPECT_EQ(submit_wait(fd, ctx, 0, &fill, 1), 0);
	ASSERT(all_words_are(fd, ctx, memory, SECRET));
}

struct leaving {
	const char *name;
	uint32_t kind;
	enum { DESTROYS, CLOSES, DIES } how;
};

TEST_VARIANTS(memory_comes_without_its_past, struct leaving,
	      { "device/destroyed", AXL_BUF_DEVICE, DESTROYS },
	      { "device/closed", AXL_BUF_DEVICE, CLOSES },
	      { "device/killed", AXL_BUF_DEVICE, DIES },
	      { "scratch/destroyed", AXL_BUF_SCRATCH, DESTROYS },
	      { "scratch/closed", AXL_BUF_SCRATCH, CLOSES },
	      { "scratch/killed", AXL_BUF_SCRATCH, DIES })
{
	int pipe_fds[2], status, fd;
	struct axl_buf_create theirs, ours;
	struct axl_ctx_create ctx;
	pid_t pid;

	ASSERT(pipe(pipe_fds) == 0);
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		int own = dev_open();

		ASSERT(ctx_create(own, 1, 0, &ctx) == 0);
		keep_secret(own, ctx.ctx, variant->kind, &theirs);
		if (variant->how == DESTROYS)
			EXPECT_EQ(buf_destroy(own, theirs.handle), 0);
		else if (variant->how == CLOSES)
			close(own);
		else
			/* While it is being written repeatedly. */
			for (status = 0; status < 100; status++) {
				struct axl_desc copy = cmd_fill(AXL_REF(theirs.handle, 0),
								SECRET_BYTES / 4, 1.0f);
				struct axl_submit job;

				submit(own, ctx.ctx, 0, &copy, 1, &job);
			}
		ASSERT(write(pipe_fds[1], &theirs, sizeof(theirs)) == sizeof(theirs));
		pause();
	}
	close(pipe_fds[1]);
	ASSERT(read(pipe_fds[0], &theirs, sizeof(theirs)) == sizeof(theirs));
	if (variant->how == DIES) {
		kill(pid, SIGKILL);
		ASSERT(waitpid(pid, &status, 0) == pid);
	}
	fd = dev_open();
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	ASSERT(buf_create(fd, variant->kind, SECRET_BYTES, NULL, &ours) == 0);
	/* Must be the same memory, or this would prove nothing. */
	EXPECT_EQ(ours.device_addr, theirs.device_addr);
	EXPECT(all_words_are(fd, ctx.ctx, &ours, 0));
	if (variant->how != DIES) {
		kill(pid, SIGKILL);
		ASSERT(waitpid(pid, &status, 0) == pid);
	}
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
