// SPDX-License-Identifier: Apache-2.0
/* The calls that the ioctl fuzzer makes. */
#include "tests/driver/fuzz.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

enum {
	PAGE = 4096,
	CANARY = 0xa5,
	FUZZ_CLIENTS_ROOM = FUZZ_CMDS * sizeof(struct axl_desc) / sizeof(struct axl_client),
};

static const struct {
	const char *name;
	unsigned long number;
	uint32_t size;
	uint32_t weight;
} ops_[FUZZ_NUM_OPS] = {
	{ "info", AXL_IOCTL_INFO, sizeof(struct axl_info), 6 },
	{ "ctx_create", AXL_IOCTL_CTX_CREATE, sizeof(struct axl_ctx_create), 2 },
	{ "ctx_destroy", AXL_IOCTL_CTX_DESTROY, sizeof(struct axl_ctx_destroy), 2 },
	{ "buf_create", AXL_IOCTL_BUF_CREATE, sizeof(struct axl_buf_create), 9 },
	{ "buf_destroy", AXL_IOCTL_BUF_DESTROY, sizeof(struct axl_buf_destroy), 4 },
	{ "submit", AXL_IOCTL_SUBMIT, sizeof(struct axl_submit), 30 },
	{ "wait", AXL_IOCTL_WAIT, sizeof(struct axl_wait), 14 },
	{ "counters", AXL_IOCTL_COUNTERS, sizeof(struct axl_counters_read), 5 },
	{ "clock_sample", AXL_IOCTL_CLOCK_SAMPLE, sizeof(struct axl_clock_sample), 5 },
	{ "trace_open", AXL_IOCTL_TRACE_OPEN, sizeof(struct axl_trace_open), 4 },
	{ "trace_close", AXL_IOCTL_TRACE_CLOSE, sizeof(struct axl_trace_close), 3 },
	{ "jobs_trace", AXL_IOCTL_JOBS_TRACE, sizeof(struct axl_jobs_trace), 2 },
	{ "join", AXL_IOCTL_JOIN, sizeof(struct axl_join), 2 },
	{ "clients", AXL_IOCTL_CLIENTS, sizeof(struct axl_clients), 2 },
	{ "other", 0, sizeof(struct axl_info), 5 },
};

union call {
	struct axl_info info;
	struct axl_ctx_create ctx_create;
	struct axl_ctx_destroy ctx_destroy;
	struct axl_buf_create buf_create;
	struct axl_buf_destroy buf_destroy;
	struct axl_submit submit;
	struct axl_wait wait;
	struct axl_counters_read counters;
	struct axl_clock_sample clock;
	struct axl_trace_open trace_open;
	struct axl_trace_close trace_close;
	struct axl_jobs_trace jobs_trace;
	struct axl_join join;
	struct axl_clients clients;
	uint32_t size;
	unsigned char bytes[512];
};

const char *fuzz_op_name(uint32_t op)
{
	return ops_[op].name;
}

uint64_t fuzz_number(struct fuzz *f)
{
	static const uint64_t edges[] = {
		0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 63, 64, 127, 128, 255, 256, 1023, 1024, 1025,
		2047, 2048, 4095, 4096, 4097, 65535, 65536, 1 << 20, 0x7fffffff, 0x80000000,
		0xffffffff, 1ull << 32, 1ull << 36, 1ull << 40, ~0ull >> 1, 1ull << 63,
		~0ull - 4095, ~0ull,
	};

	if (fuzz_one_in(f, 4))
		return fuzz_random(f) >> fuzz_below(f, 53);
	return edges[fuzz_below(f, sizeof(edges) / sizeof(*edges))];
}

static void count(long *what)
{
	__atomic_add_fetch(what, 1, __ATOMIC_RELAXED);
}

static int documented(int err)
{
	switch (-err) {
	case 0: case EINVAL: case E2BIG: case EFAULT: case ENOENT: case ENOTTY: case EPERM:
	case EBUSY: case ENOSPC: case ENOMEM: case EAGAIN: case ETIMEDOUT: case EINTR: case EIO:
	case EMFILE: case EOPNOTSUPP: case EDQUOT:
	case EBADF:	/* another thread closed it */
		return 1;
	}
	return 0;
}

