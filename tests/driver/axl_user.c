// SPDX-License-Identifier: Apache-2.0
/* The driver's ioctls as functions. */
#include "tests/driver/axl_user.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/driver/harness.h"

#define TIMEOUT_FILE "/sys/module/axl/parameters/job_timeout_ms"

int dev_open(void)
{
	const char *index = getenv("AXL_DEVICE");
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/axl%s", index ? index : "0");
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		harness_fail(__FILE__, __LINE__, "%s: %s", path, strerror(errno));
		harness_stop();
	}
	return fd;
}

int dev_ioctl(int fd, unsigned long nr, void *arg)
{
	return ioctl(fd, nr, arg) < 0 ? -errno : 0;
}

struct axl_info dev_info(int fd)
{
	struct axl_info info = { .size = sizeof(info) };

	ASSERT(dev_ioctl(fd, AXL_IOCTL_INFO, &info) == 0);
	return info;
}

int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

int ctx_create(int fd, uint32_t queues, uint32_t priority, struct axl_ctx_create *out)
{
	*out = (struct axl_ctx_create){ .size = sizeof(*out), .num_queues = queues,
					.priority = priority };
	return dev_ioctl(fd, AXL_IOCTL_CTX_CREATE, out);
}

int ctx_destroy(int fd, uint32_t ctx)
{
	struct axl_ctx_destroy cmd = { .size = sizeof(cmd), .ctx = ctx };

	return dev_ioctl(fd, AXL_IOCTL_CTX_DESTROY, &cmd);
}

int buf_create(int fd, uint32_t kind, uint64_t bytes, void *user, struct axl_buf_create *out)
{
	*out = (struct axl_buf_create){ .size = sizeof(*out), .kind = kind, .bytes = bytes,
					.user_addr = (uintptr_t)user };
	return dev_ioctl(fd, AXL_IOCTL_BUF_CREATE, out);
}

int buf_destroy(int fd, uint32_t handle)
{
	struct axl_buf_destroy cmd = { .size = sizeof(cmd), .handle = handle };

	return dev_ioctl(fd, AXL_IOCTL_BUF_DESTROY, &cmd);
}

void *buf_map(int fd, const struct axl_buf_create *buf)
{
	void *map = mmap(NULL, buf->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 (off_t)buf->mmap_offset);

	return map == MAP_FAILED ? NULL : map;
}

struct axl_desc cmd_nop(uint8_t engine)
{
	return (struct axl_desc){ .opcode = AXL_OP_NOP, .engine = engine,
				  .wait_sem = { AXL_SEM_NONE, AXL_SEM_NONE },
				  .signal_sem = AXL_SEM_NONE };
}

struct axl_desc cmd_copy(uint8_t opcode, uint64_t host_ref, uint64_t device_ref, uint64_t bytes)
{
	struct axl_desc cmd =
		cmd_nop(opcode == AXL_OP_COPY_H2D ? AXL_ENGINE_H2D : AXL_ENGINE_D2H);

	cmd.opcode = opcode;
	cmd.copy.host = host_ref;
	cmd.copy.device = device_ref;
	cmd.copy.bytes = bytes;
	cmd.copy.rows = 1;
	return cmd;
}

static uint32_t bits(float value)
{
	uint32_t word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

struct axl_desc cmd_fill(uint64_t dst_ref, uint32_t count, float value)
{
	struct axl_desc cmd = cmd_nop(AXL_ENGINE_VECTOR);

	cmd.opcode = AXL_OP_VEC_FILL;
	cmd.vector.dst = dst_ref;
	cmd.vector.rows = 1;
	cmd.vector.cols = count;
	cmd.vector.dst_stride = count;
	cmd.vector.alpha_f32 = bits(value);
	return cmd;
}

struct axl_desc cmd_matmul(uint64_t a, uint64_t b, uint64_t c, uint32_t m, uint32_t n, uint32_t k)
{
	struct axl_desc cmd = cmd_nop(AXL_ENGINE_MATRIX);

	cmd.opcode = AXL_OP_MATMUL;
	cmd.matmul = (struct axl_matmul){ .a = a, .b = b, .c = c, .m = m, .n = n, .k = k,
					  .lda = k, .ldb = n, .ldc = n, .batch = 1,
					  .alpha_f32 = bits(1.0f) };
	return cmd;
}

void cmd_wait(struct axl_desc *cmd, uint16_t sem, uint64_t value)
{
	int slot = cmd->wait_sem[0] != AXL_SEM_NONE;

	cmd->wait_sem[slot] = sem;
	cmd->wait_value[slot] = value;
}

void cmd_signal(struct axl_desc *cmd, uint16_t sem, uint64_t value)
{
	cmd->signal_sem = sem;
	cmd->signal_value = value;
}

int submit_flags(int fd, uint32_t ctx, uint32_t queue, uint32_t flags, const struct axl_desc *cmds,
		 uint32_t count, struct axl_submit *out)
{
	static uint64_t calls;

	*out = (struct axl_submit){ .size = sizeof(*out), .flags = flags, .ctx = ctx,
				    .queue = queue, .cmds = (uintptr_t)cmds, .num_cmds = count,
				    .cmd_bytes = sizeof(*cmds),
				    .correlation = ((uint64_t)getpid() << 32) | ++calls };
	return dev_ioctl(fd, AXL_IOCTL_SUBMIT, out);
}

int submit(int fd, uint32_t ctx, uint32_t queue, const struct axl_desc *cmds, uint32_t count,
	   struct axl_submit *out)
{
	return submit_flags(fd, ctx, queue, 0, cmds, count, out);
}

int wait_seq(int fd, uint32_t ctx, uint32_t queue, uint64_t seq, int timeout_ms,
	     struct axl_wait *out)
{
	*out = (struct axl_wait){ .size = sizeof(*out), .ctx = ctx, .queue = queue,
				  .sequence = seq,
				  .deadline_ns = timeout_ms < 0 ? -1 :
						 now_ns() + timeout_ms * 1000000ll };
	return dev_ioctl(fd, AXL_IOCTL_WAIT, out);
}

int submit_wait(int fd, uint32_t ctx, uint32_t queue, const struct axl_desc *cmds, uint32_t count)
{
	struct axl_submit job;
	struct axl_wait end;
	int err = submit(fd, ctx, queue, cmds, count, &job);

	return err ? err : wait_seq(fd, ctx, queue, job.sequence, PATIENCE_MS, &end);
}

int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

void job_timeout_ms(int ms)
{
	FILE *file = fopen(TIMEOUT_FILE, "w");

	ASSERT(file);
	fprintf(file, "%d\n", ms);
	ASSERT(fclose(file) == 0);
}
