// SPDX-License-Identifier: Apache-2.0
/* The perf PMU: events in sysfs, permissions, exact values. */
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

#define PMU "/sys/bus/event_source/devices/axl_0/"

static int read_text(const char *path, char *text, size_t bytes)
{
	FILE *file = fopen(path, "r");

	if (!file)
		return -errno;
	text[0] = 0;
	if (!fgets(text, (int)bytes, file))
		text[0] = 0;
	text[strcspn(text, "\n")] = 0;
	fclose(file);
	return 0;
}

static int pmu_number(const char *name)
{
	char path[256], text[64];

	snprintf(path, sizeof(path), PMU "%s", name);
	ASSERT(read_text(path, text, sizeof(text)) == 0);
	return atoi(text);
}

static int event_open_as(const struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, 0);

	return fd < 0 ? -errno : fd;
}

static struct perf_event_attr event_attr(uint64_t config)
{
	return (struct perf_event_attr){ .size = sizeof(struct perf_event_attr),
					 .type = (uint32_t)pmu_number("type"),
					 .config = config };
}

static int event_open(uint64_t config, int group)
{
	struct perf_event_attr attr = event_attr(config);

	return event_open_as(&attr, -1, pmu_number("cpumask"), group);
}

static uint64_t event_value(int fd)
{
	uint64_t value = 0;

	ASSERT(read(fd, &value, sizeof(value)) == sizeof(value));
	return value;
}

static void read_counters(int fd, uint64_t *values)
{
	struct axl_counters_read cmd = { .size = sizeof(cmd), .values = (uintptr_t)values,
					 .count = AXL_NUM_COUNTERS };

	ASSERT(dev_ioctl(fd, AXL_IOCTL_COUNTERS, &cmd) == 0);
}

TEST(every_counter_is_a_named_event)
{
	static const char *const names[] = { AXL_COUNTERS(AXL_COUNTER_NAME_) };
	static const char *const units[] = { AXL_COUNTERS(AXL_COUNTER_UNIT_) };
	char path[256], text[64], expected[64];
	int i;

	for (i = 0; i < AXL_NUM_COUNTERS; i++) {
		snprintf(path, sizeof(path), PMU "events/%s", names[i]);
		snprintf(expected, sizeof(expected), "event=%#x", i);
		ASSERT(read_text(path, text, sizeof(text)) == 0);
		/* printf omits 0x for zero, in the kernel too. */
		EXPECT(strcmp(text, i ? expected : "event=0x0") == 0);
		snprintf(path, sizeof(path), PMU "events/%s.unit", names[i]);
		ASSERT(read_text(path, text, sizeof(text)) == 0);
		EXPECT(strcmp(text, units[i]) == 0);
		snprintf(path, sizeof(path), PMU "events/%s.scale", names[i]);
		ASSERT(read_text(path, text, sizeof(text)) == 0);
		EXPECT(strcmp(text, "1") == 0);
	}
	ASSERT(read_text(PMU "format/event", text, sizeof(text)) == 0);
	EXPECT(strcmp(text, "config:0-7") == 0);
}

TEST(what_makes_no_sense_is_refused)
{
	struct perf_event_attr attr = event_attr(AXL_CTR_JOBS);
	int cpu = pmu_number("cpumask");

	EXPECT_EQ(event_open_as(&attr, getpid(), -1, -1), -EINVAL);
	EXPECT_EQ(event_open_as(&attr, getpid(), cpu, -1), -EINVAL);
	attr.sample_period = 1000;
	EXPECT_EQ(event_open_as(&attr, -1, cpu, -1), -EINVAL);
	attr = event_attr(AXL_NUM_COUNTERS);
	EXPECT_EQ(event_open_as(&attr, -1, cpu, -1), -EINVAL);
	attr = event_attr(0);
	attr.config1 = 1;
	EXPECT_EQ(event_open_as(&attr, -1, cpu, -1), -EINVAL);
	attr = event_attr(0);
	attr.exclude_kernel = 1;
	EXPECT_EQ(event_open_as(&attr, -1, cpu, -1), -EINVAL);
}

/* All counters at once, compared with the ioctl's snapshots while the device is idle. */
TEST(values_equal_the_devices_counters)
{
	static int events[AXL_NUM_COUNTERS];
	uint64_t before[AXL_NUM_COUNTERS], after[AXL_NUM_COUNTERS];
	struct axl_desc nop[4] = { cmd_nop(0), cmd_nop(1), cmd_nop(2), cmd_nop(3) };
	struct axl_ctx_create ctx;
	int fd = dev_open(), i;

	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	read_counters(fd, before);
	for (i = 0; i < AXL_NUM_COUNTERS; i++) {
		events[i] = event_open(i, -1);
		ASSERT(events[i] >= 0);
	}
	for (i = 0; i < 10; i++)
		ASSERT(submit_wait(fd, ctx.ctx, 0, nop, 4) == 0);
	for (i = 0; i < AXL_NUM_COUNTERS; i++) {
		uint64_t value = event_value(events[i]), most;

		read_counters(fd, after);
		most = after[i] - before[i];
		/* Counters of work are exact; clocks advance between the readings. */
		if (i % 9 == AXL_CTR_H2D_IDLE && i < AXL_CTR_ELAPSED)
			EXPECT(value <= most);
		else if (i == AXL_CTR_ELAPSED)
			EXPECT(value <= most && value > 0);
		else
			EXPECT_EQ(value, most);
	}
	EXPECT_EQ(event_value(events[AXL_CTR_JOBS]), 10);
	EXPECT_EQ(event_value(events[AXL_CTR_VECTOR_COMMANDS]), 10);
}

/* A sampling leader reads the others at its period. */
TEST(groups_count_together)
{
	struct perf_event_attr leader = { .size = sizeof(leader), .type = PERF_TYPE_SOFTWARE,
					  .config = PERF_COUNT_SW_CPU_CLOCK,
					  .read_format = PERF_FORMAT_GROUP };
	struct { uint64_t count, values[2]; } group;
	struct axl_desc nop = cmd_nop(AXL_ENGINE_VECTOR);
	struct axl_ctx_create ctx;
	int fd = dev_open(), first, second;

	ASSERT(ctx_create(fd, 1, 0, &ctx) == 0);
	first = event_open_as(&leader, -1, pmu_number("cpumask"), -1);
	ASSERT(first >= 0);
	second = event_open(AXL_CTR_JOBS, first);
	ASSERT(second >= 0);
	ASSERT(submit_wait(fd, ctx.ctx, 0, &nop, 1) == 0);
	ASSERT(read(first, &group, sizeof(group)) == sizeof(group));
	EXPECT_EQ(group.count, 2);
	EXPECT(group.values[0] > 0);
	EXPECT_EQ(group.values[1], 1);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
