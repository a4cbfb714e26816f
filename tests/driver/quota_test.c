// SPDX-License-Identifier: Apache-2.0
/*
 * Limits of an ordinary user's demands on the machine and on other users: requests are refused in
 * time, no process is killed, and everything is released however the user's process ends.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

#define PARAMETERS "/sys/module/axl/parameters/"
#define DEVICE "/sys/class/axl/axl0/"

enum { NOBODY = 65534, SOMEBODY = 60001, MIB = 1 << 20, MOST = 8192 };

static long long number_in(const char *path)
{
	FILE *file = fopen(path, "r");
	long long value = -1;

	ASSERT(file && fscanf(file, "%lld", &value) == 1);
	fclose(file);
	return value;
}

/* The value after a name in a file of lines "name value", -1 if missing. */
static long long value_in(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	char line[256], key[64];
	long long value, found = -1;

	ASSERT(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %lld", key, &value) == 2 && !strcmp(key, name))
			found = value;
	fclose(file);
	return found;
}

static long long value_of(const char *path, const char *name)
{
	long long value = value_in(path, name);

	ASSERT(value >= 0);
	return value;
}

/* Small kernels do not count this event; then only the surviving processes prove it. */
static long long oom_kills(void) { return value_in("/proc/vmstat", "oom_kill"); }
static long long host_bytes(void) { return number_in(PARAMETERS "host_bytes"); }
static long long machine_bytes(void) { return value_of("/proc/meminfo", "MemTotal:") * 1024; }

static void become(uid_t uid)
{
	ASSERT(setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0);
}

static void *touched(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* A process of root with memory that the kernel could reclaim by killing it. */
static pid_t innocent(size_t bytes)
{
	int pipe_fds[2];
	char ready = 0;
	pid_t pid;

	ASSERT(pipe(pipe_fds) == 0);
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ready = touched(bytes) != NULL;
		if (write(pipe_fds[1], &ready, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipe_fds[1]);
	ASSERT(read(pipe_fds[0], &ready, 1) == 1 && ready);
	close(pipe_fds[0]);
	return pid;
}

static int still_there(pid_t pid) { return waitpid(pid, NULL, WNOHANG) == 0; }

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Runs the function as another user in a process; returns its status, or 128 + a signal. */
static int as_user(uid_t uid, void (*run)(const void *), const void *with)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		become(uid);
		run(with);
		fflush(stdout);
		_exit(harness_failed());
	}
	ASSERT(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- host memory ---- */

struct filling {
	const char *name;
	uint64_t bytes;		/* of a buffer */
	int maps, destroys, forks;
	int hog_percent;	/* of the machine, that others have */
	int limits;		/* 0: only the machine's own limits */
};

/* Allocates until it is refused. Returns the amount. */
static uint64_t fill(int fd, const struct filling *how)
{
	struct axl_buf_create buf;
	uint64_t got = 0;
	int i, err = 0;
	char *map;

	for (i = 0; i < MOST && !err; i++) {
		err = buf_create(fd, AXL_BUF_HOST, how->bytes, NULL, &buf);
		if (err)
			break;
		got += how->bytes;
		if (!how->maps)
			continue;
		map = buf_map(fd, &buf);
		ASSERT(map);
		map[0] = 1;
		map[how->bytes - 1] = 1;
		if (how->destroys)
			EXPECT_EQ(buf_destroy(fd, buf.handle), 0);
	}
	EXPECT_EQ(err, -ENOMEM);
	return got;
}

/* Keeps its allocation until it is killed. */
static pid_t hold(uid_t uid, const struct filling *how)
{
	int pipe_fds[2];
	char ready;
	pid_t pid;

	ASSERT(pipe(pipe_fds) == 0);
	fflush(stdout);
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		become(uid);
		fill(dev_open(), how);
		fflush(stdout);
		ready = !harness_failed();
		if (write(pipe_fds[1], &ready, 1) == 1)
			pause();
		_exit(1);
	}
	close(pipe_fds[1]);
	EXPECT(read(pipe_fds[0], &ready, 1) == 1 && ready);
	close(pipe_fds[0]);
	return pid;
}

static void fill_up(const void *with)
{
	const struct filling *how = with;
	uint64_t most = number_in(DEVICE "user_host_bytes_max");
	pid_t pids[8];
	int i;

	for (i = 0; i < how->forks; i++)
		pids[i] = hold(NOBODY, how);
	if (how->forks)
		EXPECT(host_bytes() <= (long long)most);
	else
		EXPECT(fill(dev_open(), how) <= most);
	for (i = 0; i < how->forks; i++)
		end(pids[i]);
}

TEST_VARIANTS(host_memory_is_refused_and_nobody_is_killed, struct filling,
	      { "large", 256ull << 20, 0, 0, 0, 0, 1 },
	      { "mapped", 64ull << 20, 1, 0, 0, 0, 1 },
	      { "kept_by_mappings_alone", 16ull << 20, 1, 1, 0, 0, 1 },
	      { "small", 256ull << 10, 0, 0, 0, 0, 1 },
	      { "by_children", 32ull << 20, 1, 0, 6, 0, 1 },
	      { "when_others_have_most", 8ull << 20, 1, 0, 0, 60, 1 },
	      { "without_limits", 16ull << 20, 1, 0, 0, 0, 0 })
{
	long long kills = oom_kills(), before = host_bytes();
	long long refused = number_in(DEVICE "stats/quota_refusals");
	pid_t other = innocent(machine_bytes() / 100 * (variant->hog_percent + 5));
	int fd;

	if (!variant->limits) {
		ASSERT(write_text(PARAMETERS "host_percent", "100") == 0);
		ASSERT(write_text(PARAMETERS "user_percent", "100") == 0);
	}
	EXPECT_EQ(as_user(NOBODY, fill_up, variant), 0);
	if (!variant->limits) {
		ASSERT(write_text(PARAMETERS "host_percent", "50") == 0);
		ASSERT(write_text(PARAMETERS "user_percent", "75") == 0);
	}
	EXPECT_EQ(oom_kills(), kills);
	EXPECT(still_there(other));
	end(other);
	EXPECT_EQ(host_bytes(), before);
	EXPECT_EQ(number_in(DEVICE "host_bytes"), before);
	EXPECT(number_in(DEVICE "stats/quota_refusals") > refused);
	fd = dev_open();
	EXPECT_EQ(buf_create(fd, AXL_BUF_HOST, MIB, NULL, &(struct axl_buf_create){ 0 }), 0);
}

TEST(many_users_leave_the_machine_its_memory)
{
	const struct filling how = { "", 4 << 20, 0, 0, 0, 0, 1 };
	long long kills = oom_kills(), before = host_bytes();
	struct axl_buf_create buf;
	int i, fd = dev_open();
	pid_t pids[4];

	for (i = 0; i < 4; i++)
		pids[i] = hold(SOMEBODY + i, &how);
	EXPECT(host_bytes() <= machine_bytes() / 100 * number_in(PARAMETERS "host_percent"));
	/* The machine's limit applies to everyone, including root. */
	EXPECT_EQ(buf_create(fd, AXL_BUF_HOST, 8 << 20, NULL, &buf), -ENOMEM);
	EXPECT_EQ(oom_kills(), kills);
	for (i = 0; i < 4; i++)
		end(pids[i]);
	EXPECT_EQ(host_bytes(), before);
	EXPECT_EQ(buf_create(fd, AXL_BUF_HOST, 8 << 20, NULL, &buf), 0);
}

static void others_get_some(const void *with)
{
	struct axl_buf_create buf;
	struct axl_ctx_create ctx;
	int fd = dev_open();

	(void)with;
	EXPECT_EQ(buf_create(fd, AXL_BUF_HOST, MIB, NULL, &buf), 0);
	EXPECT_EQ(buf_create(fd, AXL_BUF_DEVICE, MIB, NULL, &buf), 0);
	EXPECT_EQ(buf_create(fd, AXL_BUF_SCRATCH, 4096, NULL, &buf), 0);
	EXPECT_EQ(ctx_create(fd, 1, 0, &ctx), 0);
}

TEST(one_user_leaves_host_memory_to_others)
{
	const struct filling how = { "", 4 << 20, 0, 0, 0, 0, 1 };
	pid_t pid = hold(NOBODY, &how);

	EXPECT_EQ(as_user(SOMEBODY, others_get_some, NULL), 0);
	end(pid);
}

/* ---- pinned memory: a limit per user, not per process ---- */

static void pin(const void *with)
{
	struct rlimit limit = { 8 << 20, 8 << 20 };
	int fd = dev_open(), i, status, pinned = 0;
	struct axl_buf_create buf;

	(void)with;
	ASSERT(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	for (i = 0; i < 8; i++) {
		pid_t pid = fork();

		ASSERT(pid >= 0);
		/*
		 * Memory that a child pinned stays charged to the file when the child has exited.
		 */
		if (!pid)
			_exit(-buf_create(fd, AXL_BUF_USER, 4 << 20, touched(4 << 20), &buf));
		ASSERT(waitpid(pid, &status, 0) == pid);
		ASSERT(WIFEXITED(status));
		EXPECT(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == ENOMEM);
		pinned += !WEXITSTATUS(status);
	}
	EXPECT_EQ(pinned, 2);
	close(fd);
	fd = dev_open();
	EXPECT_EQ(buf_create(fd, AXL_BUF_USER, 8 << 20, touched(8 << 20), &buf), 0);
}

TEST(pinned_memory_is_counted_for_the_user)
{
	long long before = host_bytes();

	EXPECT_EQ(as_user(NOBODY, pin, NULL), 0);
	EXPECT_EQ(host_bytes(), before);
}

/* ---- the device's own resources ---- */

static void take_contexts(const void *with)
{
	long long most = number_in(DEVICE "user_contexts_max"), i;
	long long queues = number_in(DEVICE "user_queues_max");
	struct axl_ctx_create ctx;
	int fd = dev_open();

	(void)with;
	EXPECT_EQ(ctx_create(fd, queues + 1, 0, &ctx), -EDQUOT);
	ASSERT(ctx_create(fd, queues, 0, &ctx) == 0);
	EXPECT_EQ(ctx_create(dev_open(), 1, 0, &ctx), -EDQUOT);
	close(fd);
	fd = dev_open();
	for (i = 0; i < most; i++)
		EXPECT_EQ(ctx_create(i % 2 ? fd : dev_open(), 1, 0, &ctx), 0);
	EXPECT_EQ(ctx_create(fd, 1, 0, &ctx), -EDQUOT);
	EXPECT_EQ(ctx_create(dev_open(), 1, 0, &ctx), -EDQUOT);
}

static void take_memory(const void *with)
{
	uint32_t kind = *(const uint32_t *)with;
	uint64_t most = number_in(kind == AXL_BUF_DEVICE ? DEVICE "user_dram_bytes_max" :
							   DEVICE "user_scratch_bytes_max");
	uint64_t piece = most / 16 & ~4095ull, got = 0;
	struct axl_buf_create buf;
	int err = 0;

	while (!err && got <= most) {
		err = buf_create(dev_open(), kind, piece, NULL, &buf);
		got += err ? 0 : piece;
	}
	EXPECT_EQ(err, -EDQUOT);
	EXPECT(got + piece > most && got <= most);
}

static void take_handles(const void *with)
{
	struct axl_buf_create buf;
	int fd = dev_open(), i, err = 0;

	(void)with;
	for (i = 0; i < 20000 && !err; i++) {
		err = buf_create(fd, AXL_BUF_HOST, 4096, NULL, &buf);
		if (err == -ENOSPC) {
			fd = dev_open();
			err = 0;
		}
	}
	EXPECT_EQ(err, -EDQUOT);
	EXPECT(i > 16000);
}

static void take_fences(const void *with)
{
	struct rlimit limit = { 64, 64 };
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_ctx_create ctx;
	struct axl_submit job;
	int fd = dev_open(), i, err = 0;

	(void)with;
	ASSERT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	cmd_wait(&nop, 0, 1);	/* never done: each is in flight */
	for (i = 0; i < 100 && !err; i++)
		err = submit_flags(fd, ctx.ctx, 0, AXL_SUBMIT_FENCE_FD, &nop, 1, &job);
	EXPECT_EQ(err, -EMFILE);
	EXPECT(i > 32);
}

struct taking {
	const char *name;
	void (*take)(const void *with);
	uint32_t with;
};

TEST_VARIANTS(one_user_cannot_take_all, struct taking,
	      { "contexts", take_contexts, 0 }, { "device_memory", take_memory, AXL_BUF_DEVICE },
	      { "scratchpad", take_memory, AXL_BUF_SCRATCH }, { "handles", take_handles, 0 },
	      { "fences", take_fences, 0 })
{
	int fd = dev_open();
	uint64_t free_bytes = dev_info(fd).dram_free_bytes;
	uint32_t i, contexts = dev_info(fd).num_contexts;
	struct axl_ctx_create ctx;

	EXPECT_EQ(as_user(NOBODY, variant->take, &variant->with), 0);
	EXPECT_EQ(dev_info(fd).dram_free_bytes, free_bytes);
	for (i = 0; i < contexts; i++)
		EXPECT_EQ(ctx_create(fd, 1, 0, &ctx), 0);
}

/* Takes all that one user may have, reports it and waits to be killed. */
static pid_t take_all(uid_t uid, int map)
{
	struct axl_buf_create buf;
	struct axl_ctx_create ctx;
	struct axl_trace_open ring = { .size = sizeof(ring), .ring = AXL_TRACE_RING_CTX,
				       .log2_records = 10 };
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_submit job;
	int pipe_fds[2], fd, i;
	char ready = 1;
	pid_t pid;

	ASSERT(pipe(pipe_fds) == 0);
	pid = fork();
	ASSERT(pid >= 0);
	if (pid) {
		close(pipe_fds[1]);
		EXPECT(read(pipe_fds[0], &ready, 1) == 1);
		close(pipe_fds[0]);
		return pid;
	}
	become(uid);
	fd = dev_open();
	while (!buf_create(fd, AXL_BUF_DEVICE, 8 << 20, NULL, &buf))
		;
	while (!ctx_create(fd, 1, 0, &ctx))
		ring.ctx = ctx.ctx;
	ASSERT(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &ring) == 0);
	buf_create(fd, AXL_BUF_USER, MIB, touched(MIB), &buf);
	cmd_wait(&nop, 0, 1);
	for (i = 0; i < 16; i++)
		submit_flags(fd, ring.ctx, 0, AXL_SUBMIT_FENCE_FD, &nop, 1, &job);
	ASSERT(buf_create(fd, AXL_BUF_HOST, 4 << 20, NULL, &buf) == 0);
	if (map)
		ASSERT(buf_map(fd, &buf));
	while (!buf_create(fd, AXL_BUF_HOST, 4 << 20, NULL, &buf))
		;
	if (write(pipe_fds[1], &ready, 1) == 1)
		for (;;)
			pause();
	_exit(1);
}

TEST(who_holds_all_leaves_room_and_leaves_all_when_killed)
{
	long long before = host_bytes();
	int fd = dev_open();
	uint64_t free_bytes = dev_info(fd).dram_free_bytes;
	pid_t pid = take_all(NOBODY, 0);

	EXPECT(host_bytes() > before);
	EXPECT_EQ(as_user(SOMEBODY, others_get_some, NULL), 0);
	end(pid);
	EXPECT_EQ(host_bytes(), before);
	EXPECT_EQ(dev_info(fd).dram_free_bytes, free_bytes);
}

/* ---- unplug ---- */

static void await_node(const char *path)
{
	int i;

	for (i = 0; i < PATIENCE_MS / 10 && access(path, F_OK); i++)
		usleep(10000);
	ASSERT(access(path, F_OK) == 0);
}

static void bind(const char *how)
{
	static char name[AXL_NAME_BYTES];
	char path[64];

	if (!name[0]) {
		int fd = dev_open();

		snprintf(name, sizeof(name), "%s", dev_info(fd).pci_name);
		close(fd);
	}
	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/axl/%s", how);
	ASSERT(write_text(path, name) == 0);
}

TEST(unplug_gives_all_back_but_what_is_mapped)
{
	long long before = host_bytes();
	pid_t pid = take_all(NOBODY, 1);

	bind("unbind");
	EXPECT_EQ(host_bytes(), before + (4 << 20));
	bind("bind");
	/* The old device's number is taken while a user has it open. */
	await_node("/dev/axl1");
	setenv("AXL_DEVICE", "1", 1);
	EXPECT_EQ(number_in("/sys/class/axl/axl1/host_bytes"), 0);
	EXPECT_EQ(as_user(NOBODY, others_get_some, NULL), 0);
	EXPECT(still_there(pid));
	end(pid);
	EXPECT_EQ(host_bytes(), before);
	bind("unbind");
	bind("bind");
	await_node("/dev/axl0");
	setenv("AXL_DEVICE", "0", 1);
	EXPECT_EQ(as_user(NOBODY, take_contexts, NULL), 0);
}

/* ---- memory cgroups ---- */

#define GROUP "/tmp/axl-cgroup/driver-quota"

static void group_make(void)
{
	mkdir("/tmp/axl-cgroup", 0755);
	if (access("/tmp/axl-cgroup/cgroup.procs", F_OK) &&
	    mount("none", "/tmp/axl-cgroup", "cgroup2", 0, NULL))
		harness_skip("no version 2 of cgroups");
	write_text("/tmp/axl-cgroup/cgroup.subtree_control", "+memory");
	mkdir(GROUP, 0755);
	if (access(GROUP "/memory.current", R_OK))
		harness_skip("no memory cgroups");
	ASSERT(write_text(GROUP "/memory.max", "max") == 0);
	ASSERT(write_text(GROUP "/cgroup.procs", "0") == 0);
}

static void group_end(void)
{
	rmdir(GROUP);
	umount("/tmp/axl-cgroup");
}

static long long charged(void) { return number_in(GROUP "/memory.current"); }

/* The kernel batches charges of a few dozen pages. */
#define EXPECT_CHARGED(before, bytes)						\
	EXPECT(charged() - (before) > (bytes) - (bytes) / 8 - (256 << 10) &&	\
	       charged() - (before) < (bytes) + (bytes) / 8 + (512 << 10))

TEST(memory_is_charged_to_the_users_cgroup)
{
	struct axl_trace_open ring = { .size = sizeof(ring), .ring = AXL_TRACE_RING_CTX,
				       .log2_records = 14 };
	struct axl_trace_close done = { .size = sizeof(done) };
	struct axl_ctx_create ctx, second;
	struct axl_buf_create buf;
	long long before;
	int fd;

	group_make();
	become(NOBODY);
	fd = dev_open();
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	before = charged();
	ASSERT(buf_create(fd, AXL_BUF_HOST, 16 << 20, NULL, &buf) == 0);
	EXPECT_CHARGED(before, 16 << 20);
	EXPECT_EQ(buf_destroy(fd, buf.handle), 0);
	EXPECT_CHARGED(before, 0);
	/* Rings of queues: 256 + 64 KiB each, and 192 for job bookkeeping. */
	before = charged();
	ASSERT(ctx_create(fd, 8, 0, &second) == 0);
	EXPECT_CHARGED(before, 8 * (512 << 10));
	EXPECT_EQ(ctx_destroy(fd, second.ctx), 0);
	EXPECT_CHARGED(before, 0);
	ring.ctx = ctx.ctx;
	ASSERT(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &ring) == 0);
	EXPECT_CHARGED(before, 2 << 20);
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_CLOSE, &done), 0);
	EXPECT_CHARGED(before, 0);
}

TEST(a_full_cgroup_is_enomem)
{
	struct axl_buf_create buf;
	long long kills = oom_kills();
	int fd;

	group_make();
	ASSERT(write_text(GROUP "/memory.max", "33554432") == 0);
	become(NOBODY);
	fd = dev_open();
	EXPECT_EQ(buf_create(fd, AXL_BUF_HOST, 64 << 20, NULL, &buf), -ENOMEM);
	while (!buf_create(fd, AXL_BUF_HOST, MIB, NULL, &buf))
		;
	EXPECT_EQ(value_of(GROUP "/memory.events", "oom_kill"), 0);
	EXPECT_EQ(oom_kills(), kills);
}

/* ---- sizes ---- */

TEST(a_struct_of_many_pages_is_refused_at_once)
{
	size_t bytes = 64 << 20;
	struct axl_info *info = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = dev_open();

	ASSERT(info != MAP_FAILED);
	info->size = bytes;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_INFO, info), -E2BIG);
	info->size = 4096;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_INFO, info), 0);
}

int main(int argc, char **argv)
{
	int status;

	if (geteuid() != 0) {
		printf("1..0 # SKIP needs root to become ordinary users\n");
		return 0;
	}
	status = harness_main(argc, argv);
	group_end();
	return status;
}