/* Driver and device write there, so random addresses must not be the fuzzer's own memory. */
static uint64_t harmless(uint64_t address, const void *meant, size_t bytes)
{
	if (address - (uintptr_t)meant <= bytes || address < PAGE || address >> 47)
		return address;
	return address | 1ull << 62;
}

static void spare_ourselves(const struct fuzz *f, uint32_t op, union call *call)
{
	if (op == FUZZ_BUF_CREATE && call->buf_create.user_addr)
		call->buf_create.user_addr = harmless(call->buf_create.user_addr, world_.user,
						      FUZZ_USER_BYTES);
	if (op == FUZZ_COUNTERS)
		call->counters.values = harmless(call->counters.values, f->cmds, 0);
	if (op == FUZZ_CLIENTS)
		call->clients.clients = harmless(call->clients.clients, f->cmds, 0);
}

/* The number of a file descriptor that another thread closed may have been reused. */
static int call_ioctl(struct fuzz *f, struct fuzz_file *file, uint32_t op, union call *call)
{
	unsigned long number = ops_[op].number;
	uint32_t size = ops_[op].size, given, written, i;
	unsigned char *at, *end = f->page + PAGE;
	int err;

	if (fuzz_one_in(f, 12)) {
		uint64_t value = fuzz_number(f);

		memcpy(call->bytes + 4 * fuzz_below(f, size / 4), &value, 4);
		spare_ourselves(f, op, call);
	}
	given = size;
	if (fuzz_one_in(f, 16)) {
		given = fuzz_below(f, 2 * size);
		call->size = fuzz_one_in(f, 4) ? (uint32_t)fuzz_number(f) : given;
		if (fuzz_one_in(f, 2))
			number = _IOC(_IOC_DIR(number), _IOC_TYPE(number), _IOC_NR(number), given);
	}
	/* Right before a page that faults, or followed by bytes that must not change. */
	given = given < 4 ? 4 : given;
	at = fuzz_one_in(f, 2) ? end - given : f->page + 8 * fuzz_below(f, 32);
	memset(at, CANARY, (size_t)(end - at));
	memcpy(at, call->bytes, given < sizeof(*call) ? given : sizeof(*call));
	if (fuzz_one_in(f, 100))
		at = fuzz_one_in(f, 2) ? end - fuzz_below(f, 4) :
				(void *)(uintptr_t)harmless(fuzz_number(f), f->page, 0);
	/* A caller who claims a longer struct gets that many bytes written. */
	written = call->size > given && call->size <= sizeof(*call) ? call->size : given;
	errno = 0;
	err = ioctl(file->fd, number, at) < 0 ? -errno : 0;
	count(&world_.ioctls);
	count(&world_.ends[op][-err < FUZZ_ERRNOS ? -err : FUZZ_ERRNOS - 1]);
	if (!documented(err)) {
		count(&world_.bad);
		harness_fail(__FILE__, __LINE__, "%s says %d (%s)", ops_[op].name, -err,
			     strerror(-err));
	}
	if (at < f->page || at > end - given)
		return err ? err : -EFAULT;
	for (i = written; at + i < end; i++) {
		if (at[i] == CANARY)
			continue;
		count(&world_.bad);
		harness_fail(__FILE__, __LINE__, "%s wrote byte %u of a struct of %u",
			     ops_[op].name, i, given);
		break;
	}
	memcpy(call->bytes, at, given < sizeof(*call) ? given : sizeof(*call));
	return err;
}

static uint64_t any_bytes(struct fuzz *f)
{
	if (fuzz_one_in(f, 20)) {
		uint64_t bytes = fuzz_number(f);

		/* Reaches the driver's limits without using up the memory of a small guest. */
		return bytes > 1 << 20 && bytes <= 1ull << 30 ? bytes << 11 : bytes;
	}
	return (uint64_t)PAGE << fuzz_below(f, 6);
}

static void prepare_buf(struct fuzz *f, struct axl_buf_create *cmd)
{
	cmd->kind = fuzz_below(f, 4);
	cmd->bytes = any_bytes(f);
	if (cmd->kind == AXL_BUF_USER)
		cmd->user_addr = (uintptr_t)world_.user +
				 PAGE * (uint64_t)fuzz_below(f, FUZZ_USER_BYTES / PAGE + 1);
}

static void prepare_submit(struct fuzz *f, struct fuzz_file *file, uint32_t slot,
			   struct axl_submit *cmd)
{
	struct axl_desc *cmds = f->cmds;

