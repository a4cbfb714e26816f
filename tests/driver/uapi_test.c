// SPDX-License-Identifier: Apache-2.0
/* The size rules that hold for every ioctl, and the results of INFO. */
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

struct call {
	const char *name;
	unsigned long nr;
	uint32_t min_size;	/* of the first version */
	uint32_t size;
};

#define CALL(name, nr, type, last) \
	{ name, nr, offsetof(struct type, last) + sizeof(((struct type *)0)->last), \
	  sizeof(struct type) }

#define ALL_CALLS							\
	CALL("info", AXL_IOCTL_INFO, axl_info, pci_name),		\
	CALL("ctx_create", AXL_IOCTL_CTX_CREATE, axl_ctx_create, reserved), \
	CALL("ctx_destroy", AXL_IOCTL_CTX_DESTROY, axl_ctx_destroy, ctx), \
	CALL("buf_create", AXL_IOCTL_BUF_CREATE, axl_buf_create, device_addr), \
	CALL("buf_destroy", AXL_IOCTL_BUF_DESTROY, axl_buf_destroy, handle), \
	CALL("submit", AXL_IOCTL_SUBMIT, axl_submit, fence_fd),		\
	CALL("wait", AXL_IOCTL_WAIT, axl_wait, error_index),		\
	CALL("counters", AXL_IOCTL_COUNTERS, axl_counters_read, device_ticks), \
	CALL("clock", AXL_IOCTL_CLOCK_SAMPLE, axl_clock_sample, ptm_host_ns), \
	CALL("trace_open", AXL_IOCTL_TRACE_OPEN, axl_trace_open, wait_ps), \
	CALL("trace_close", AXL_IOCTL_TRACE_CLOSE, axl_trace_close, reserved), \
	CALL("jobs_trace", AXL_IOCTL_JOBS_TRACE, axl_jobs_trace, jobs), \
	CALL("join", AXL_IOCTL_JOIN, axl_join, reserved),		\
	CALL("clients", AXL_IOCTL_CLIENTS, axl_clients, reserved)

union room {
	uint32_t size;
	uint8_t bytes[1024];
	uint64_t words[128];
};

TEST_VARIANTS(short_struct_is_einval, struct call, ALL_CALLS)
{
	union room arg = { .size = variant->min_size - 4 };

	EXPECT_EQ(dev_ioctl(dev_open(), variant->nr, &arg), -EINVAL);
	arg.size = 0;
	EXPECT_EQ(dev_ioctl(dev_open(), variant->nr, &arg), -EINVAL);
}

TEST_VARIANTS(unknown_tail_is_e2big, struct call, ALL_CALLS)
{
	union room arg = { .size = variant->size + 16 };

	arg.bytes[variant->size + 15] = 1;
	EXPECT_EQ(dev_ioctl(dev_open(), variant->nr, &arg), -E2BIG);
	/* An impossible size is refused at once, without reading that much. */
	arg.size = 1u << 30;
	EXPECT(dev_ioctl(dev_open(), variant->nr, &arg) < 0);
}

TEST_VARIANTS(zero_tail_is_accepted, struct call, ALL_CALLS)
{
	union room arg = { .size = variant->size + 64 };
	int ret = dev_ioctl(dev_open(), variant->nr, &arg);

	/* The request is empty, which some calls refuse, but not because of its size. */
	EXPECT(ret != -E2BIG && ret != -EFAULT);
}

TEST_VARIANTS(bad_pointer_is_efault, struct call, ALL_CALLS)
{
	EXPECT_EQ(dev_ioctl(dev_open(), variant->nr, (void *)8), -EFAULT);
	EXPECT_EQ(dev_ioctl(dev_open(), variant->nr, (void *)(uintptr_t)-4096), -EFAULT);
}

/* ---- fields without a meaning must be zero ---- */

struct unknown {
	const char *name;
	unsigned long nr;
	uint32_t offset, bytes;
	uint64_t known;		/* bits that have a meaning */
};

#define UNKNOWN(name, nr, type, field, known) \
	{ name, nr, offsetof(struct type, field), sizeof(((struct type *)0)->field), known }

