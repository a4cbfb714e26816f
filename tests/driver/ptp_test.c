// SPDX-License-Identifier: Apache-2.0
/* The device clock as a PTP hardware clock. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/ptp_clock.h>
#include <sys/ioctl.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "tests/driver/axl_user.h"
#include "tests/driver/harness.h"

static int ptp_open(void)
{
	struct axl_info info;
	struct dirent *entry;
	char path[300];
	DIR *dir;
	int fd = dev_open();

	info = dev_info(fd);
	close(fd);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/ptp", info.pci_name);
	dir = opendir(path);
	if (!dir)
		harness_skip("the kernel has no PTP clocks");
	while ((entry = readdir(dir)) && strncmp(entry->d_name, "ptp", 3) != 0)
		;
	ASSERT(entry);
	snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
	closedir(dir);
	fd = open(path, O_RDWR);
	ASSERT(fd >= 0);
	return fd;
}

static clockid_t ptp_id(int fd)
{
	return ((~(clockid_t)fd) << 3) | 3;
}

static int64_t ptp_ns(const struct ptp_clock_time *time)
{
	return time->sec * 1000000000ll + time->nsec;
}

TEST(it_runs_and_cannot_be_set)
{
	int fd = ptp_open();
	struct timespec first, second, zero = { 1, 0 };
	struct timex tx = { .modes = ADJ_FREQUENCY, .freq = 65536 };
	struct ptp_clock_caps caps;

	ASSERT(clock_gettime(ptp_id(fd), &first) == 0);
	ASSERT(clock_gettime(ptp_id(fd), &second) == 0);
	EXPECT(second.tv_sec > first.tv_sec || second.tv_nsec > first.tv_nsec);
	EXPECT_EQ(clock_settime(ptp_id(fd), &zero), -1);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(clock_adjtime(ptp_id(fd), &tx), -1);
	tx = (struct timex){ .modes = ADJ_SETOFFSET, .time = { 1, 0 } };
	EXPECT_EQ(clock_adjtime(ptp_id(fd), &tx), -1);
	EXPECT_EQ(errno, EOPNOTSUPP);
	ASSERT(ioctl(fd, PTP_CLOCK_GETCAPS, &caps) == 0);
	EXPECT_EQ(caps.max_adj, 0);
	EXPECT_EQ(caps.n_per_out, 0);
}

/* Compares with the driver's own samples of the same instants. */
TEST(it_agrees_with_clock_samples)
{
	int fd = ptp_open(), axl = dev_open();
	struct axl_info info = dev_info(axl);
	struct axl_clock_sample before = { .size = sizeof(before) },
				after = { .size = sizeof(after) };
	struct timespec ts;
	int64_t ns, low, high;

	if (info.clock_bits < 64)
		harness_skip("the raw clock wraps");
	ASSERT(dev_ioctl(axl, AXL_IOCTL_CLOCK_SAMPLE, &before) == 0);
	ASSERT(clock_gettime(ptp_id(fd), &ts) == 0);
	ASSERT(dev_ioctl(axl, AXL_IOCTL_CLOCK_SAMPLE, &after) == 0);
	ns = ts.tv_sec * 1000000000ll + ts.tv_nsec;
	low = (int64_t)((unsigned __int128)before.device_ticks * 1000000000u / info.clock_hz);
	high = (int64_t)((unsigned __int128)after.device_ticks * 1000000000u / info.clock_hz);
	EXPECT(low <= ns && ns <= high);
}

TEST(extended_offsets_bracket)
{
	struct ptp_sys_offset_extended request = { .n_samples = 10 };
	int fd = ptp_open(), i;

	ASSERT(ioctl(fd, PTP_SYS_OFFSET_EXTENDED, &request) == 0);
	for (i = 0; i < 10; i++) {
		EXPECT(ptp_ns(&request.ts[i][0]) <= ptp_ns(&request.ts[i][2]));
		if (i)
			EXPECT(ptp_ns(&request.ts[i][1]) > ptp_ns(&request.ts[i - 1][1]));
	}
}

TEST(precise_offset_comes_from_ptm)
{
	struct ptp_sys_offset_precise precise;
	struct ptp_clock_caps caps;
	struct timespec before, after;
	int fd = ptp_open(), axl = dev_open();

	ASSERT(ioctl(fd, PTP_CLOCK_GETCAPS, &caps) == 0);
	EXPECT_EQ(!!caps.cross_timestamping, !!(dev_info(axl).features & AXL_FEATURE_PTM));
	if (!caps.cross_timestamping)
		harness_skip("the device has no PTM");
	clock_gettime(CLOCK_REALTIME, &before);
	ASSERT(ioctl(fd, PTP_SYS_OFFSET_PRECISE, &precise) == 0);
	clock_gettime(CLOCK_REALTIME, &after);
	EXPECT(ptp_ns(&precise.sys_realtime) >=
	       before.tv_sec * 1000000000ll + before.tv_nsec);
	EXPECT(ptp_ns(&precise.sys_realtime) <= after.tv_sec * 1000000000ll + after.tv_nsec);
	EXPECT(ptp_ns(&precise.sys_monoraw) > 0);
	EXPECT(ptp_ns(&precise.device) > 0);
}

int main(int argc, char **argv)
{
	return harness_main(argc, argv);
}
