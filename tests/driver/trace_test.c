// SPDX-License-Identifier: Apache-2.0
/*
 * Tracepoints as tracefs shows them: of queues, fences and errors, and of commands from the
 * device's ring when enabled.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"
#include "tests/driver/qmp.h"
#include "tests/driver/world.h"

#define TRACEFS "/sys/kernel/tracing"
#define SYSFS "/sys/class/axl/axl0/"

static size_t get(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t bytes = 0;
	ssize_t got;

	while (fd >= 0 && (got = read(fd, text + bytes, room - 1 - bytes)) > 0)
		bytes += (size_t)got;
	if (fd >= 0)
		close(fd);
	text[bytes] = 0;
	return bytes;
}

static long long number(const char *path)
{
	char text[64];

	return get(path, text, sizeof(text)) ? atoll(text) : -1;
}

/* No other program traces in the guest. */
static void trace_on(const char *const *events)
{
	char path[256];

	if (access(TRACEFS "/trace", W_OK))
		harness_skip("tracefs is not mounted, or not for this user");
	ASSERT(write_text(TRACEFS "/buffer_size_kb", "4096") == 0);
	ASSERT(write_text(TRACEFS "/events/enable", "0") == 0);
	close(open(TRACEFS "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC));
	for (; *events; events++) {
		snprintf(path, sizeof(path), TRACEFS "/events/axl/%s/enable", *events);
		ASSERT(write_text(path, "1") == 0);
	}
}

static char *trace_text(void)
{
	static char text[8 << 20];

	get(TRACEFS "/trace", text, sizeof(text));
	return text;
}

static void trace_off(void)
{
	EXPECT_EQ(write_text(TRACEFS "/events/enable", "0"), 0);
}

static int count(const char *text, const char *what)
{
	int found = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		found++;
	}
	return found;
}

TEST(every_name_is_resolved)
{
	static char text[1 << 16];
	char path[512];
	struct dirent *entry;
	DIR *dir = opendir(TRACEFS "/events/axl");
	int events = 0;

	if (!dir)
		harness_skip("tracefs is not mounted, or not for this user");
	while ((entry = readdir(dir))) {
		char *print;

		snprintf(path, sizeof(path), TRACEFS "/events/axl/%s/format", entry->d_name);
		if (!get(path, text, sizeof(text)))
			continue;
		print = strstr(text, "print fmt:");
		ASSERT(print);
		events++;
		if (strstr(print, "AXL_") || strstr(print, "DMA_"))
			harness_fail(__FILE__, __LINE__, "%s: tools cannot know %s",
				     entry->d_name, print);
	}
	closedir(dir);
	EXPECT(events >= 22);
}

TEST(queues_fences_and_errors_are_recorded)
{
	static const char *const events[] = { "axl_queue", "axl_fence_create", "axl_fence_signal",
					      "axl_submit_end", "axl_buf", "axl_dma_map", NULL };
	struct axl_desc nop = cmd_nop(AXL_ENGINE_H2D), bad = cmd_nop(AXL_ENGINE_H2D);
	struct axl_fence_status status;
	struct axl_ctx_create ctx;
	struct axl_buf_create buf;
	struct axl_submit job;
	char want[256], *text;
	int fd;

	trace_on(events);
	fd = dev_open();
	ASSERT(ctx_create(fd, 2, 0, &ctx) == 0);
	ASSERT(buf_create(fd, AXL_BUF_HOST, 8192, NULL, &buf) == 0);
	ASSERT(submit_flags(fd, ctx.ctx, 1, AXL_SUBMIT_FENCE_FD, &nop, 1, &job) == 0);
	ASSERT(read(job.fence_fd, &status, sizeof(status)) == sizeof(status));
	bad.opcode = 0xff;
	EXPECT_EQ(submit(fd, ctx.ctx, 0, &bad, 1, &(struct axl_submit){ 0 }), -EINVAL);
	EXPECT_EQ(ctx_destroy(fd, ctx.ctx), 0);
	text = trace_text();
	snprintf(want, sizeof(want), "axl_queue: axl0 ctx=%u queue=1 entries=2048 created=1",
		 ctx.hw_context);
	EXPECT(strstr(text, want));
	snprintf(want, sizeof(want), "axl_queue: axl0 ctx=%u queue=1 entries=2048 created=0",
		 ctx.hw_context);
	EXPECT(strstr(text, want));
	EXPECT_EQ(count(text, "axl_queue: "), 4);
	snprintf(want, sizeof(want), "axl_fence_create: axl0 ctx=%u queue=1 job=%u seq=1 "
		 "correlation=%#llx", ctx.hw_context, job.job,
		 (unsigned long long)job.correlation);
	EXPECT(strstr(text, want));
	snprintf(want, sizeof(want), "axl_fence_signal: axl0 ctx=%u queue=1 job=%u seq=1 "
		 "correlation=%#llx status=ok device_ticks=%llu", ctx.hw_context, job.job,
		 (unsigned long long)job.correlation, (unsigned long long)status.device_ticks);
	EXPECT(strstr(text, want));
	EXPECT(strstr(text, "ret=0 error=none"));
	EXPECT(strstr(text, "ret=-22 error=EINVAL"));
	EXPECT(strstr(text, "kind=host bytes=8192 created=1"));
	EXPECT(strstr(text, "direction=bidirectional"));
	trace_off();
}

/* The value of a field in the event's first line that contains the text. */
static long long value_of(const char *text, const char *event, const char *field)
{
	const char *line = strstr(text, event), *end = line ? strchr(line, '\n') : NULL;
	const char *at = line ? strstr(line, field) : NULL;

	ASSERT(at && (!end || at < end));
	return atoll(at + strlen(field));
}

/* The event of a job agrees with the five others, to the nanosecond where both read the clock. */
TEST(a_job_is_recorded_whole)
{
	static const char *const events[] = { "axl_job", "axl_submit", "axl_doorbell", "axl_irq",
					      "axl_complete", "axl_refuse", "axl_wait", "axl_wake",
					      NULL };
	static const char *const order[] = { " submit_ns=", " doorbell_ns=", " submit_end_ns=",
					     " irq_ns=", " complete_ns=" };
	struct axl_desc nop = cmd_nop(AXL_ENGINE_H2D), nops[3] = { nop, nop, nop };
	struct axl_submit job, refused;
	struct axl_ctx_create ctx;
	struct axl_wait end;
	char want[256], *text;
	int fd, cpu = sched_getcpu();
	long long at[5];
	cpu_set_t here;
	size_t i;

	trace_on(events);
	fd = dev_open();
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	ASSERT(sched_setaffinity(0, sizeof(here), &here) == 0);
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	ASSERT(submit(fd, ctx.ctx, 0, nops, 3, &job) == 0);
	EXPECT_EQ(wait_seq(fd, ctx.ctx, 0, 1, PATIENCE_MS, &end), 0);
	nops[0].opcode = 0xff;
	EXPECT_EQ(submit(fd, ctx.ctx, 0, nops, 3, &refused), -EINVAL);
	text = trace_text();
	snprintf(want, sizeof(want), "axl_job: axl0 ctx=%u queue=0 status=ok job=%u num_cmds=3 "
		 "submit_cpu=%d seq=1 correlation=%#llx tid=%u pid=%u copy_bytes=0 "
		 "device_ticks=%llu ",
		 ctx.hw_context, job.job, cpu, (unsigned long long)job.correlation,
		 (unsigned int)gettid(), (unsigned int)getpid(),
		 (unsigned long long)end.device_ticks);
	EXPECT_EQ(count(text, want), 1);
	EXPECT_EQ(count(text, "axl_job: "), 1);
	EXPECT_EQ(value_of(text, "axl_job: ", " submit_ns="),
		  value_of(text, "axl_submit: ", "host_ns="));
	EXPECT_EQ(value_of(text, "axl_job: ", " doorbell_ns="),
		  value_of(text, "axl_doorbell: ", "host_ns="));
	EXPECT_EQ(value_of(text, "axl_job: ", " irq_ns="),
		  value_of(text, "axl_irq: axl0 queue=0", "host_ns="));
	for (i = 0; i < sizeof(order) / sizeof(*order); i++)
		at[i] = value_of(text, "axl_job: ", order[i]);
	/* Another CPU may enter the handler before the submission is noted. */
	EXPECT(at[0] > 0 && at[0] <= at[1] && at[1] <= at[2] && at[1] <= at[3]);
	EXPECT(at[2] <= at[4] && at[3] <= at[4]);
	EXPECT(value_of(text, "axl_wake: ", "wait_ns=") >=
	       value_of(text, "axl_job: ", " submit_end_ns="));
	EXPECT_EQ(count(text, "axl_refuse: "), 1);
	EXPECT(strstr(text, "ret=-22 error=EINVAL"));
	trace_off();
}

/* The ioctl reports jobs in flight, and they are reported again when they end. */
TEST(jobs_in_flight_are_recorded)
{
	static const char *const events[] = { "axl_job", NULL };
	struct axl_jobs_trace ask = { .size = sizeof(ask) };
	struct axl_desc stuck = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_submit job;
	struct axl_ctx_create ctx;
	char want[256], *text;
	int fd;

	trace_on(events);
	fd = dev_open();
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	cmd_wait(&stuck, 5, 1);
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_JOBS_TRACE, &ask), 0);
	EXPECT_EQ(ask.jobs, 0);
	ASSERT(submit(fd, ctx.ctx, 0, &stuck, 1, &job) == 0);
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_JOBS_TRACE, &ask), 0);
	EXPECT_EQ(ask.jobs, 1);
	text = trace_text();
	snprintf(want, sizeof(want), "status=in_flight job=%u num_cmds=1 ", job.job);
	EXPECT_EQ(count(text, want), 1);
	EXPECT(value_of(text, "status=in_flight", "doorbell_ns=") > 0);
	EXPECT_EQ(value_of(text, "status=in_flight", "complete_ns="), 0);
	EXPECT_EQ(ctx_destroy(fd, ctx.ctx), 0);
	text = trace_text();
	snprintf(want, sizeof(want), "status=canceled job=%u num_cmds=1 ", job.job);
	EXPECT_EQ(count(text, want), 1);
	EXPECT(value_of(text, "status=canceled", "complete_ns=") > 0);
	trace_off();
}

