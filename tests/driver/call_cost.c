// SPDX-License-Identifier: Apache-2.0
/*
 * Measures the cost of the driver's calls, for tests/bench/driver. Runs under --icount, where the
 * TSC counts instructions. Prints a line per measured call, "CONFIG CALL BEFORE AFTER" (TSC). The
 * calls "submit-*" ring one doorbell each, in this order, which matches them with the truth log.
 *
 * CONFIG is "off", or the tracepoint that is on meanwhile, with tracefs or, if it begins with
 * "bpf:", with a BPF program that does nothing. Arguments: repetitions, tracepoints (SYSTEM/NAME).
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

#define COMMANDS 16
#define BUF_BYTES (1u << 20)

static const char *config = "off";
static int dev;
static struct axl_ctx_create ctx;
static struct axl_buf_create host, device;

#define MEASURE(call, expression)						\
	do {									\
		uint64_t before_ = __rdtsc();					\
		int ret_ = (expression);					\
		uint64_t after_ = __rdtsc();					\
		ASSERT(ret_ == 0);						\
		printf("%s %s %llu %llu\n", config, call, (unsigned long long)before_, \
		       (unsigned long long)after_);				\
	} while (0)

/* The first command runs long enough that no completion comes before the call returns. */
static struct axl_desc long_copy(void)
{
	return cmd_copy(AXL_OP_COPY_H2D, AXL_REF(host.handle, 0), AXL_REF(device.handle, 0),
			BUF_BYTES);
}

static struct axl_desc command(const char *kind, unsigned int i)
{
	uint64_t at = 4096 * i;

	if (!strcmp(kind, "nop"))
		return cmd_nop(AXL_ENGINE_VECTOR);
	if (!strcmp(kind, "copy") || (!strcmp(kind, "mix") && (i < 3 || i == COMMANDS - 1)))
		return cmd_copy(i == COMMANDS - 1 ? AXL_OP_COPY_D2H : AXL_OP_COPY_H2D,
				AXL_REF(host.handle, at), AXL_REF(device.handle, at), 4096);
	if (!strcmp(kind, "matmul") || (!strcmp(kind, "mix") && i % 2))
		return cmd_matmul(AXL_REF(device.handle, at), AXL_REF(device.handle, at + 1024),
				  AXL_REF(device.handle, at + 2048), 8, 8, 8);
	return cmd_fill(AXL_REF(device.handle, at), 256, 1);
}

static void jobs(const char *kind, uint32_t flags, unsigned int num_cmds, int times)
{
	struct axl_desc cmds[COMMANDS];
	struct axl_submit cmd;
	struct axl_wait out;
	char name[32];

	snprintf(name, sizeof(name), "submit-%s%s", flags & AXL_SUBMIT_FENCE_FD ? "fence" : kind,
		 num_cmds == 1 ? "1" : "");
	for (int t = 0; t < times; t++) {
		cmds[0] = long_copy();
		for (unsigned int i = 1; i < COMMANDS; i++)
			cmds[i] = command(kind, i);
		cmd = (struct axl_submit){ .size = sizeof(cmd), .flags = flags, .ctx = ctx.ctx,
					   .cmds = (uintptr_t)cmds, .num_cmds = num_cmds,
					   .cmd_bytes = sizeof(*cmds), .correlation = 0x1234 };
		MEASURE(name, dev_ioctl(dev, AXL_IOCTL_SUBMIT, &cmd));
		if (flags & AXL_SUBMIT_FENCE_FD)
			close(cmd.fence_fd);
		MEASURE("wait", wait_seq(dev, ctx.ctx, 0, cmd.sequence, 10000, &out));
		MEASURE("wait-done", wait_seq(dev, ctx.ctx, 0, cmd.sequence, 10000, &out));
	}
}

static void objects(int times)
{
	uint64_t values[AXL_MAX_COUNTERS];

	for (int t = 0; t < times; t++) {
		struct axl_clock_sample sample = { .size = sizeof(sample) };
		struct axl_counters_read counters = { .size = sizeof(counters),
						      .values = (uintptr_t)values, .count = 16 };
		struct axl_ctx_create other;
		struct axl_buf_create buf;

		MEASURE("ctx-create", ctx_create(dev, 1, 0, &other));
		MEASURE("ctx-destroy", ctx_destroy(dev, other.ctx));
		MEASURE("buf-create", buf_create(dev, AXL_BUF_HOST, 4096, NULL, &buf));
		MEASURE("buf-destroy", buf_destroy(dev, buf.handle));
		MEASURE("clock-sample", dev_ioctl(dev, AXL_IOCTL_CLOCK_SAMPLE, &sample));
		MEASURE("counters", dev_ioctl(dev, AXL_IOCTL_COUNTERS, &counters));
	}
}

/*
 * Baselines outside of the driver: an ioctl's way in and out, and one of the kernel's tracepoints.
 */
static void floors(int times)
{
	for (int t = 0; t < times; t++) {
		MEASURE("ioctl-refused", dev_ioctl(dev, _IO(AXL_IOCTL_BASE, 0xff), NULL) + ENOTTY);
		MEASURE("prctl-name", prctl(PR_SET_NAME, "call_cost", 0, 0, 0));
	}
}

static void measure(int times)
{
	jobs("mix", 0, COMMANDS, times);
	jobs("mix", AXL_SUBMIT_FENCE_FD, COMMANDS, times);
	objects(times);
	floors(times);
}

static void trace(const char *event, const char *value)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/enable", event);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, value, 1) != 1) {
		fprintf(stderr, "call_cost: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	close(fd);
}

/* Attaches a program that only returns, until the descriptor is closed. */
static int attach(const char *event)
{
	static const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
				.insns = (uintptr_t)program, .insn_cnt = 2,
				.license = (uintptr_t)"GPL" };
	int prog = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)), link = -1;

	if (prog >= 0) {
		memset(&attr, 0, sizeof(attr));
		attr.raw_tracepoint.name = (uintptr_t)event;
		attr.raw_tracepoint.prog_fd = prog;
		link = syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
		close(prog);
	}
	if (link < 0) {
		fprintf(stderr, "call_cost: BPF on %s: %s\n", event, strerror(errno));
		exit(1);
	}
	return link;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "mix", "nop", "copy", "matmul", "vector" };
	int times = argc > 1 ? atoi(argv[1]) : 16;
	char name[64];

	if (access("/sys/kernel/tracing/events", F_OK))
		mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	dev = dev_open();
	ASSERT(ctx_create(dev, 1, 0, &ctx) == 0);
	ASSERT(buf_create(dev, AXL_BUF_HOST, BUF_BYTES, NULL, &host) == 0);
	ASSERT(buf_create(dev, AXL_BUF_DEVICE, BUF_BYTES, NULL, &device) == 0);

	for (unsigned int k = 1; k < sizeof(kinds) / sizeof(*kinds); k++)
		jobs(kinds[k], 0, COMMANDS, times);
	jobs("copy", 0, 1, times);
	/* An unmeasured first round, since the first use of tracing has side effects. */
	config = "warm";
	for (int i = 2; i < argc; i++) {
		trace(argv[i], "1");
		objects(1);
		trace(argv[i], "0");
	}
	measure(times);
	config = "off";
	measure(times);
	for (int i = 2; i < argc; i++) {
		const char *event = strchr(argv[i], '/') + 1;
		int link;

		config = event;
		trace(argv[i], "1");
		measure(times);
		trace(argv[i], "0");
		snprintf(name, sizeof(name), "bpf:%s", event);
		config = name;
		link = attach(event);
		measure(times);
		close(link);
	}
	return 0;
}