/* Every input field of every struct that is flags, a mask or reserved. */
#define ALL_UNKNOWN							\
	UNKNOWN("ctx_create/flags", AXL_IOCTL_CTX_CREATE, axl_ctx_create, flags, 0), \
	UNKNOWN("ctx_create/reserved", AXL_IOCTL_CTX_CREATE, axl_ctx_create, reserved, 0), \
	UNKNOWN("buf_create/flags", AXL_IOCTL_BUF_CREATE, axl_buf_create, flags, 0), \
	UNKNOWN("submit/flags", AXL_IOCTL_SUBMIT, axl_submit, flags, AXL_SUBMIT_FLAGS_ALL), \
	UNKNOWN("wait/flags", AXL_IOCTL_WAIT, axl_wait, flags, 0),	\
	UNKNOWN("counters/flags", AXL_IOCTL_COUNTERS, axl_counters_read, flags, 0), \
	UNKNOWN("clock/flags", AXL_IOCTL_CLOCK_SAMPLE, axl_clock_sample, flags, 0), \
	UNKNOWN("trace_open/classes", AXL_IOCTL_TRACE_OPEN, axl_trace_open, classes, \
		AXL_REC_CLASSES_ALL),					\
	UNKNOWN("trace_open/job_ps", AXL_IOCTL_TRACE_OPEN, axl_trace_open, job_ps, 0), \
	UNKNOWN("trace_open/wait_ps", AXL_IOCTL_TRACE_OPEN, axl_trace_open, wait_ps, 0), \
	UNKNOWN("trace_close/reserved", AXL_IOCTL_TRACE_CLOSE, axl_trace_close, reserved, 0)

/* A request that succeeds; the context and its job 1 exist. */
static union room good_request(unsigned long nr, uint32_t ctx, const struct axl_desc *nop,
			       uint64_t *value)
{
	union room arg = { .words = { 0 } };

	switch (nr) {
	case AXL_IOCTL_CTX_CREATE:
		memcpy(&arg, &(struct axl_ctx_create){ .size = sizeof(struct axl_ctx_create),
		       .num_queues = 1 }, sizeof(struct axl_ctx_create));
		break;
	case AXL_IOCTL_BUF_CREATE:
		memcpy(&arg, &(struct axl_buf_create){ .size = sizeof(struct axl_buf_create),
		       .bytes = 4096 }, sizeof(struct axl_buf_create));
		break;
	case AXL_IOCTL_SUBMIT:
		memcpy(&arg, &(struct axl_submit){ .size = sizeof(struct axl_submit), .ctx = ctx,
		       .cmds = (uintptr_t)nop, .num_cmds = 1, .cmd_bytes = sizeof(*nop) },
		       sizeof(struct axl_submit));
		break;
	case AXL_IOCTL_WAIT:
		memcpy(&arg, &(struct axl_wait){ .size = sizeof(struct axl_wait), .ctx = ctx,
		       .sequence = 1, .deadline_ns = -1 }, sizeof(struct axl_wait));
		break;
	case AXL_IOCTL_COUNTERS:
		memcpy(&arg, &(struct axl_counters_read){
		       .size = sizeof(struct axl_counters_read), .count = 1,
		       .values = (uintptr_t)value }, sizeof(struct axl_counters_read));
		break;
	case AXL_IOCTL_CLOCK_SAMPLE:
		arg.size = sizeof(struct axl_clock_sample);
		break;
	case AXL_IOCTL_TRACE_OPEN:
		memcpy(&arg, &(struct axl_trace_open){ .size = sizeof(struct axl_trace_open),
		       .log2_records = 5 }, sizeof(struct axl_trace_open));
		break;
	case AXL_IOCTL_TRACE_CLOSE:
		arg.size = sizeof(struct axl_trace_close);
		break;
	}
	return arg;
}