/* A hang, both kinds of reset, a link that trains down and back. */
TEST(trouble_is_recorded)
{
	static const char *const events[] = { "axl_timeout", "axl_reset", "axl_link",
					      "axl_complete", "axl_wake", NULL };
	struct axl_desc nop = cmd_nop(AXL_ENGINE_D2H), stuck = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_ctx_create bad, other;
	struct axl_submit job, waits;
	struct axl_wait end = { .size = sizeof(end), .sequence = 1, .deadline_ns = 1,
				.correlation = 0xabc };
	struct axl_info info;
	char want[256], *text;
	int fd, i;

	trace_on(events);
	fd = dev_open();
	info = dev_info(fd);
	ASSERT(ctx_create(fd, 1, 0, &other) == 0);
	ASSERT(ctx_create(fd, 1, 0, &bad) == 0);
	ASSERT(qmp_set("fault-hang-engine", AXL_ENGINE_D2H) == 0);
	ASSERT(qmp_set("fault-stuck-ctx-resets", 1) == 0);
	ASSERT(submit(fd, bad.ctx, 0, &nop, 1, &job) == 0);
	cmd_wait(&stuck, 5, 1);
	ASSERT(submit(fd, other.ctx, 0, &stuck, 1, &waits) == 0);
	end.ctx = other.ctx;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_WAIT, &end), -ETIMEDOUT);
	job_timeout_ms(500);
	EXPECT_EQ(wait_seq(fd, bad.ctx, 0, 1, PATIENCE_MS, &end), -EIO);
	EXPECT_EQ(end.status, AXL_ST_HANG);
	job_timeout_ms(10000);
	EXPECT_EQ(wait_seq(fd, other.ctx, 0, 1, PATIENCE_MS, &end), -EIO);
	ASSERT(qmp_set("link-speed", 1) == 0);
	for (i = 0; i < 1000 && !strstr(trace_text(), "axl_link:"); i++)
		usleep(10000);
	ASSERT(qmp_set("link-speed", 0) == 0);
	for (i = 0; i < 1000 && count(trace_text(), "axl_link:") < 2; i++)
		usleep(10000);

	text = trace_text();
	snprintf(want, sizeof(want), "axl_timeout: axl0 ctx=%u queue=1 job=%u\n", bad.hw_context,
		 job.job);
	EXPECT(strstr(text, want));
	EXPECT_EQ(count(text, "axl_timeout:"), 1);
	/* The context's reset fails, so the device is reset. */
	snprintf(want, sizeof(want), "axl_reset: axl0 ctx=%u\n", bad.hw_context);
	EXPECT_EQ(count(text, want), 1);
	EXPECT_EQ(count(text, "axl_reset: axl0 ctx=-1\n"), 1);
	EXPECT_EQ(count(text, "axl_reset:"), 2);
	snprintf(want, sizeof(want), "axl_complete: axl0 ctx=%u queue=1 job=%u seq=1 "
		 "correlation=%#llx status=hang device_ticks=0\n", bad.hw_context, job.job,
		 (unsigned long long)job.correlation);
	EXPECT_EQ(count(text, want), 1);
	snprintf(want, sizeof(want), "axl_complete: axl0 ctx=%u queue=0 job=%u seq=1 "
		 "correlation=%#llx status=canceled device_ticks=0\n", other.hw_context, waits.job,
		 (unsigned long long)waits.correlation);
	EXPECT_EQ(count(text, want), 1);
	snprintf(want, sizeof(want), "wait_correlation=0x%x00000abc status=none", info.client);
	EXPECT_EQ(count(text, want), 1);
	snprintf(want, sizeof(want), "wait_correlation=0x%x00000000 status=hang", info.client);
	EXPECT_EQ(count(text, want), 1);
	snprintf(want, sizeof(want), "axl_link: axl0 gen=1 width=x%u\n", info.link_width);
	EXPECT_EQ(count(text, want), 1);
	snprintf(want, sizeof(want), "axl_link: axl0 gen=%u width=x%u\n", info.link_speed,
		 info.link_width);
	EXPECT_EQ(count(text, want), 1);
	trace_off();
}