	cmd->flags = fuzz_one_in(f, 6) ? AXL_SUBMIT_FENCE_FD : 0;
	cmd->flags |= AXL_SUBMIT_NONBLOCK;
	cmd->ctx = file->ctx[slot];
	cmd->queue = fuzz_one_in(f, 8) ? fuzz_below(f, 3) : 0;
	cmd->cmd_bytes = sizeof(*cmds);
	cmd->correlation = fuzz_random(f);
	cmd->num_cmds = fuzz_commands(f, file, cmds);
	if (fuzz_one_in(f, 3)) {
		/* Other threads write there too, even while the driver reads. */
		memcpy(world_.shared, cmds, cmd->num_cmds * sizeof(*cmds));
		cmds = world_.shared;
	}
	cmd->cmds = (uintptr_t)cmds;
	if (fuzz_one_in(f, 30))
		cmd->cmds = (uintptr_t)(f->page + PAGE - 64 * fuzz_below(f, 8));
	if (fuzz_one_in(f, 40)) {
		cmd->num_cmds = AXL_MAX_JOB_COMMANDS;
		cmd->cmds = (uintptr_t)world_.user;
	}
	cmd->fence_fd = -1;
}

static void prepare(struct fuzz *f, struct fuzz_file *file, uint32_t op, uint32_t slot,
		    union call *call)
{
	call->size = ops_[op].size;
	switch (op) {
	case FUZZ_CTX_CREATE:
		call->ctx_create.num_queues = 1 + fuzz_below(f, 3);
		call->ctx_create.priority = fuzz_below(f, 4);
		break;
	case FUZZ_CTX_DESTROY: call->ctx_destroy.ctx = file->ctx[slot]; break;
	case FUZZ_BUF_CREATE: prepare_buf(f, &call->buf_create); break;
	case FUZZ_BUF_DESTROY:
		call->buf_destroy.handle = file->bufs[fuzz_below(f, FUZZ_BUFS)].handle;
		break;
	case FUZZ_SUBMIT: prepare_submit(f, file, slot, &call->submit); break;
	case FUZZ_WAIT:
		call->wait.ctx = file->ctx[slot];
		call->wait.queue = fuzz_one_in(f, 8) ? fuzz_below(f, 3) : 0;
		call->wait.sequence = file->sequence[slot];
		call->wait.deadline_ns = fuzz_one_in(f, 3) ? 0 : now_ns() + 2000000;
		break;
	case FUZZ_COUNTERS:
		call->counters.values = (uintptr_t)f->cmds;
		call->counters.first = fuzz_below(f, 32);
		call->counters.count = fuzz_below(f, 48);
		break;
	case FUZZ_JOIN:
		call->join.fd = fuzz_one_in(f, 8) ? (int)fuzz_below(f, 16) :
				world_.files[fuzz_below(f, FUZZ_FILES)].fd;
		break;
	case FUZZ_CLIENTS:
		call->clients.clients = (uintptr_t)f->cmds;
		call->clients.after = fuzz_one_in(f, 2) ? 0 : (uint32_t)fuzz_number(f);
		call->clients.count = 1 + fuzz_below(f, FUZZ_CLIENTS_ROOM);
		break;
	case FUZZ_TRACE_OPEN:
		call->trace_open.ring = fuzz_below(f, 3);
		call->trace_open.ctx =
			call->trace_open.ring == AXL_TRACE_RING_CTX ? file->ctx[slot] : 0;
		call->trace_open.log2_records = 5 + fuzz_below(f, 5);
		call->trace_open.classes = AXL_REC_CLASSES_ALL & (uint32_t)fuzz_random(f);
		call->trace_open.watermark = fuzz_below(f, 32);
		call->trace_open.sample_period_ns = fuzz_one_in(f, 2) ? 10000000 : 0;
		if (call->trace_open.ring == AXL_TRACE_RING_DRIVER) {
			call->trace_open.classes = 0;
			call->trace_open.sample_period_ns = 0;
		}
		break;
	}
}

static void remember_fence(struct fuzz *f, int fd)
{
	int *slot = &world_.fences[fuzz_below(f, FUZZ_FENCES)];
	int old = __atomic_exchange_n(slot, fd, __ATOMIC_RELAXED);

	if (old >= 0)
		close(old);
}

