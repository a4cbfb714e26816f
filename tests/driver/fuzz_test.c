// SPDX-License-Identifier: Apache-2.0
/*
 * Calls the driver's ioctls with structs that are valid except for a few fields: threads share
 * files, contexts and buffers, close them concurrently, map rings, overwrite headers and submit
 * commands that change while they are read. Requirements: only documented errnos, nothing written
 * beyond a struct's end, and at the end a device that works and has all its memory.
 *
 * AXL_FUZZ_OPS ioctls (default 10000), AXL_FUZZ_SEED, AXL_FUZZ_THREADS (4; with 1 a seed is
 * repeatable, except for waits that time out). Even seeds are limited to the quota of one user.
 */
#include <linux/capability.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/fuzz.h"
#include "tests/driver/harness.h"

struct fuzz_world world_;
static long budget_;

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? atol(text) : otherwise;
}

uint64_t fuzz_random(struct fuzz *f)
{
	f->state ^= f->state << 13;
	f->state ^= f->state >> 7;
	f->state ^= f->state << 17;
	return f->state * 0x2545f4914f6cdd1dull >> 11;
}

static void *fuzz_thread(void *arg)
{
	struct fuzz *f = arg;

	while (__atomic_load_n(&world_.ioctls, __ATOMIC_RELAXED) < budget_ &&
	       !__atomic_load_n(&world_.bad, __ATOMIC_RELAXED))
		fuzz_step(f);
	fuzz_arena_end(f);
	return NULL;
}

static void set_job_timeout(const char *ms)
{
	ASSERT(write_text("/sys/module/axl/parameters/job_timeout_ms", ms) == 0);
}

/* From here on root is limited like an ordinary user. */
static void be_limited(const char *user_percent)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	ASSERT(write_text("/sys/module/axl/parameters/user_percent", user_percent) == 0);
	ASSERT(syscall(SYS_capget, &head, caps) == 0);
	caps[0].effective &= ~(1u << CAP_SYS_RESOURCE);
	ASSERT(syscall(SYS_capset, &head, caps) == 0);
}

/* All of the device's resources are free again and it computes. */
static void expect_whole_device(void)
{
	struct axl_desc cmds[3];
	struct axl_buf_create host, device;
	struct axl_ctx_create ctx;
	struct axl_info info;
	float *map;
	int fd = dev_open(), i;

	info = dev_info(fd);
	EXPECT_EQ(info.dram_free_bytes, info.dram_bytes - 4096);
	ASSERT(ctx_create(fd, info.num_queues, 0, &ctx) == 0);
	ASSERT(buf_create(fd, AXL_BUF_HOST, 8192, NULL, &host) == 0);
	ASSERT(buf_create(fd, AXL_BUF_DEVICE, 8192, NULL, &device) == 0);
	map = buf_map(fd, &host);
	ASSERT(map);
	cmds[0] = cmd_fill(AXL_REF(device.handle, 0), 2048, 3.5f);
	cmd_signal(&cmds[0], 0, 1);
	cmds[1] = cmd_copy(AXL_OP_COPY_D2H, AXL_REF(host.handle, 0), AXL_REF(device.handle, 0),
			   8192);
	cmd_wait(&cmds[1], 0, 1);
	EXPECT_EQ(submit_wait(fd, ctx.ctx, info.num_queues - 1, cmds, 2), 0);
	for (i = 0; i < 2048 && map[i] == 3.5f; i++)
		;
	EXPECT_EQ(i, 2048);
}

static void show(uint32_t nr)
{
	int err;

	printf("# %-12s %8ld passed", fuzz_op_name(nr), world_.ends[nr][0]);
	for (err = 1; err < FUZZ_ERRNOS; err++)
		if (world_.ends[nr][err])
			printf(", %ld %s", world_.ends[nr][err], strerrorname_np(err));
	printf("\n");
}

TEST(ioctls)
{
	long seed = setting("AXL_FUZZ_SEED", 1), threads = setting("AXL_FUZZ_THREADS", 4), i;
	struct fuzz *f;
	pthread_t ids[FUZZ_MAX_THREADS];
	int64_t start = now_ns();
	uint32_t nr;

	budget_ = setting("AXL_FUZZ_OPS", 10000);
	alarm((unsigned int)setting("AXL_LIMIT_S", 180 + (int)(budget_ / 200)));
	ASSERT(threads >= 1 && threads <= FUZZ_MAX_THREADS);
	f = calloc((size_t)threads, sizeof(*f));
	ASSERT(f);
	/* End commands early that wait for a signal that never comes. */
	set_job_timeout("300");
	if (seed % 2 == 0)
		be_limited("15");
	fuzz_world_open();
	for (i = 0; i < threads; i++) {
		f[i].state = (uint64_t)(seed * 1000003 + i + 1) * 0x9e3779b97f4a7c15ull;
		f[i].id = (int)i;
		fuzz_arena(&f[i]);
		ASSERT(pthread_create(&ids[i], NULL, fuzz_thread, &f[i]) == 0);
	}
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	fuzz_world_close();
	set_job_timeout("10000");
	ASSERT(write_text("/sys/module/axl/parameters/user_percent", "100") == 0);

	for (nr = 0; nr < FUZZ_NUM_OPS; nr++)
		show(nr);
	printf("# figure fuzzed_ioctls %ld ioctls\n", world_.ioctls);
	printf("# %ld ioctls, %ld mappings, %ld polls in %.1f s\n", world_.ioctls, world_.mappings,
	       world_.polls, (double)(now_ns() - start) / 1e9);
	EXPECT_EQ(world_.bad, 0);
	EXPECT(world_.ioctls >= budget_);
	EXPECT(seed % 2 || budget_ < 10000 || world_.ends[FUZZ_CTX_CREATE][EDQUOT] > 0);
	/* A fuzzer whose calls never succeed tests nothing. */
	for (nr = 0; budget_ >= 10000 && nr < FUZZ_NUM_OPS; nr++)
		EXPECT(world_.ends[nr][0] > 0 || nr == FUZZ_RAW);
	expect_whole_device();
	ASSERT(write_text("/sys/module/axl/parameters/user_percent", "75") == 0);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