TEST(samples_are_recorded_as_they_are_given)
{
	static const char *const events[] = { "axl_clock_sample", "axl_counter_sample",
					      "axl_dma_unmap", NULL };
	struct axl_clock_sample clock = { .size = sizeof(clock) };
	uint64_t values[3];
	struct axl_counters_read read = { .size = sizeof(read), .values = (uintptr_t)values,
					  .first = 4, .count = 3 };
	struct axl_buf_create buf;
	char want[512], *text;
	int fd;

	trace_on(events);
	fd = dev_open();
	ASSERT(dev_ioctl(fd, AXL_IOCTL_CLOCK_SAMPLE, &clock) == 0);
	ASSERT(dev_ioctl(fd, AXL_IOCTL_COUNTERS, &read) == 0);
	ASSERT(buf_create(fd, AXL_BUF_HOST, 12288, NULL, &buf) == 0);
	EXPECT_EQ(buf_destroy(fd, buf.handle), 0);
	text = trace_text();
#define ULL(x) ((unsigned long long)(x))
	snprintf(want, sizeof(want), "axl_clock_sample: axl0 host=[%llu, %llu] device_ticks=%llu "
		 "tsc=[%llu, %llu] ptm=%llu/%llu/%llu\n", ULL(clock.host_before_ns),
		 ULL(clock.host_after_ns), ULL(clock.device_ticks), ULL(clock.tsc_before),
		 ULL(clock.tsc_after), ULL(clock.ptm_device_ticks), ULL(clock.ptm_tsc),
		 ULL(clock.ptm_host_ns));
	EXPECT_EQ(count(text, want), 1);
	snprintf(want, sizeof(want), "axl_counter_sample: axl0 host=[%llu, %llu] ns "
		 "device_ticks=%llu first=4 count=3\n", ULL(read.host_before_ns),
		 ULL(read.host_after_ns), ULL(read.device_ticks));
	EXPECT_EQ(count(text, want), 1);
	snprintf(want, sizeof(want), "axl_dma_unmap: axl0 ctx=-1 handle=%u bytes=12288 "
		 "direction=bidirectional correlation=", buf.handle);
	EXPECT_EQ(count(text, want), 1);
	trace_off();
}