static void remember(struct fuzz *f, struct fuzz_file *file, uint32_t op, uint32_t slot,
		     const union call *call)
{
	struct fuzz_buf *buf;

	switch (op) {
	case FUZZ_CTX_CREATE:
		if (file->ctx[slot])
			ctx_destroy(file->fd, file->ctx[slot]);
		file->ctx[slot] = call->ctx_create.ctx;
		file->sequence[slot] = 0;
		break;
	case FUZZ_BUF_CREATE:
		buf = &file->bufs[fuzz_below(f, FUZZ_BUFS)];
		if (buf->handle && buf_destroy(file->fd, buf->handle) == 0)
			count(&world_.ioctls);
		*buf = (struct fuzz_buf){ call->buf_create.handle, call->buf_create.kind,
					  call->buf_create.bytes, call->buf_create.mmap_offset };
		break;
	case FUZZ_BUF_DESTROY:
		for (buf = file->bufs; buf < file->bufs + FUZZ_BUFS; buf++)
			if (buf->handle == call->buf_destroy.handle && !fuzz_one_in(f, 8))
				buf->handle = 0;
		break;
	case FUZZ_SUBMIT:
		file->sequence[slot] = call->submit.sequence;
		if (call->submit.fence_fd >= 0)
			remember_fence(f, call->submit.fence_fd);
		break;
	case FUZZ_TRACE_OPEN:
		file->ring_bytes = call->trace_open.map_bytes;
		break;
	}
}

static void an_ioctl(struct fuzz *f, struct fuzz_file *file)
{
	uint32_t pick = fuzz_below(f, 93), op = 0, slot = fuzz_below(f, FUZZ_CTXS);
	union call call;
	int err;

	while (pick >= ops_[op].weight)
		pick -= ops_[op++].weight;
	memset(&call, 0, sizeof(call));
	if (op == FUZZ_RAW) {
		/*
		 * Any number of the driver or of others, except those that the VFS handles itself.
		 */
		unsigned long number = _IOC(fuzz_below(f, 4), 'x', fuzz_below(f, 256),
					    fuzz_below(f, 256));

		memset(f->page, 0, PAGE);
		memcpy(f->page, &(uint64_t){ fuzz_number(f) }, 8);
		err = ioctl(file->fd, number, fuzz_one_in(f, 2) ? f->page : NULL) < 0 ? -errno : 0;
		count(&world_.ioctls);
		count(&world_.ends[op][-err < FUZZ_ERRNOS ? -err : FUZZ_ERRNOS - 1]);
		if (!documented(err))
			count(&world_.bad);
		return;
	}
	if (!file->ctx[slot] && op == FUZZ_SUBMIT && fuzz_one_in(f, 2))
		op = FUZZ_CTX_CREATE;
	prepare(f, file, op, slot, &call);
	err = call_ioctl(f, file, op, &call);
	if (!err)
		remember(f, file, op, slot, &call);
	/* A lost context is sometimes kept, otherwise replaced. */
	if ((op == FUZZ_SUBMIT || op == FUZZ_WAIT) &&
	    (err == -EIO || (err == -ENOENT && fuzz_one_in(f, 16)))) {
		if (!fuzz_one_in(f, 32))
			ctx_destroy(file->fd, file->ctx[slot]);
		file->ctx[slot] = 0;
	}
}

static void a_mapping(struct fuzz *f, struct fuzz_file *file)
{
	struct fuzz_map *map = &f->maps[fuzz_below(f, FUZZ_MAPS)];
	const struct fuzz_buf *buf = &file->bufs[fuzz_below(f, FUZZ_BUFS)];
	uint64_t offset = buf->mmap_offset, bytes = buf->bytes;

	if (map->at)
		munmap(map->at, map->bytes);
	map->at = NULL;
	if (fuzz_one_in(f, 3)) {
		offset = 0;
		bytes = file->ring_bytes;
	}
	if (fuzz_one_in(f, 10))
		offset = fuzz_number(f) & ~4095ull;
	if (fuzz_one_in(f, 10))
		bytes = any_bytes(f);
	if (bytes < PAGE || bytes > 1 << 20)
		return;
	map->at = mmap(NULL, bytes, fuzz_one_in(f, 8) ? PROT_READ : PROT_READ | PROT_WRITE,
		       fuzz_one_in(f, 8) ? MAP_PRIVATE : MAP_SHARED, file->fd, (off_t)offset);
	map->bytes = bytes;
	if (map->at == MAP_FAILED)
		map->at = NULL;
	else
		count(&world_.mappings);
}