TEST_VARIANTS(unknown_bits_are_einval, struct unknown, ALL_UNKNOWN)
{
	struct axl_trace_open open = { .size = sizeof(open), .log2_records = 5 };
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_ctx_create ctx;
	int fd = dev_open();
	uint64_t value;
	union room arg;
	uint32_t bit;

	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	ASSERT(submit_wait(fd, ctx.ctx, 0, &nop, 1) == 0);
	if (variant->nr == AXL_IOCTL_TRACE_CLOSE)
		ASSERT(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open) == 0);
	for (bit = 0; bit < 8 * variant->bytes; bit++) {
		if (variant->known >> bit & 1)
			continue;
		arg = good_request(variant->nr, ctx.ctx, &nop, &value);
		arg.bytes[variant->offset + bit / 8] |= (uint8_t)(1 << bit % 8);
		EXPECT_EQ(dev_ioctl(fd, variant->nr, &arg), -EINVAL);
	}
	/* The bit was the reason. */
	arg = good_request(variant->nr, ctx.ctx, &nop, &value);
	EXPECT_EQ(dev_ioctl(fd, variant->nr, &arg), 0);
}

TEST(unknown_numbers_are_enotty)
{
	union room arg = { .size = sizeof(arg) };
	int fd = dev_open();
	unsigned int nr;

	for (nr = 0; nr < 256; nr++) {
		if (nr >= _IOC_NR(AXL_IOCTL_INFO) && nr <= _IOC_NR(AXL_IOCTL_CLIENTS))
			continue;
		EXPECT_EQ(dev_ioctl(fd, _IOWR(AXL_IOCTL_BASE, nr, uint64_t), &arg), -ENOTTY);
	}
	EXPECT_EQ(dev_ioctl(fd, _IOWR('y', 0x80, struct axl_info), &arg), -ENOTTY);
}

TEST(the_number_of_a_longer_struct_is_the_same_call)
{
	union room arg = { .size = sizeof(struct axl_info) + 8 };

	EXPECT_EQ(dev_ioctl(dev_open(), _IOC(_IOC_READ | _IOC_WRITE, AXL_IOCTL_BASE, 0x80,
					     sizeof(struct axl_info) + 8), &arg), 0);
}

TEST(info_is_plausible)
{
	int fd = dev_open();
	struct axl_info info = dev_info(fd);

	EXPECT_EQ(info.uapi_version, AXL_UAPI_VERSION);
	EXPECT_EQ(info.size, sizeof(info));
	EXPECT(info.num_queues >= 1 && info.num_queues <= AXL_MAX_QUEUES);
	EXPECT(info.num_contexts >= 2 && info.num_contexts <= AXL_MAX_CONTEXTS);
	EXPECT_EQ(info.num_counters, AXL_NUM_COUNTERS);
	EXPECT(info.clock_hz > 0 && info.clock_bits > 0 && info.clock_bits <= 64);
	EXPECT(info.dram_free_bytes <= info.dram_bytes && info.dram_bytes > 0);
	EXPECT(info.link_width >= 1 && info.link_width <= info.link_width_max);
	EXPECT(info.link_speed >= 1 && info.link_speed <= info.link_speed_max);
	EXPECT(strchr(info.pci_name, ':') && strlen(info.pci_name) < AXL_NAME_BYTES);
}

/* Output is written up to the caller's size and not beyond. */
TEST(output_stops_at_the_given_size)
{
	struct {
		struct axl_wait wait;
		uint64_t guard;
	} arg;
	struct axl_submit job;
	struct axl_ctx_create ctx;
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	int fd = dev_open();

	ASSERT(ctx_create(fd, 1, 1, &ctx) == 0);
	ASSERT(submit(fd, ctx.ctx, 0, &nop, 1, &job) == 0);
	memset(&arg, 0, sizeof(arg));
	arg.wait = (struct axl_wait){ .size = offsetof(struct axl_wait, device_ticks),
				      .ctx = ctx.ctx, .sequence = job.sequence,
				      .deadline_ns = -1 };
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_WAIT, &arg), 0);
	EXPECT_EQ(arg.wait.device_ticks, 0);
	arg.wait.size = sizeof(arg.wait);
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_WAIT, &arg), 0);
	EXPECT(arg.wait.device_ticks != 0);
	EXPECT_EQ(arg.guard, 0);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