static const char *const cmd_events[] = { "axl_cmd_start", "axl_cmd_end", "axl_cmd_lost", NULL };

static void run_nops(int fd, uint32_t ctx, int jobs, uint32_t commands)
{
	static struct axl_desc nops[AXL_MAX_JOB_COMMANDS];
	uint32_t i;

	for (i = 0; i < commands; i++)
		nops[i] = cmd_nop(i % AXL_NUM_ENGINES);
	for (; jobs; jobs--)
		ASSERT(submit_wait(fd, ctx, 0, nops, commands) == 0);
}

/* Records that the driver has not read within 10 s will not come. */
static char *cmds_text(int ends)
{
	char *text = trace_text();
	int i;

	for (i = 0; i < 1000 && count(text, "axl_cmd_end:") < ends; i++) {
		usleep(10000);
		text = trace_text();
	}
	return text;
}

TEST(commands_come_from_the_device_when_asked)
{
	struct axl_desc nop = cmd_nop(AXL_ENGINE_MATRIX), fill;
	struct axl_ctx_create ctx;
	struct axl_buf_create buf;
	struct axl_submit job;
	struct axl_wait end;
	unsigned long long started = 0, ended = 0;
	char want[256], *text, *at;
	int fd;

	trace_on(cmd_events);
	fd = dev_open();
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	ASSERT(buf_create(fd, AXL_BUF_DEVICE, 1 << 16, NULL, &buf) == 0);
	EXPECT_EQ(number(SYSFS "trace_commands"), 0);
	ASSERT(submit_wait(fd, ctx.ctx, 0, &nop, 1) == 0);
	ASSERT(write_text(SYSFS "trace_commands", "1") == 0);
	EXPECT_EQ(number(SYSFS "trace_commands"), 1);
	EXPECT_EQ(write_text(SYSFS "trace_commands", "1"), 0);
	fill = cmd_fill(AXL_REF(buf.handle, 0), 4096, 1.0f);
	ASSERT(submit(fd, ctx.ctx, 0, &fill, 1, &job) == 0);
	ASSERT(wait_seq(fd, ctx.ctx, 0, job.sequence, PATIENCE_MS, &end) == 0);
	text = cmds_text(1);
	EXPECT_EQ(count(text, "axl_cmd_start:"), 1);
	EXPECT_EQ(count(text, "axl_cmd_end:"), 1);
	snprintf(want, sizeof(want), "axl0 ctx=%u queue=0 job=%u correlation=%#llx index=0 "
		 "engine=vector opcode=vec_fill status=ok device_ticks=", ctx.hw_context, job.job,
		 (unsigned long long)job.correlation);
	EXPECT_EQ(count(text, want), 2);
	at = strstr(text, want);
	if (at)
		started = strtoull(at + strlen(want), NULL, 10);
	at = at ? strstr(at + 1, want) : NULL;
	if (at)
		ended = strtoull(at + strlen(want), NULL, 10);
	EXPECT(started && started < ended && ended < end.device_ticks);
	ASSERT(write_text(SYSFS "trace_commands", "0") == 0);
	ASSERT(submit_wait(fd, ctx.ctx, 0, &nop, 1) == 0);
	EXPECT_EQ(count(trace_text(), "axl_cmd_start:"), 1);
	trace_off();
}

