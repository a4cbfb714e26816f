// SPDX-License-Identifier: Apache-2.0
/* The class device in sysfs, the dump in debugfs, the mode of the node. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kmod/uapi/axl_stats.h"
#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

static const char *attribute(const char *name)
{
	static char text[4096];
	char path[256];
	ssize_t bytes;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/axl/axl0/%s", name);
	fd = open(path, O_RDONLY);
	if (fd < 0) {
		harness_fail(__FILE__, __LINE__, "%s: %s", path, strerror(errno));
		return "";
	}
	bytes = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[bytes > 0 ? bytes : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	return text;
}

TEST(identity_matches_info)
{
	int fd = dev_open();
	struct axl_info info = dev_info(fd);
	char text[64];

	EXPECT(strcmp(attribute("state"), "live") == 0);
	snprintf(text, sizeof(text), "%u.%u", info.hw_version >> 16, info.hw_version & 0xffff);
	EXPECT(strcmp(attribute("hw_version"), text) == 0);
	EXPECT_EQ(strtoull(attribute("uapi_version"), NULL, 10), AXL_UAPI_VERSION);
	EXPECT_EQ(strtoull(attribute("clock_hz"), NULL, 10), info.clock_hz);
	EXPECT_EQ(strtoull(attribute("dram_bytes"), NULL, 10), info.dram_bytes);
	EXPECT_EQ(strtoull(attribute("dram_free_bytes"), NULL, 10), info.dram_free_bytes);
}

TEST(every_statistic_is_there)
{
	static const char *const names[] = { AXL_STATS(AXL_STAT_NAME_) };
	char path[128];
	size_t i;

	for (i = 0; i < AXL_NUM_STATS; i++) {
		snprintf(path, sizeof(path), "stats/%s", names[i]);
		EXPECT(attribute(path)[0] >= '0' && attribute(path)[0] <= '9');
	}
}

TEST(free_memory_follows_buffers)
{
	int fd = dev_open();
	uint64_t free_bytes = strtoull(attribute("dram_free_bytes"), NULL, 10);
	struct axl_buf_create buf;

	ASSERT(buf_create(fd, AXL_BUF_DEVICE, 123456, NULL, &buf) == 0);
	EXPECT_EQ(strtoull(attribute("dram_free_bytes"), NULL, 10), free_bytes - buf.bytes);
}

TEST(the_node_is_for_everybody)
{
	struct stat st;

	ASSERT(stat("/dev/axl0", &st) == 0);
	EXPECT(S_ISCHR(st.st_mode));
	EXPECT_EQ(st.st_mode & 0777, 0666);
}

TEST(the_dump_names_what_lives)
{
	static char text[65536];
	struct axl_ctx_create ctx;
	int fd = dev_open(), dump = open("/sys/kernel/debug/axl/axl0/state", O_RDONLY);
	ssize_t bytes;

	if (dump < 0)
		harness_skip("debugfs is not mounted, or not for this user");
	ASSERT(ctx_create(fd, 2, 0, &ctx) == 0);
	bytes = read(dump, text, sizeof(text) - 1);
	ASSERT(bytes > 0);
	EXPECT(strstr(text, "state live"));
	EXPECT(strstr(text, "engine 3:"));
	EXPECT(strstr(text, "ctx 0: queues 2"));
	EXPECT(strstr(text, "queue 1: ctx 0 submitted 0"));
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