/* Overwrites parts of a mapping: buffers, and headers of trace rings as well. */
static void a_scribble(struct fuzz *f)
{
	struct fuzz_map *map = &f->maps[fuzz_below(f, FUZZ_MAPS)];
	uint64_t number = fuzz_number(f);

	if (!map->at)
		return;
	if (mprotect(map->at, map->bytes, PROT_READ | PROT_WRITE))
		return;
	memcpy(map->at + 8 * fuzz_below(f, (uint32_t)(map->bytes / 8)), &number, 8);
	if (fuzz_one_in(f, 2))
		memcpy(map->at + offsetof(struct axl_trace_header, consumed), &number, 8);
	if (fuzz_one_in(f, 16)) {
		/* Populated by mmap only: touching it now would be a bus error. */
		madvise(map->at, map->bytes, MADV_DONTNEED);
		munmap(map->at, map->bytes);
		map->at = NULL;
	}
}

/* Another thread may have closed it, and its number may have been reused. */
static int is_fence(int fd)
{
	char path[40], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, "axl-fence");
}

static void a_poll(struct fuzz *f, struct fuzz_file *file)
{
	int fence = dup(world_.fences[fuzz_below(f, FUZZ_FENCES)]);
	struct pollfd files[2] = { { file->fd, POLLIN, 0 }, { fence, POLLIN, 0 } };
	struct axl_fence_status status;

	poll(files, 2, fuzz_one_in(f, 4) ? 1 : 0);
	count(&world_.polls);
	/* It would block otherwise. */
	if (files[1].revents & POLLIN && fcntl(fence, F_SETFL, O_NONBLOCK) == 0 &&
	    read(fence, &status, sizeof(status)) < 0 && errno == EINVAL && is_fence(fence)) {
		count(&world_.bad);
		harness_fail(__FILE__, __LINE__, "a fence refuses to be read");
	}
	close(fence);
}

static void a_new_file(struct fuzz_file *file)
{
	int fd = file->fd;

	memset(file, 0, sizeof(*file));
	file->fd = open("/dev/axl0", O_RDWR | O_CLOEXEC);
	close(fd);
}

void fuzz_step(struct fuzz *f)
{
	struct fuzz_file *file = &world_.files[fuzz_below(f, FUZZ_FILES)];
	uint32_t what = fuzz_below(f, 200);

	if (what < 180)
		an_ioctl(f, file);
	else if (what < 188)
		a_scribble(f);
	else if (what < 194)
		a_mapping(f, file);
	else if (what < 199)
		a_poll(f, file);
	else if (fuzz_one_in(f, 4))
		a_new_file(file);
	else
		madvise(world_.user, FUZZ_USER_BYTES, MADV_DONTNEED);
}

void fuzz_arena(struct fuzz *f)
{
	f->page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	f->cmds = calloc(FUZZ_CMDS, sizeof(*f->cmds));
	ASSERT(f->page != MAP_FAILED && f->cmds);
	ASSERT(mprotect(f->page + PAGE, PAGE, PROT_NONE) == 0);
}

/* A mapping holds its file. */
void fuzz_arena_end(struct fuzz *f)
{
	int i;

	for (i = 0; i < FUZZ_MAPS; i++)
		if (f->maps[i].at)
			munmap(f->maps[i].at, f->maps[i].bytes);
}

void fuzz_world_open(void)
{
	int i;

	for (i = 0; i < FUZZ_FENCES; i++)
		world_.fences[i] = -1;
	for (i = 0; i < FUZZ_FILES; i++)
		world_.files[i].fd = dev_open();
	world_.shared = calloc(FUZZ_CMDS, sizeof(struct axl_desc));
	/* Only the first half is accessible, so that pins and commands cross the end. */
	world_.user = mmap(NULL, 2 * FUZZ_USER_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	ASSERT(world_.shared && world_.user != MAP_FAILED);
	ASSERT(mprotect(world_.user, FUZZ_USER_BYTES / 2, PROT_READ | PROT_WRITE) == 0);
}

void fuzz_world_close(void)
{
	int i;

	for (i = 0; i < FUZZ_FENCES; i++)
		if (world_.fences[i] >= 0)
			close(world_.fences[i]);
	for (i = 0; i < FUZZ_FILES; i++)
		close(world_.files[i].fd);
}