TEST(what_is_not_recorded_is_counted)
{
	enum { JOBS = 8, COMMANDS = 1000 };
	long long lost = number(SYSFS "stats/trace_lost"), counted = 0;
	struct axl_ctx_create ctx;
	char *text, *at;
	int fd;

	trace_on(cmd_events + 1);
	fd = dev_open();
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	ASSERT(write_text(SYSFS "trace_commands", "1") == 0);
	run_nops(fd, ctx.ctx, JOBS, COMMANDS);
	ASSERT(qmp_set("fault-trace-stall", 1) == 0);
	run_nops(fd, ctx.ctx, 1, 100);
	ASSERT(qmp_set("fault-trace-stall", 0) == 0);
	run_nops(fd, ctx.ctx, 1, 50);
	ASSERT(write_text(SYSFS "trace_commands", "0") == 0);
	text = trace_text();
	for (at = text; (at = strstr(at, "axl_cmd_lost: axl0 records=")); at++)
		counted += atoll(at + strlen("axl_cmd_lost: axl0 records="));
	lost = number(SYSFS "stats/trace_lost") - lost;
	EXPECT(lost >= 100);
	EXPECT_EQ(counted, lost);
	EXPECT_EQ(count(text, "axl_cmd_end:") + lost, JOBS * COMMANDS + 150);
	EXPECT_EQ(number(SYSFS "stats/bad_trace_indexes"), 0);
	trace_off();
}

TEST(commands_are_recorded_across_a_reset)
{
	struct axl_ctx_create ctx;
	int fd;

	trace_on(cmd_events);
	ASSERT(write_text(SYSFS "trace_commands", "1") == 0);
	fd = dev_open();
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	run_nops(fd, ctx.ctx, 1, 40);
	/* Records that the device has not announced before the reset are lost. */
	EXPECT_EQ(count(cmds_text(40), "axl_cmd_end:"), 40);
	ASSERT(write_text(SYSFS "device/reset", "1") == 0);
	EXPECT_EQ(ctx_destroy(fd, ctx.ctx), 0);
	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	run_nops(fd, ctx.ctx, 1, 60);
	ASSERT(write_text(SYSFS "trace_commands", "0") == 0);
	EXPECT_EQ(count(trace_text(), "axl_cmd_end:"), 100);
	trace_off();
}

TEST(the_ring_has_one_reader)
{
	struct axl_trace_open good = { .size = sizeof(good), .log2_records = 8,
				       .classes = AXL_REC_CLASSES_ALL }, open;
	int fd = dev_open();

	open = good;
	ASSERT(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open) == 0);
	EXPECT_EQ(write_text(SYSFS "trace_commands", "1"), -EBUSY);
	EXPECT_EQ(number(SYSFS "trace_commands"), 0);
	close(fd);
	fd = dev_open();
	EXPECT_EQ(write_text(SYSFS "trace_commands", "1"), 0);
	open = good;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), -EBUSY);
	EXPECT_EQ(write_text(SYSFS "trace_commands", "maybe"), -EINVAL);
	EXPECT_EQ(write_text(SYSFS "trace_commands", "0"), 0);
	open = good;
	EXPECT_EQ(dev_ioctl(fd, AXL_IOCTL_TRACE_OPEN, &open), 0);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
